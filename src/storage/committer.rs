//! The one thread that writes.
//!
//! It takes what has queued up, commits it in one transaction and only then, in order, lets each
//! batch of writes take effect in memory and answers it. After any failure it writes no more: what
//! the disk holds is then only known after a new start.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior};
use tokio::runtime::{self, Runtime};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, timeout_at};

use super::counters::Counters;
use super::log::{self, Logged, Operation};
use super::wal_sync::WalSync;
use super::{EncodedRecord, StorageError, StorageSettings, Sync, expiries};
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

    fn perform(
        &self,
        connection: &Connection,
        counters: &mut Counters,
        logged: &mut Logged,
    ) -> Result<(), StorageError> {
        match self {
            Self::Remove { ordinal } => remove(connection, counters, logged, *ordinal),
            Self::Put { record, replaces } => {
                if let Some(replaced) = replaces {
                    remove(connection, counters, logged, *replaced)?;
                }
                put(connection, counters, logged, record)
            }
        }
    }
}

/// What the committer is asked to do. Dropping `done` says that it did not.
pub(super) enum Message {
    /// The writes are given back, to be freed by whoever waits.
    Write {
        writes: Vec<Write>,
        applied: Box<dyn FnOnce(u64) + Send>,
        done: oneshot::Sender<Vec<Write>>,
    },
    Trim {
        up_to: u64,
        done: oneshot::Sender<u64>,
    },
    Sync {
        done: oneshot::Sender<()>,
    },
}

pub(super) struct Committer {
    connection: Connection,
    queue: mpsc::Receiver<Message>,
    counters: Counters,
    pub applied_sequence: Arc<AtomicU64>,
    /// Whether a group is taking effect in memory.
    pub applying: watch::Sender<bool>,
    group_writes_max: usize,
    group_bytes_max: u64,
    /// Waits for messages with a deadline, which a channel alone cannot.
    runtime: Runtime,
    /// For [`Sync::Interval`]; otherwise each commit syncs by itself.
    wal_sync: Option<WalSync>,
}

impl Committer {
    pub fn new(
        connection: Connection,
        queue: mpsc::Receiver<Message>,
        wal: &Path,
        settings: &StorageSettings,
    ) -> Result<Self, StorageError> {
        let counters = Counters::read(&connection)?;
        let interval = Duration::from_millis(settings.sync_interval_ms);
        let runtime = runtime::Builder::new_current_thread().enable_time().build();
        Ok(Self {
            connection,
            queue,
            counters,
            applied_sequence: Arc::new(AtomicU64::new(counters.last_sequence)),
            applying: watch::Sender::new(false),
            group_writes_max: settings.group_writes_max as usize,
            group_bytes_max: settings.group_bytes_max,
            runtime: runtime.map_err(StorageError::io(wal))?,
            wal_sync: match settings.sync {
                Sync::Always => None,
                Sync::Interval => Some(WalSync::new(wal.to_owned(), interval)),
            },
        })
    }

    /// Runs until the queue is closed and empty or something fails, which `poison` then says.
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
            let Some(due) = self.wal_sync.as_ref().and_then(WalSync::due) else {
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
        let (mut writes, mut bytes) = (first.writes().len(), first.bytes());
        let mut group = vec![first];
        while writes < self.group_writes_max && bytes < self.group_bytes_max {
            let Ok(message) = self.queue.try_recv() else { break };
            writes += message.writes().len();
            bytes += message.bytes();
            group.push(message);
        }
        group
    }

    fn commit(&mut self, group: Vec<Message>) -> Result<(), StorageError> {
        let (mut counters, mut logged) = (self.counters, Logged::default());
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut outcomes = Vec::with_capacity(group.len());
        for message in &group {
            outcomes.push(message.perform(&transaction, &mut counters, &mut logged)?);
        }
        logged.write(&transaction, counters.last_sequence)?;
        counters.write(&transaction)?;
        transaction.commit()?;
        self.counters = counters;
        if let Some(wal_sync) = &mut self.wal_sync {
            wal_sync.committed();
        }
        if group.iter().any(|message| matches!(message, Message::Sync { .. })) {
            self.sync()?;
        }
        self.applying.send_replace(true);
        for (message, outcome) in group.into_iter().zip(outcomes) {
            message.conclude(outcome, &self.applied_sequence);
        }
        self.applying.send_replace(false);
        Ok(())
    }

    fn sync(&mut self) -> Result<(), StorageError> {
        self.wal_sync.as_mut().map_or(Ok(()), WalSync::sync)
    }

    fn finish(mut self) -> Result<(), StorageError> {
        self.sync()?;
        // A long read may be under way; the next start then finds the log, and no harm done.
        self.connection.busy_timeout(Duration::ZERO)?;
        self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        self.connection.close().map_err(|(_, error)| error.into())
    }
}

impl Message {
    fn writes(&self) -> &[Write] {
        match self {
            Self::Write { writes, .. } => writes,
            Self::Trim { .. } | Self::Sync { .. } => &[],
        }
    }

    fn bytes(&self) -> u64 {
        self.writes().iter().map(Write::bytes).sum()
    }

    /// Gives back the sequence of the last write, or the operations that a trim removed.
    fn perform(
        &self,
        connection: &Connection,
        counters: &mut Counters,
        logged: &mut Logged,
    ) -> Result<u64, StorageError> {
        match self {
            Self::Sync { .. } => {}
            Self::Trim { up_to, .. } => {
                let written = counters.last_sequence - logged.len() as u64;
                return log::trim(connection, written, *up_to);
            }
            Self::Write { writes, .. } => {
                for write in writes {
                    write.perform(connection, counters, logged)?;
                }
            }
        }
        Ok(counters.last_sequence)
    }

    /// A caller who has gone away is not missed: the change stands all the same.
    fn conclude(self, outcome: u64, applied_sequence: &AtomicU64) {
        match self {
            Self::Sync { done } => {
                let _ = done.send(());
            }
            Self::Trim { done, .. } => {
                let _ = done.send(outcome);
            }
            Self::Write { writes, applied, done } => {
                applied(outcome);
                applied_sequence.store(outcome, Ordering::Release);
                let _ = done.send(writes);
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
    let Some(next) = ordinal.0.checked_add(1) else {
        return Err(StorageError::corrupt("a document was given the last ordinal there is"));
    };
    record.insert(connection)?;
    counters.documents += 1;
    counters.next_ordinal = counters.next_ordinal.max(next);
    logged.append(counters, Operation::Put, ordinal);
    Ok(())
}

fn remove(
    connection: &Connection,
    counters: &mut Counters,
    logged: &mut Logged,
    ordinal: Ordinal,
) -> Result<(), StorageError> {
    let delete = "DELETE FROM documents WHERE ordinal = ?1";
    if connection.prepare_cached(delete)?.execute([ordinal.0])? == 0 {
        let what = format!("a document to be removed is not there, ordinal {}", ordinal.0);
        return Err(StorageError::corrupt(what));
    }
    expiries::remove(connection, ordinal)?;
    counters.documents -= 1;
    logged.append(counters, Operation::Remove, ordinal);
    Ok(())
}
