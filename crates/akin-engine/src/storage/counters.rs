//! The counters of a store, which every transaction logs with its operations.

use rusqlite::Connection;

use super::{StorageError, log};
use crate::document::Ordinal;

/// Not reached by a million operations a second in a hundred thousand years.
const SEQUENCE_MAX: u64 = i64::MAX as u64 / 2;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counters {
    /// Number of live documents.
    pub documents: u64,
    /// Greater than every ordinal ever stored.
    pub next_ordinal: u64,
    /// The sequence of the last operation ever logged; 0 for none.
    pub last_sequence: u64,
}

impl Counters {
    /// The counters after the last transaction.
    pub fn read(connection: &Connection) -> Result<Self, StorageError> {
        let counters = log::last_counters(connection)?;
        let Self { documents, next_ordinal, last_sequence } = counters;
        // The next write must not overflow. A foreign store has right checksums, too.
        if documents <= next_ordinal
            && next_ordinal <= Ordinal::MAX.get() + 1
            && last_sequence <= SEQUENCE_MAX
        {
            return Ok(counters);
        }
        Err(StorageError::corrupt(format!("its counters are impossible: {counters:?}")))
    }

    /// Checks that no document has an ordinal that would be assigned again.
    pub fn check_ordinals(&self, connection: &Connection) -> Result<(), StorageError> {
        let query = "SELECT max(ordinal) FROM documents";
        let highest: Option<i64> = connection.query_row(query, [], |row| row.get(0))?;
        if highest.is_none_or(|highest| highest.cast_unsigned() < self.next_ordinal) {
            return Ok(());
        }
        let next = self.next_ordinal;
        let what = format!("it has documents with ordinals of {next} or higher, the next ordinal");
        Err(StorageError::corrupt(what))
    }

    /// Checks that a scan has seen every document. A flipped bit in a page of a B-tree can hide
    /// rows from SQLite, which has no checksums.
    pub fn check_seen(&self, seen: u64) -> Result<(), StorageError> {
        if seen == self.documents {
            return Ok(());
        }
        let documents = self.documents;
        let what = format!("{seen} rows are found of {documents} documents: run `akin verify`");
        Err(StorageError::corrupt(what))
    }
}
