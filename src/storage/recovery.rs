//! What a start reads: where the store stands, what happened since a snapshot, or everything.

use std::collections::HashSet;
use std::ops::Range;

use rusqlite::{Connection, Row};

use super::columns::{Columns, FILING_COLUMNS, FilingPart, flags};
use super::counters::Counters;
use super::log::{self, Operation};
use super::{StorageError, Store, expiries};
use crate::document::{DocumentId, Ordinal};

/// What happened after a sequence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tail {
    pub last_sequence: u64,
    /// Every document that died, whenever it was born.
    pub dead: HashSet<Ordinal>,
    /// The documents that were born and are alive, ascending.
    pub born: Vec<Ordinal>,
}

/// What an index files a document by, checked without reading its set or its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilingRow<'a> {
    pub ordinal: Ordinal,
    /// A [`DocumentId`].
    pub id: &'a str,
    pub fingerprint: u64,
    pub shingles: u32,
    pub sketch: &'a [u8],
    pub has_metadata: bool,
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
        mut visit: impl FnMut(FilingRow<'_>),
    ) -> Result<(), StorageError> {
        self.readers.scan_here(|connection| {
            let query = format!(
                "SELECT {FILING_COLUMNS} FROM documents
                 WHERE ordinal >= ?1 AND ordinal < ?2 ORDER BY ordinal"
            );
            let mut statement = connection.prepare_cached(&query)?;
            let mut rows = statement.query([ordinals.start, ordinals.end])?;
            while let Some(row) = rows.next()? {
                visit(FilingRow::decode(row)?);
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

impl<'a> FilingRow<'a> {
    #[must_use]
    pub fn document_id(&self) -> DocumentId {
        DocumentId::new(self.id).expect("it is checked as it is read")
    }

    pub(super) fn decode(row: &'a Row<'a>) -> Result<Self, StorageError> {
        let columns = Columns::new(row)?;
        Self::of(&columns, &FilingPart::read(&columns)?)
    }

    /// `None` for a document that has expired at `now_ms`.
    pub(super) fn decode_alive(
        row: &'a Row<'a>,
        connection: &Connection,
        now_ms: i64,
    ) -> Result<Option<Self>, StorageError> {
        let columns = Columns::new(row)?;
        let part = FilingPart::read(&columns)?;
        let is_alive = part.is_alive(connection, columns.ordinal, now_ms)?;
        is_alive.then(|| Self::of(&columns, &part)).transpose()
    }

    fn of(columns: &Columns<'a>, part: &FilingPart<'a>) -> Result<Self, StorageError> {
        Ok(Self {
            ordinal: columns.ordinal,
            id: part.checked_id(columns)?,
            fingerprint: part.fingerprint,
            shingles: part.shingles,
            sketch: part.sketch,
            has_metadata: part.flags & flags::METADATA != 0,
        })
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
