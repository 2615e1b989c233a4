//! A long-lived view of a single state of the store.

use std::ops::ControlFlow;
use std::sync::Arc;

use rusqlite::{Connection, Row};

use super::counters::Counters;
use super::row::{ALL_COLUMNS, Columns, DetailsPart, SKETCH_COLUMNS, by_ordinals, set_of};
use super::{SketchRow, StorageError};
use crate::document::Ordinal;
use akin_core::text::{ShingleSet, Shingler};

/// A consistent view of all documents that have not expired at its beginning. Later writes do not
/// affect it. Its methods block.
///
/// While it is open, the write-ahead log is not truncated.
pub struct StoreView {
    /// In a transaction that ends with the connection.
    connection: Connection,
    counters: Counters,
    now_ms: i64,
    shingler: Arc<Shingler>,
}

impl StoreView {
    pub(super) fn open(
        connection: Connection,
        now_ms: i64,
        shingler: Arc<Shingler>,
    ) -> Result<Self, StorageError> {
        connection.execute_batch("BEGIN")?;
        // The first read begins SQLite's snapshot.
        let counters = Counters::read(&connection)?;
        Ok(Self { connection, counters, now_ms, shingler })
    }

    /// Number of documents, including expired documents that were not removed yet.
    pub fn documents(&self) -> u64 {
        self.counters.documents
    }

    /// Visits all documents that have not expired by ordinal, until the visitor breaks.
    ///
    /// # Errors
    /// [`StorageError::CorruptDocument`] at the first row that does not match its checksum;
    /// [`StorageError::Corrupt`] if rows are missing.
    pub fn sketches(
        &self,
        mut visit: impl FnMut(SketchRow<'_>) -> ControlFlow<()>,
    ) -> Result<(), StorageError> {
        let query = format!("SELECT {SKETCH_COLUMNS} FROM documents ORDER BY ordinal");
        let mut statement = self.connection.prepare_cached(&query)?;
        let mut rows = statement.query([])?;
        let mut seen = 0;
        while let Some(row) = rows.next()? {
            seen += 1;
            let row = SketchRow::read(&Columns::new(row)?)?;
            if row.is_alive(self.now_ms) && visit(row).is_break() {
                return Ok(());
            }
        }
        self.counters.check_seen(seen)
    }

    /// The set of a document.
    ///
    /// # Errors
    /// [`StorageError::CorruptDocument`] if the row does not match its checksum;
    /// [`StorageError::Corrupt`] if the row is missing.
    pub fn set(&self, ordinal: Ordinal) -> Result<ShingleSet, StorageError> {
        let read = |row: &Row<'_>| {
            let columns = Columns::new(row)?;
            let row = SketchRow::read(&columns)?;
            set_of(&columns, &row, &DetailsPart::read(&columns)?, &self.shingler)
        };
        let mut found = by_ordinals(&self.connection, ALL_COLUMNS, &[ordinal], read)?;
        found.pop().flatten().ok_or_else(|| {
            let what = format!("the view has no document with ordinal {}", ordinal.get());
            StorageError::corrupt(what)
        })
    }
}
