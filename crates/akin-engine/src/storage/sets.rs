//! Scans over the sets of documents.

use std::ops::{ControlFlow, Range};

use rusqlite::Connection;

use super::row::{ALL_COLUMNS, Columns, DetailsPart, read_content, set_of};
use super::{SketchRow, StorageError, Store};
use crate::document::{Content, Ordinal};
use akin_core::text::{ShingleSet, Shingler};

/// A document's sketch row, and its set on demand.
pub struct SetRow<'a> {
    pub document: SketchRow<'a>,
    columns: Columns<'a>,
    shingler: &'a Shingler,
}

impl SetRow<'_> {
    /// # Errors
    /// [`StorageError::CorruptDocument`] if it does not match its checksum.
    pub fn set(&self) -> Result<ShingleSet, StorageError> {
        let details = DetailsPart::read(&self.columns)?;
        set_of(&self.columns, &self.document, &details, self.shingler)
    }
}

/// A time at which no document has expired.
const ALL_ALIVE_MS: i64 = i64::MIN;

/// Whether a scan continues after a row.
pub type Visited = Result<ControlFlow<()>, StorageError>;

impl Store {
    /// Visits the sets of documents in a range of ordinals, ascending, on this thread: for a start.
    /// Returns the number of documents in the range; `None` if the visitor broke.
    ///
    /// # Errors
    /// The errors of `visit`; [`StorageError::CorruptDocument`] at the first row that does not
    /// match its checksum; [`StorageError::Database`].
    pub fn scan_sets(
        &self,
        ordinals: Range<u64>,
        visit: impl FnMut(&SetRow<'_>) -> Visited,
    ) -> Result<Option<u64>, StorageError> {
        let ordinals = ordinals.start.cast_signed()..ordinals.end.cast_signed();
        self.readers.scan_here(|connection| {
            visit_sets(connection, &self.shingler, ordinals, ALL_ALIVE_MS, visit)
        })
    }

    /// Visits the contents of documents in a range of ordinals, ascending, on this thread: for a
    /// start. A damaged document is given as an error, and the visit goes on. Returns the number of
    /// documents in the range.
    ///
    /// # Errors
    /// The errors of `visit`; [`StorageError::Database`].
    pub fn scan_contents(
        &self,
        ordinals: Range<u64>,
        mut visit: impl FnMut(
            Ordinal,
            Result<Option<Content>, StorageError>,
        ) -> Result<(), StorageError>,
    ) -> Result<u64, StorageError> {
        self.readers.scan_here(|connection| {
            let mut statement = connection.prepare_cached(&rows_in_range())?;
            let range = [ordinals.start.cast_signed(), ordinals.end.cast_signed()];
            let (mut rows, mut seen) = (statement.query(range)?, 0);
            while let Some(row) = rows.next()? {
                let columns = Columns::new(row)?;
                let read = SketchRow::read(&columns).and_then(|row| read_content(&columns, &row));
                visit(columns.ordinal, read)?;
                seen += 1;
            }
            Ok(seen)
        })
    }
}

fn rows_in_range() -> String {
    format!(
        "SELECT {ALL_COLUMNS} FROM documents WHERE ordinal >= ?1 AND ordinal < ?2 ORDER BY ordinal"
    )
}

/// Returns the number of rows, including expired documents; `None` if the visitor broke.
pub(super) fn visit_sets(
    connection: &Connection,
    shingler: &Shingler,
    ordinals: Range<i64>,
    now_ms: i64,
    mut visit: impl FnMut(&SetRow<'_>) -> Visited,
) -> Result<Option<u64>, StorageError> {
    let mut statement = connection.prepare_cached(&rows_in_range())?;
    let mut rows = statement.query([ordinals.start, ordinals.end])?;
    let mut seen = 0;
    while let Some(row) = rows.next()? {
        seen += 1;
        let columns = Columns::new(row)?;
        let document = SketchRow::read(&columns)?;
        if document.is_alive(now_ms) && visit(&SetRow { document, columns, shingler })?.is_break() {
            return Ok(None);
        }
    }
    Ok(Some(seen))
}
