//! The one thread that writes.
//!
//! It takes what has queued up, commits it in one transaction and only then, in order, lets each
//! write take effect in memory and answers it. After any failure it writes no more: what the disk
//! holds is then only known after a new start.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior};
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, timeout_at};

use super::counters::Counters;
use super::log::{self, Operation};
use super::{EncodedRecord, StorageError};
use crate::document::Ordinal;

/// A change to what is stored.
#[derive(Clone, Debug)]
pub enum Write {
    /// Stores a record, in the place of another one if it replaces one.
    Put { record: EncodedRecord, replaces: Option<Ordinal> },
    /// Removes the record with this ordinal, which must be there.
    Remove { ordinal: Ordinal },
}

impl Write {
    fn bytes(&self) -> u64 {
        match self {
            Self::Put { record, .. } => record.bytes(),
            Self::Remove { .. } => 0,
        }
    }
}

/// What the committer is asked to do. Dropping `done` says that it did not.
pub(super) enum Message {
    Write { write: Write, applied: Box<dyn FnOnce(u64) + Send>, done: oneshot::Sender<()> },
    Trim { up_to: u64, rows_max: u64, done: oneshot::Sender<u64> },
}

pub(super) struct Committer {
    pub connection: Connection,
    pub queue: mpsc::Receiver<Message>,
    pub counters: Counters,
    pub applied_sequence: Arc<AtomicU64>,
    pub group_writes_max: usize,
    pub group_bytes_max: u64,
    /// Waits for messages with a deadline, which a channel alone cannot.
    pub runtime: Runtime,
    /// For [`super::Sync::Interval`]; otherwise each commit syncs by itself.
    pub wal_sync: Option<WalSync>,
}

impl Committer {
    /// Runs until the queue is closed and empty, or until something fails, which `poison` then says.
    pub fn run(self, poison: &watch::Sender<Option<String>>) {
        let reason = match catch_unwind(AssertUnwindSafe(|| self.commit_all())) {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.to_string(),
            Err(_) => "the committer panicked".to_owned(),
        };
        tracing::error!(reason, "the store is poisoned: nothing is written until the next start");
        poison.send_replace(Some(reason));
    }

    fn commit_all(mut self) -> Result<(), StorageError> {
        while let Some(first) = self.next()? {
            let group = self.gather(first);
            self.commit(group)?;
        }
        self.finish()
    }

    /// Waits for a message, and meanwhile syncs when it is time; `None` when there will be no more.
    fn next(&mut self) -> Result<Option<Message>, StorageError> {
        loop {
            let Some(due) = self.wal_sync.as_ref().and_then(|wal| wal.due) else {
                return Ok(self.runtime.block_on(self.queue.recv()));
            };
            // Under load there is always a message, so the time is looked at first.
            if due > Instant::now() {
                let received = async { timeout_at(due, self.queue.recv()).await };
                if let Ok(message) = self.runtime.block_on(received) {
                    return Ok(message);
                }
            }
            self.sync()?;
        }
    }

    /// The first message and those that wait behind it, up to the limits of a group.
    fn gather(&mut self, first: Message) -> Vec<Message> {
        let mut bytes = first.bytes();
        let mut group = vec![first];
        while group.len() < self.group_writes_max && bytes < self.group_bytes_max {
            let Ok(message) = self.queue.try_recv() else { break };
            bytes += message.bytes();
            group.push(message);
        }
        group
    }

    fn commit(&mut self, group: Vec<Message>) -> Result<(), StorageError> {
        let mut counters = self.counters;
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut outcomes = Vec::with_capacity(group.len());
        for message in &group {
            outcomes.push(message.perform(&transaction, &mut counters)?);
        }
        counters.write(&transaction)?;
        transaction.commit()?;
        self.counters = counters;
        if let Some(wal_sync) = &mut self.wal_sync {
            wal_sync.committed();
        }
        for (message, outcome) in group.into_iter().zip(outcomes) {
            message.conclude(outcome, &self.applied_sequence);
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), StorageError> {
        self.wal_sync.as_mut().map_or(Ok(()), WalSync::sync)
    }

    fn finish(mut self) -> Result<(), StorageError> {
        self.sync()?;
        self.connection.pragma_query(None, "wal_checkpoint", |_| Ok(()))?;
        self.connection.close().map_err(|(_, error)| error.into())
    }
}

impl Message {
    fn bytes(&self) -> u64 {
        match self {
            Self::Write { write, .. } => write.bytes(),
            Self::Trim { .. } => 0,
        }
    }

    /// Gives back the sequence of a write, or the rows that a trim removed.
    fn perform(
        &self,
        connection: &Connection,
        counters: &mut Counters,
    ) -> Result<u64, StorageError> {
        match self {
            Self::Trim { up_to, rows_max, .. } => {
                return log::trim(connection, counters, *up_to, *rows_max);
            }
            Self::Write { write: Write::Remove { ordinal }, .. } => {
                remove(connection, counters, *ordinal)?;
            }
            Self::Write { write: Write::Put { record, replaces }, .. } => {
                if let Some(replaced) = replaces {
                    remove(connection, counters, *replaced)?;
                }
                put(connection, counters, record)?;
            }
        }
        Ok(counters.last_sequence)
    }

    /// A caller who has gone away is not missed: the change stands all the same.
    fn conclude(self, outcome: u64, applied_sequence: &AtomicU64) {
        match self {
            Self::Trim { done, .. } => {
                let _ = done.send(outcome);
            }
            Self::Write { applied, done, .. } => {
                applied(outcome);
                applied_sequence.store(outcome, Ordering::Release);
                let _ = done.send(());
            }
        }
    }
}

fn put(
    connection: &Connection,
    counters: &mut Counters,
    record: &EncodedRecord,
) -> Result<(), StorageError> {
    let ordinal = record.ordinal();
    let Some(next) = ordinal.0.checked_add(1) else {
        return Err(StorageError::corrupt("a document was given the last ordinal there is"));
    };
    record.insert(connection)?;
    counters.documents += 1;
    counters.next_ordinal = counters.next_ordinal.max(next);
    log::append(connection, counters, Operation::Put, ordinal)
}

fn remove(
    connection: &Connection,
    counters: &mut Counters,
    ordinal: Ordinal,
) -> Result<(), StorageError> {
    let delete = "DELETE FROM documents WHERE ordinal = ?1";
    if connection.prepare_cached(delete)?.execute([ordinal.0])? == 0 {
        let what = format!("a document to be removed is not there, ordinal {}", ordinal.0);
        return Err(StorageError::corrupt(what));
    }
    counters.documents -= 1;
    log::append(connection, counters, Operation::Remove, ordinal)
}

/// Syncs the write-ahead log from time to time.
///
/// SQLite's locks are on its other files, so opening this one beside it does not undo them.
pub(super) struct WalSync {
    path: PathBuf,
    file: Option<File>,
    interval: Duration,
    /// When the oldest commit that is not synced has to be; `None` when all are.
    due: Option<Instant>,
}

impl WalSync {
    pub fn new(path: PathBuf, interval: Duration) -> Self {
        Self { path, file: None, interval, due: None }
    }

    fn committed(&mut self) {
        self.due.get_or_insert_with(|| Instant::now() + self.interval);
    }

    fn sync(&mut self) -> Result<(), StorageError> {
        if self.due.is_none() {
            return Ok(());
        }
        let file = match self.file.take() {
            Some(file) => file,
            None => File::open(&self.path).map_err(StorageError::io(&self.path))?,
        };
        file.sync_data().map_err(StorageError::io(&self.path))?;
        self.file = Some(file);
        self.due = None;
        Ok(())
    }
}
