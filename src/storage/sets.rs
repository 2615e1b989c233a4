//! Going through all sets, one row after the other.

use std::ops::{ControlFlow, Range};

use rusqlite::Connection;

use super::columns::{Columns, SET_COLUMNS, SetPart};
use super::{FilingRow, StorageError, Store, elements};
use crate::text::ShingleSet;

/// A document as an index files it, and its set.
pub struct SetRow<'a> {
    pub filing: FilingRow<'a>,
    columns: Columns<'a>,
}

impl SetRow<'_> {
    /// # Errors
    /// [`StorageError::CorruptDocument`] if it is not what was written.
    pub fn set(&self) -> Result<ShingleSet, StorageError> {
        let part = SetPart::read(&self.columns)?;
        elements::decode(part.elements, self.filing.shingles)
            .ok_or_else(|| self.columns.corrupt("its elements"))
    }
}

/// A time at which no document has expired.
const ALL_ALIVE_MS: i64 = i64::MIN;

/// What a visit of a row says: whether to go on.
pub type Visited = Result<ControlFlow<()>, StorageError>;

impl Store {
    /// Visits the sets of the documents of some ordinals, by ordinal, on this thread: for a start.
    ///
    /// # Errors
    /// What `visit` fails with; [`StorageError::CorruptDocument`] at the first row that is not what
    /// was written; [`StorageError::Database`].
    pub fn scan_sets(
        &self,
        ordinals: Range<u32>,
        visit: impl FnMut(&SetRow<'_>) -> Visited,
    ) -> Result<(), StorageError> {
        let end = i64::from(ordinals.end);
        self.readers.read_here(|connection| {
            visit_sets_of(connection, ordinals.start.into()..end, ALL_ALIVE_MS, visit)
        })
    }

    /// Visits the sets of all documents alive at `now_ms` (milliseconds since the epoch) by
    /// ordinal, in one state of the store, on a thread that may block. Stops if nobody waits for it
    /// any more. How many there are at once is for the caller to limit.
    ///
    /// # Errors
    /// Those of [`Store::scan_sets`].
    pub async fn visit_sets<T: Send + 'static>(
        &self,
        now_ms: i64,
        state: T,
        visit: impl FnMut(&mut T, &SetRow<'_>) -> Visited + Send + 'static,
    ) -> Result<T, StorageError> {
        self.readers.visit_sets(now_ms, state, visit).await
    }
}

pub(super) fn visit_sets(
    connection: &Connection,
    now_ms: i64,
    visit: impl FnMut(&SetRow<'_>) -> Visited,
) -> Result<(), StorageError> {
    visit_sets_of(connection, 0..i64::MAX, now_ms, visit)
}

fn visit_sets_of(
    connection: &Connection,
    ordinals: Range<i64>,
    now_ms: i64,
    mut visit: impl FnMut(&SetRow<'_>) -> Visited,
) -> Result<(), StorageError> {
    let query = format!(
        "SELECT {SET_COLUMNS} FROM documents
         WHERE ordinal >= ?1 AND ordinal < ?2 ORDER BY ordinal"
    );
    let mut statement = connection.prepare_cached(&query)?;
    let mut rows = statement.query([ordinals.start, ordinals.end])?;
    while let Some(row) = rows.next()? {
        let Some(filing) = FilingRow::decode_alive(row, connection, now_ms)? else { continue };
        if visit(&SetRow { filing, columns: Columns::new(row)? })?.is_break() {
            break;
        }
    }
    Ok(())
}
