//! Group commit: the only writer of the database.
//!
//! It commits the queued commands as one group in one transaction, syncs the write-ahead log, and
//! only then, in order, applies each batch of writes in memory and answers its caller. After any
//! failure it writes no more, because the state on disk is unknown until the next start.
//!
//! Two threads take turns, so that a large group is written while the one before is being synced
//! and applied.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior};
use tokio::runtime::{self, Runtime};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout_at};

use super::command::Command;
use super::counters::Counters;
use super::log::Logged;
use super::wal_sync::{Wal, WalSync};
use super::{StorageError, StorageSettings, Sync};

/// Groups from this size on are synced and applied while the next is being written. Doing so with
/// smaller groups would make groups still smaller and syncs more frequent.
const AHEAD_BYTES_MIN: u64 = 256 << 10;

/// A pipeline of two stages that two threads run in turns. The second stage is locked before the
/// first is unlocked, so groups are applied in the order in which they are written, and at most
/// one is written ahead. A stage that failed is `None`.
pub(super) struct Committer {
    writing: Mutex<Option<Writing>>,
    concluding: Mutex<Option<Concluding>>,
    poison: watch::Sender<Option<String>>,
}

/// The first stage: commits groups to the database.
struct Writing {
    connection: Connection,
    queue: mpsc::Receiver<Command>,
    counters: Counters,
    group_writes_max: usize,
    group_bytes_max: u64,
    /// For waiting on the queue with a deadline.
    runtime: Runtime,
    /// For [`Sync::Interval`].
    wal_sync: Option<WalSync>,
}

/// The second stage: syncs and applies groups and answers their callers.
struct Concluding {
    /// For [`Sync::Always`].
    wal: Option<Wal>,
    applied_sequence: Arc<AtomicU64>,
}

type ConcludingGuard<'a> = MutexGuard<'a, Option<Concluding>>;

/// Commands that are committed in one transaction.
struct Group {
    commands: Vec<Command>,
    bytes: u64,
    /// The result of each command, once they are committed.
    outcomes: Vec<u64>,
}

impl Committer {
    pub fn new(
        connection: Connection,
        queue: mpsc::Receiver<Command>,
        wal: &Path,
        settings: &StorageSettings,
    ) -> Result<Self, StorageError> {
        let counters = Counters::read(&connection)?;
        let interval = Duration::from_millis(settings.sync_interval_ms);
        let runtime = runtime::Builder::new_current_thread().enable_time().build();
        let runtime = runtime.map_err(StorageError::io(wal))?;
        let wal = Wal::new(wal.to_owned());
        let (wal, wal_sync) = match settings.sync {
            Sync::Always => (Some(wal), None),
            Sync::Interval => (None, Some(WalSync::new(wal, interval))),
        };
        let writing = Writing {
            connection,
            queue,
            counters,
            group_writes_max: settings.group_writes_max as usize,
            group_bytes_max: settings.group_bytes_max,
            runtime,
            wal_sync,
        };
        let applied_sequence = Arc::new(AtomicU64::new(counters.last_sequence));
        Ok(Self {
            writing: Mutex::new(Some(writing)),
            concluding: Mutex::new(Some(Concluding { wal, applied_sequence })),
            poison: watch::Sender::new(None),
        })
    }

    /// Holds the reason once a write or sync has failed.
    pub fn poisoned(&self) -> watch::Receiver<Option<String>> {
        self.poison.subscribe()
    }

    /// The sequence up to which writes have been applied.
    pub fn applied_sequence(&self) -> Arc<AtomicU64> {
        let concluding = self.concluding.lock().unwrap_or_else(PoisonError::into_inner);
        let concluding = concluding.as_ref().expect("this is called before the threads start");
        Arc::clone(&concluding.applied_sequence)
    }

