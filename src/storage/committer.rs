//! The one place that writes.
//!
//! It takes what has queued up, commits it in one transaction, syncs that and only then, in order,
//! lets each batch of writes take effect in memory and answers it. After any failure it writes no
//! more: what the disk holds is then only known after a new start.
//!
//! A large group is written while the one before is still being synced and takes effect: two
//! threads do this in turns.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior};
use tokio::runtime::{self, Runtime};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout_at};

use super::command::Message;
use super::counters::Counters;
use super::log::Logged;
use super::wal_sync::{Wal, WalSync};
use super::{StorageError, StorageSettings, Sync};

/// Groups of so many bytes are synced and take effect while the next is being written. If smaller
/// ones did, they would only become smaller still, and syncs more.
const AHEAD_BYTES_MIN: u64 = 256 << 10;

/// What two threads do in turns. Each group goes through both halves, and the second is locked
/// before the first is let go: so groups take effect in the order in which they are written, and
/// no more than one is written ahead. A half that failed is not there any more.
pub(super) struct Committer {
    writing: Mutex<Option<Writing>>,
    concluding: Mutex<Option<Concluding>>,
    poison: watch::Sender<Option<String>>,
}

/// The first half: into the database.
struct Writing {
    connection: Connection,
    queue: mpsc::Receiver<Message>,
    counters: Counters,
    group_writes_max: usize,
    group_bytes_max: u64,
    /// Waits for messages with a deadline, which a channel alone cannot.
    runtime: Runtime,
    /// For [`Sync::Interval`].
    wal_sync: Option<WalSync>,
}

/// The second half: onto the disk, into memory, and the answers.
struct Concluding {
    /// For [`Sync::Always`].
    wal: Option<Wal>,
    applied_sequence: Arc<AtomicU64>,
}

type SecondHalf<'a> = MutexGuard<'a, Option<Concluding>>;

/// Messages that are carried out together.
struct Group {
    messages: Vec<Message>,
    bytes: u64,
    /// What came of each, once they are committed.
    outcomes: Vec<u64>,
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

    /// Holds the reason once something has failed.
    pub fn poisoned(&self) -> watch::Receiver<Option<String>> {
        self.poison.subscribe()
    }

    /// Up to where writes have taken effect.
    pub fn applied_sequence(&self) -> Arc<AtomicU64> {
        let concluding = self.concluding.lock().unwrap_or_else(PoisonError::into_inner);
        let concluding = concluding.as_ref().expect("it is asked before anything can fail");
        Arc::clone(&concluding.applied_sequence)
    }

    /// Runs until the queue is closed and empty or something fails. For two threads.
    pub fn run(&self) {
        let reason = match catch_unwind(AssertUnwindSafe(|| self.take_turns())) {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.to_string(),
            Err(_) => "the committer panicked".to_owned(),
        };
        tracing::error!(reason, "the store is poisoned: nothing is written until the next start");
        self.poison.send_replace(Some(reason));
        // Whoever waits in the queue learns it, too.
        self.writing.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    fn take_turns(&self) -> Result<(), StorageError> {
        while self.take_turn()? {}
        Ok(())
    }

    /// Writes until another thread is to write on, while this one concludes its last group.
    /// `false` at the end, also if the other has failed, who then says why.
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

    /// A large group, to be concluded. `None` at the end.
    fn write_on(
        &self,
        turn: &mut Option<Writing>,
    ) -> Result<Option<(Group, SecondHalf<'_>)>, StorageError> {
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
    fn gather(&mut self, first: Message) -> Group {
        let (mut writes, mut bytes) = (first.writes().len(), first.bytes());
        let mut messages = vec![first];
        while writes < self.group_writes_max && bytes < self.group_bytes_max {
            let Ok(message) = self.queue.try_recv() else { break };
            writes += message.writes().len();
            bytes += message.bytes();
            messages.push(message);
        }
        Group { outcomes: Vec::with_capacity(messages.len()), messages, bytes }
    }

    fn commit(&mut self, mut group: Group) -> Result<Group, StorageError> {
        let (mut counters, mut logged) = (self.counters, Logged::default());
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for message in &group.messages {
            group.outcomes.push(message.perform(&transaction, &mut counters, &mut logged)?);
        }
        logged.write(&transaction, counters.last_sequence)?;
        counters.write(&transaction)?;
        transaction.commit()?;
        self.counters = counters;
        if let Some(wal_sync) = &mut self.wal_sync {
            wal_sync.committed();
        }
        if group.messages.iter().any(|message| matches!(message, Message::Sync { .. })) {
            self.sync()?;
        }
        Ok(group)
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

/// If it fails, there is no other after it.
fn conclude(concluding: &mut Option<Concluding>, group: Group) -> Result<(), StorageError> {
    let Some(mut present) = concluding.take() else { return Ok(()) };
    if let Some(wal) = &mut present.wal {
        wal.sync()?;
    }
    for (message, outcome) in group.messages.into_iter().zip(group.outcomes) {
        message.conclude(outcome, &present.applied_sequence);
    }
    *concluding = Some(present);
    Ok(())
}
