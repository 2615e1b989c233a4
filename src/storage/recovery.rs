//! What a start reads: where the store stands, what happened since a snapshot, or everything.

use std::collections::HashSet;
use std::ops::Range;

use rusqlite::Connection;

use super::counters::Counters;
use super::log::{self, Operation};
use super::row::{Columns, SKETCH_COLUMNS};
use super::{SketchRow, StorageError, Store, expiries};
use crate::document::Ordinal;

/// What happened after a sequence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tail {
    pub last_sequence: u64,
    /// Every document that died, whenever it was born.
    pub dead: HashSet<Ordinal>,
    /// The documents that were born and are alive, ascending.
    pub born: Vec<Ordinal>,
}

/// Reads for the start. They block, and each sees one state of the database; several threads may
/// read at once.
impl Store {
    /// An ordinal higher than any ever given, also to documents long removed.
    ///
    /// # Errors
    /// [`StorageError::Corrupt`], [`StorageError::Database`].
    pub fn next_ordinal(&self) -> Result<u32, StorageError> {
        self.readers.read_here(Counters::read).map(|counters| counters.next_ordinal)
    }

    /// How many documents there are.
    ///
    /// # Errors
    /// [`StorageError::Corrupt`], [`StorageError::Database`].
    pub fn documents(&self) -> Result<u64, StorageError> {
        self.readers.read_here(Counters::read).map(|counters| counters.documents)
    }

    /// The sequence of the last operation ever, also one that was trimmed; 0 before the first.
    ///
    /// # Errors
    /// [`StorageError::Corrupt`], [`StorageError::Database`].
    pub fn last_sequence(&self) -> Result<u64, StorageError> {
        self.readers.read_here(Counters::read).map(|counters| counters.last_sequence)
    }

    /// What happened after a snapshot that was taken at the sequence `after`.
    ///
    /// # Errors
    /// [`StorageError::LostTail`] if the store does not reach that far, so that the snapshot is not
    /// to be used and the store not to be trusted; [`StorageError::TrimmedTail`] if the log no
    /// longer reaches back, so that an older snapshot won't do either and a [`Store::scan`] must.
    pub fn tail(&self, after: u64) -> Result<Tail, StorageError> {
        self.readers.read_here(|connection| tail(connection, after))
    }

    /// Visits the documents of some ordinals, by ordinal.
    ///
    /// # Errors
    /// [`StorageError::CorruptDocument`] at the first row that is not what was written.
    pub fn scan(
        &self,
        ordinals: Range<u32>,
        mut visit: impl FnMut(SketchRow<'_>),
    ) -> Result<(), StorageError> {
        self.readers.scan_here(|connection| {
            let query = format!(
                "SELECT {SKETCH_COLUMNS} FROM documents
                 WHERE ordinal >= ?1 AND ordinal < ?2 ORDER BY ordinal"
            );
            let mut statement = connection.prepare_cached(&query)?;
            let mut rows = statement.query([ordinals.start, ordinals.end])?;
            while let Some(row) = rows.next()? {
                visit(SketchRow::read(&Columns::new(row)?)?);
            }
            Ok(())
        })
    }

    /// Visits every document that expires, with when it does in milliseconds since the epoch.
    ///
    /// # Errors
    /// [`StorageError::CorruptDocument`] at the first row that is not what was written.
    pub fn expiries(&self, visit: impl FnMut(Ordinal, i64)) -> Result<(), StorageError> {
        self.readers.read_here(|connection| expiries::visit(connection, visit))
    }
}

fn tail(connection: &Connection, after: u64) -> Result<Tail, StorageError> {
    let last_sequence = Counters::read(connection)?.last_sequence;
    if after > last_sequence {
        return Err(StorageError::LostTail { store: last_sequence, snapshot: after });
    }
    let kept_after = log::kept_after(connection, last_sequence)?;
    if after < kept_after {
        return Err(StorageError::TrimmedTail { after, kept_after });
    }
    let mut tail = Tail { last_sequence, ..Tail::default() };
    let mut rows = 0;
    log::visit_after(connection, after, |operation, ordinal| {
        rows += 1;
        match operation {
            Operation::Put => tail.born.push(ordinal),
            Operation::Remove => {
                tail.dead.insert(ordinal);
            }
        }
    })?;
    if rows != last_sequence - after {
        let what = format!("the log has {rows} rows from {after} to {last_sequence}");
        return Err(StorageError::corrupt(what));
    }
    let Tail { born, dead, .. } = &mut tail;
    born.retain(|ordinal| !dead.contains(ordinal));
    born.sort_unstable();
    Ok(tail)
}