    /// Runs on each of the two threads until the queue is closed and empty, or a write fails.
    pub fn run(&self) {
        let reason = match catch_unwind(AssertUnwindSafe(|| self.take_turns())) {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.to_string(),
            Err(_) => "the committer panicked".to_owned(),
        };
        tracing::error!(reason, "the store is poisoned: nothing is written until the next start");
        self.poison.send_replace(Some(reason));
        // Dropping the queue fails the commands that wait in it.
        self.writing.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    fn take_turns(&self) -> Result<(), StorageError> {
        while self.take_turn()? {}
        Ok(())
    }

    /// Writes groups until one is large; then lets the other thread write while it concludes that
    /// group. Returns `false` at the end and if the other thread failed, which reports the reason.
    fn take_turn(&self) -> Result<bool, StorageError> {
        let Ok(mut writing) = self.writing.lock() else { return Ok(false) };
        let group = self.write_on(&mut writing);
        let Ok(Some((group, mut concluding))) = group else {
            writing.take();
            return group.map(|_| false);
        };
        drop(writing);
        conclude(&mut concluding, group)?;
        Ok(true)
    }

    /// Commits and concludes small groups. Returns the first large group, committed but not yet
    /// concluded; `None` at the end.
    fn write_on(
        &self,
        turn: &mut Option<Writing>,
    ) -> Result<Option<(Group, ConcludingGuard<'_>)>, StorageError> {
        while let Some(mut writing) = turn.take() {
            let first = writing.next()?;
            if self.poison.borrow().is_some() {
                return Ok(None);
            }
            let Some(first) = first else { return writing.finish().map(|()| None) };
            let group = writing.gather(first);
            let group = writing.commit(group)?;
            *turn = Some(writing);
            let Ok(mut concluding) = self.concluding.lock() else { return Ok(None) };
            if concluding.is_none() {
                return Ok(None);
            }
            if group.bytes >= AHEAD_BYTES_MIN {
                return Ok(Some((group, concluding)));
            }
            conclude(&mut concluding, group)?;
        }
        Ok(None)
    }
}

impl Writing {
    /// Waits for a command, and meanwhile syncs when it is due; `None` once the queue is closed.
    fn next(&mut self) -> Result<Option<Command>, StorageError> {
        loop {
            let Some(due) = self.wal_sync.as_ref().and_then(WalSync::due) else {
                return Ok(self.runtime.block_on(self.queue.recv()));
            };
            // The queue is never empty under load, so the deadline is checked first.
            if due > Instant::now() {
                let received = async { timeout_at(due, self.queue.recv()).await };
                if let Ok(command) = self.runtime.block_on(received) {
                    return Ok(command);
                }
            }
            self.sync()?;
        }
    }

    /// Takes the first command and queued ones after it, up to the limits of a group.
    fn gather(&mut self, first: Command) -> Group {
        let (mut writes, mut bytes) = (first.writes().len(), first.bytes());
        let mut commands = vec![first];
        while writes < self.group_writes_max && bytes < self.group_bytes_max {
            let Ok(command) = self.queue.try_recv() else { break };
            writes += command.writes().len();
            bytes += command.bytes();
            commands.push(command);
        }
        Group { outcomes: Vec::with_capacity(commands.len()), commands, bytes }
    }

    fn commit(&mut self, mut group: Group) -> Result<Group, StorageError> {
        let (mut counters, mut logged) = (self.counters, Logged::default());
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for command in &group.commands {
            group.outcomes.push(command.perform(&transaction, &mut counters, &mut logged)?);
        }
        logged.write(&transaction, counters.last_sequence)?;
        counters.write(&transaction)?;
        transaction.commit()?;
        self.counters = counters;
        if let Some(wal_sync) = &mut self.wal_sync {
            wal_sync.committed();
        }
        if group.commands.iter().any(|command| matches!(command, Command::Sync { .. })) {
            self.sync()?;
        }
        Ok(group)
    }

    fn sync(&mut self) -> Result<(), StorageError> {
        self.wal_sync.as_mut().map_or(Ok(()), WalSync::sync)
    }

    fn finish(mut self) -> Result<(), StorageError> {
        self.sync()?;
        // If a long read prevents the checkpoint, the next start recovers from the log.
        self.connection.busy_timeout(Duration::ZERO)?;
        self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        self.connection.close().map_err(|(_, error)| error.into())
    }
}

/// Syncs, applies and answers a committed group. A failure leaves `None`, which ends the pipeline.
fn conclude(concluding: &mut Option<Concluding>, group: Group) -> Result<(), StorageError> {
    let Some(mut present) = concluding.take() else { return Ok(()) };
    if let Some(wal) = &mut present.wal {
        wal.sync()?;
    }
    for (command, outcome) in group.commands.into_iter().zip(group.outcomes) {
        command.conclude(outcome, &present.applied_sequence);
    }
    *concluding = Some(present);
    Ok(())
}
