//! The committer's commands and how each is executed.

use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::{Connection, OptionalExtension};
use tokio::sync::oneshot;

use super::counters::Counters;
use super::log::{self, Logged, Operation};
use super::{EncodedRecord, StorageError, changes, expiries};
use crate::document::Ordinal;

/// A change of the stored documents.
#[derive(Clone, Debug)]
pub enum Write {
    /// Stores a record and removes the record that it replaces, if any.
    Put { record: EncodedRecord, replaces: Option<Ordinal> },
    /// Removes the record with this ordinal, which must exist.
    Remove { ordinal: Ordinal },
}

impl Write {
    fn bytes(&self) -> u64 {
        match self {
            Self::Put { record, .. } => record.bytes(),
            Self::Remove { .. } => 0,
        }
    }

    fn perform(
        &self,
        connection: &Connection,
        counters: &mut Counters,
        logged: &mut Logged,
    ) -> Result<(), StorageError> {
        match self {
            Self::Remove { ordinal } => {
                let id = remove(connection, counters, logged, *ordinal)?;
                changes::insert(connection, counters.last_sequence, &id)
            }
            Self::Put { record, replaces } => {
                if let Some(replaced) = replaces {
                    remove(connection, counters, logged, *replaced)?;
                }
                put(connection, counters, logged, record)
            }
        }
    }
}

/// The result of a command. Dropping it tells the caller that the store has failed.
type Done<T> = oneshot::Sender<Result<T, StorageError>>;

/// A request to the committer.
pub(super) enum StoreCommand {
    /// The writes are sent back, so that the caller frees them instead of the committer.
    Write {
        writes: Vec<Write>,
        applied: Box<dyn FnOnce(u64) + Send>,
        done: Done<Vec<Write>>,
    },
    Trim {
        up_to: u64,
        done: Done<u64>,
    },
    Sync {
        done: Done<()>,
    },
}

impl StoreCommand {
    pub fn writes(&self) -> &[Write] {
        match self {
            Self::Write { writes, .. } => writes,
            Self::Trim { .. } | Self::Sync { .. } => &[],
        }
    }

    pub fn bytes(&self) -> u64 {
        self.writes().iter().map(Write::bytes).sum()
    }

    /// Returns the sequence of the last write, or the number of operations that a trim removed.
    pub fn perform(
        &self,
        connection: &Connection,
        counters: &mut Counters,
        logged: &mut Logged,
    ) -> Result<u64, StorageError> {
        match self {
            Self::Sync { .. } => {}
            Self::Trim { up_to, .. } => {
                let written = counters.last_sequence - logged.len() as u64;
                let removed = log::trim(connection, written, *up_to)?;
                changes::trim(connection, log::kept_after(connection, written)?)?;
                return Ok(removed);
            }
            Self::Write { writes, .. } => {
                for write in writes {
                    write.perform(connection, counters, logged)?;
                }
            }
        }
        Ok(counters.last_sequence)
    }

    /// Sends the result. The change is permanent even if the caller no longer waits for it.
    pub fn conclude(self, outcome: u64, applied_sequence: &AtomicU64) {
        match self {
            Self::Sync { done } => {
                let _ = done.send(Ok(()));
            }
            Self::Trim { done, .. } => {
                let _ = done.send(Ok(outcome));
            }
            Self::Write { writes, applied, done } => {
                applied(outcome);
                applied_sequence.store(outcome, Ordering::Release);
                let _ = done.send(Ok(writes));
            }
        }
    }

    /// Whether it stores records, which takes room on the disk.
    pub fn needs_room(&self) -> bool {
        self.writes().iter().any(|write| matches!(write, Write::Put { .. }))
    }

    /// Sends the reason why nothing of it was done. `applied` is dropped first, so that documents
    /// are no longer in flight when their callers hear of it.
    pub fn refuse(self, error: StorageError) {
        match self {
            Self::Sync { done } => drop(done.send(Err(error))),
            Self::Trim { done, .. } => drop(done.send(Err(error))),
            Self::Write { applied, done, .. } => {
                drop(applied);
                drop(done.send(Err(error)));
            }
        }
    }
}

fn put(
    connection: &Connection,
    counters: &mut Counters,
    logged: &mut Logged,
    record: &EncodedRecord,
) -> Result<(), StorageError> {
    let ordinal = record.ordinal();
    record.insert(connection)?;
    counters.documents += 1;
    counters.next_ordinal = counters.next_ordinal.max(ordinal.get() + 1);
    logged.append(counters, Operation::Put, ordinal);
    Ok(())
}

/// Returns the id of the document.
fn remove(
    connection: &Connection,
    counters: &mut Counters,
    logged: &mut Logged,
    ordinal: Ordinal,
) -> Result<String, StorageError> {
    let delete = "DELETE FROM documents WHERE ordinal = ?1 RETURNING id";
    let id = connection
        .prepare_cached(delete)?
        .query_row([i64::from(ordinal)], |row| row.get(0))
        .optional()?;
    let id = id.ok_or_else(|| {
        let what = format!("the document to remove, ordinal {}, does not exist", ordinal.get());
        StorageError::corrupt(what)
    })?;
    expiries::remove(connection, ordinal)?;
    counters.documents -= 1;
    logged.append(counters, Operation::Remove, ordinal);
    Ok(id)
}
