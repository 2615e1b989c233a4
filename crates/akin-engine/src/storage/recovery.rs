//! Reads for the start: the counters, the operations since a snapshot, or everything.

use std::ops::Range;

use rusqlite::Connection;

use super::counters::Counters;
use super::log::{self, Operation};
use super::row::{Columns, SKETCH_COLUMNS};
use super::{SketchRow, StorageError, Store};
use crate::stored::Tail;

/// Reads for the start. They block, and each method sees a single state of the database; several
/// threads may read concurrently.
impl Store {
    /// An ordinal greater than any ever assigned, also to removed documents.
    ///
    /// # Errors
    /// [`StorageError::Corrupt`], [`StorageError::Database`].
    pub fn next_ordinal(&self) -> Result<u64, StorageError> {
        self.readers.read_here(|connection| {
            let counters = Counters::read(connection)?;
            counters.check_ordinals(connection)?;
            Ok(counters.next_ordinal)
        })
    }

    /// Number of documents.
    ///
    /// # Errors
    /// [`StorageError::Corrupt`], [`StorageError::Database`].
    pub fn documents(&self) -> Result<u64, StorageError> {
        self.readers.read_here(Counters::read).map(|counters| counters.documents)
    }

    /// The operations after a snapshot that was taken at the sequence `after`.
    ///
    /// # Errors
    /// [`StorageError::LostTail`] if the store ends before `after`: it has lost writes, or the
    /// snapshot is of another store. [`StorageError::TrimmedTail`] if the log no longer reaches
    /// back to `after`: older snapshots are useless too, and [`Store::scan`] is needed.
    pub fn tail(&self, after: u64) -> Result<Tail, StorageError> {
        self.readers.read_here(|connection| tail(connection, after))
    }

    /// Visits the documents in a range of ordinals, ascending, until a visit fails.
    ///
    /// # Errors
    /// [`StorageError::CorruptDocument`] at the first damaged row.
    pub fn scan(
        &self,
        ordinals: Range<u64>,
        mut visit: impl FnMut(SketchRow<'_>) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        self.readers.scan_here(|connection| {
            let query = format!(
                "SELECT {SKETCH_COLUMNS} FROM documents
                 WHERE ordinal >= ?1 AND ordinal < ?2 ORDER BY ordinal"
            );
            let mut statement = connection.prepare_cached(&query)?;
            let mut rows =
                statement.query([ordinals.start.cast_signed(), ordinals.end.cast_signed()])?;
            while let Some(row) = rows.next()? {
                visit(SketchRow::read(&Columns::new(row)?)?)?;
            }
            Ok(())
        })
    }

    /// Ranges of at most `length` ordinals that together have every document in a range. None is
    /// empty, however far apart the ordinals in use are.
    ///
    /// # Errors
    /// [`StorageError::Database`].
    pub fn pieces(
        &self,
        ordinals: Range<u64>,
        length: u64,
    ) -> Result<Vec<Range<u64>>, StorageError> {
        self.readers.scan_here(|connection| {
            let query = "SELECT min(ordinal) FROM documents WHERE ordinal >= ?1 AND ordinal < ?2";
            let mut statement = connection.prepare_cached(query)?;
            let end = ordinals.end.cast_signed();
            let mut first = |from: u64| {
                let first = statement.query_row([from.cast_signed(), end], |row| row.get(0));
                first.map(|first: Option<i64>| first.map(i64::cast_unsigned))
            };
            let (mut pieces, mut next) = (Vec::new(), ordinals.start);
            while let Some(start) = first(next)? {
                next = start.saturating_add(length).min(ordinals.end);
                pieces.push(start..next);
            }
            Ok(pieces)
        })
    }

    /// Checks that a start has found every document.
    ///
    /// # Errors
    /// [`StorageError::Corrupt`].
    pub fn check_seen(&self, documents: u64) -> Result<(), StorageError> {
        self.readers.read_here(Counters::read)?.check_seen(documents)
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
    log::visit_after(connection, after, last_sequence, |operation, ordinal| match operation {
        Operation::Put => tail.born.push(ordinal),
        Operation::Remove => drop(tail.dead.insert(ordinal)),
    })?;
    let Tail { born, dead, .. } = &mut tail;
    born.retain(|ordinal| !dead.contains(ordinal));
    born.sort_unstable();
    Ok(tail)
}
