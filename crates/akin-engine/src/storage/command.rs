//! The committer's commands and how each is executed.

use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::{Connection, OptionalExtension};
use tokio::sync::oneshot;

use super::counters::Counters;
use super::log::{self, Logged, Operation};
use super::{EncodedRecord, StorageError, changes};
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
                record.insert(connection)?;
                counters.documents += 1;
                counters.next_ordinal = counters.next_ordinal.max(record.ordinal.get() + 1);
                logged.append(counters, Operation::Put, record.ordinal);
                Ok(())
            }
        }
    }
}

/// The outcome of a command.
#[derive(Clone, Copy, Default)]
pub(super) struct CommandOutcome {
    /// The sequence of its last write, or of the last write before it.
    pub sequence: u64,
    /// Operations that were removed from the log.
    pub trimmed: u64,
}

/// Where the result of a command is sent. Dropping it tells the caller that the store has failed.
/// The writes are sent back, so that the caller frees them instead of the committer.
pub(super) type Done = oneshot::Sender<Result<(CommandOutcome, Vec<Write>), StorageError>>;

/// A request to the committer.
pub(super) struct StoreCommand {
    pub writes: Vec<Write>,
    /// Removes some of the log up to this sequence.
    pub trim_up_to: Option<u64>,
    /// Makes everything before it durable, whatever the settings.
    pub syncs: bool,
    /// Runs once the writes are durable, with the sequence of the last.
    pub applied: Box<dyn FnOnce(u64) + Send>,
    pub done: Done,
}

impl StoreCommand {
    /// A command that does nothing.
    pub fn new(done: Done) -> Self {
        Self { writes: Vec::new(), trim_up_to: None, syncs: false, applied: Box::new(|_| ()), done }
    }

    /// The approximate size of its records in the database.
    pub fn bytes(&self) -> u64 {
        self.records().map(EncodedRecord::bytes).sum()
    }

    /// The records that it stores, which take room on the disk.
    pub fn records(&self) -> impl Iterator<Item = &EncodedRecord> {
        self.writes.iter().filter_map(|write| match write {
            Write::Put { record, .. } => Some(record),
            Write::Remove { .. } => None,
        })
    }

    pub fn perform(
        &self,
        connection: &Connection,
        counters: &mut Counters,
        logged: &mut Logged,
    ) -> Result<CommandOutcome, StorageError> {
        let mut outcome = CommandOutcome::default();
        if let Some(up_to) = self.trim_up_to {
            let written = counters.last_sequence - logged.len() as u64;
            outcome.trimmed = log::trim(connection, written, up_to)?;
            changes::trim(connection, log::kept_after(connection, written)?)?;
        }
        for write in &self.writes {
            write.perform(connection, counters, logged)?;
        }
        outcome.sequence = counters.last_sequence;
        Ok(outcome)
    }

    /// Sends the result. The change is permanent even if the caller no longer waits for it.
    pub fn conclude(self, outcome: CommandOutcome, applied_sequence: &AtomicU64) {
        (self.applied)(outcome.sequence);
        applied_sequence.store(outcome.sequence, Ordering::Release);
        let _ = self.done.send(Ok((outcome, self.writes)));
    }

    /// Sends the reason why nothing of it was done. `applied` is dropped first, so that documents
    /// are no longer in flight when their callers hear of it.
    pub fn refuse(self, error: StorageError) {
        drop(self.applied);
        let _ = self.done.send(Err(error));
    }
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
    counters.documents -= 1;
    logged.append(counters, Operation::Remove, ordinal);
    Ok(id)
}
