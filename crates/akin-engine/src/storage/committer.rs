//! Group commit: the only writer of the database.
//!
//! It commits the queued commands as a group in a single transaction, syncs the write-ahead log,
//! and only then, in order, applies each batch of writes in memory and answers its caller.
//!
//! If the disk has no room for a group, the group is rolled back and refused; later groups may
//! succeed. After any other failure it writes no more, because the state on disk is unknown until
//! the next start: a failed sync may have lost data that a second sync would seem to make durable.
//!
//! Removals free pages inside the database file: [`room`] counts them as room for
//! later records, and gives them back to the disk while no command waits.
//!
//! Two threads take turns, so that a large group is written while the previous group is being
//! synced and applied.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::{mpsc, watch};

use super::acknowledged::Mark;
use super::command::{CommandOutcome, StoreCommand};
use super::counters::Counters;
use super::log::Logged;
use super::room::{self, DiskRoom};
use super::store::Files;
use super::wal_sync::{Wal, WalSync};
use super::{StorageError, StorageSettings, Sync, schema};

/// Groups from this size on are synced and applied while the next is being written. Doing so with
/// smaller groups would make groups still smaller and syncs more frequent.
const AHEAD_BYTES_MIN: u64 = 256 << 10;

/// A pipeline of two stages that two threads run in turns. The second stage is locked before the
/// first is unlocked, so groups are applied in the order in which they are written, and at most a
/// single group is written ahead. A stage that failed is `None`.
pub(super) struct Committer {
    writing: Mutex<Option<Writing>>,
    concluding: Mutex<Option<Concluding>>,
    poison: watch::Sender<Option<String>>,
}

/// The first stage: commits groups to the database.
struct Writing {
    connection: Connection,
    queue: mpsc::Receiver<StoreCommand>,
    counters: Counters,
    group_writes_max: usize,
    group_bytes_max: u64,
    dir: PathBuf,
    room: DiskRoom,
    /// Writes were refused for lack of room, which was logged then.
    is_full: bool,
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

/// Commands that are committed in a single transaction.
struct CommandGroup {
    commands: Vec<StoreCommand>,
    bytes: u64,
    /// The result of each command, once they are committed.
    outcomes: Vec<CommandOutcome>,
    /// The last operation logged with it.
    last_sequence: u64,
}

impl Committer {
    pub fn new(
        connection: Connection,
        queue: mpsc::Receiver<StoreCommand>,
        files: &Files,
        settings: &StorageSettings,
    ) -> Result<Self, StorageError> {
        let counters = Counters::read(&connection)?;
        let interval = Duration::from_millis(settings.sync_interval_ms);
        let dir = files.dir().to_owned();
        let created_at_ms = schema::created_at_ms(&connection)?;
        let wal = Wal::open(files, Mark::open(&dir, created_at_ms, counters.last_sequence)?)?;
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
            dir,
            room: DiskRoom::new(files, settings.disk_free_min_bytes),
            is_full: false,
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
        let take_turns = || {
            while self.take_turn()? {}
            Ok::<_, StorageError>(())
        };
        let reason = match catch_unwind(AssertUnwindSafe(take_turns)) {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.to_string(),
            Err(_) => "the committer panicked".to_owned(),
        };
        tracing::error!(reason, "the store is poisoned: nothing is written until the next start");
        self.poison.send_replace(Some(reason));
        // Dropping the queue fails the commands that wait in it.
        self.writing.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Writes groups until a group is large; then lets the other thread write while it concludes
    /// that group. Returns `false` at the end and if the other thread failed, which reports the
    /// reason.
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
    ) -> Result<Option<(CommandGroup, ConcludingGuard<'_>)>, StorageError> {
        while let Some(mut writing) = turn.take() {
            let first = writing.next()?;
            if self.poison.borrow().is_some() {
                return Ok(None);
            }
            let Some(first) = first else { return writing.finish().map(|()| None) };
            let group = writing.gather(first);
            let group = writing.commit(group)?;
            *turn = Some(writing);
            let Some(group) = group else { continue };
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
    /// Waits for a command; `None` once the queue is closed. Between groups it syncs when a sync
    /// is due, and gives unused pages back to the disk.
    fn next(&mut self) -> Result<Option<StoreCommand>, StorageError> {
        loop {
            let sync_at = self.wal_sync.as_ref().and_then(WalSync::due);
            let due = sync_at.into_iter().chain(self.room.give_back_at()).min();
            let is_sync_due = || sync_at.is_some_and(|at| at <= Instant::now());
            // The queue is never empty under load, so the deadline of a sync is checked first.
            if !is_sync_due()
                && let Poll::Ready(command) = receive(&mut self.queue, due)
            {
                return Ok(command);
            }
            match is_sync_due() {
                true => self.sync()?,
                false => self.give_back()?,
            }
        }
    }

    fn give_back(&mut self) -> Result<(), StorageError> {
        self.room.give_back(&self.connection)?;
        self.check_rolled_back()
    }

    /// Takes the first command and the commands queued after it, up to the limits of a group.
    fn gather(&mut self, first: StoreCommand) -> CommandGroup {
        let (mut writes, mut bytes) = (first.writes.len(), first.bytes());
        let mut commands = vec![first];
        while writes < self.group_writes_max && bytes < self.group_bytes_max {
            let Ok(command) = self.queue.try_recv() else { break };
            writes += command.writes.len();
            bytes += command.bytes();
            commands.push(command);
        }
        let outcomes = Vec::with_capacity(commands.len());
        CommandGroup { outcomes, commands, bytes, last_sequence: 0 }
    }

    /// Returns the group without the refused commands; `None` if no command remains.
    fn commit(&mut self, group: CommandGroup) -> Result<Option<CommandGroup>, StorageError> {
        let Some(mut group) = self.turn_away(group) else { return Ok(None) };
        match self.write(&mut group) {
            Ok(()) => Ok(Some(group)),
            Err(error) if error.is_for_lack_of_room() => {
                self.check_rolled_back()?;
                self.refuse(group.commands, &format!("a write failed and was undone ({error})"));
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Refuses records for which the disk has no room.
    fn turn_away(&mut self, mut group: CommandGroup) -> Option<CommandGroup> {
        let refusal = self.room.refusal(&self.connection, group.bytes);
        let needs_room = |command: &StoreCommand| command.records().next().is_some();
        if !group.commands.iter().any(needs_room) {
            return Some(group);
        }
        if let Some(why) = refusal {
            let (needing, others) = group.commands.into_iter().partition(needs_room);
            self.refuse(needing, &why);
            group.commands = others;
        } else if std::mem::take(&mut self.is_full) {
            tracing::info!(dir = %self.dir.display(), "the disk has room again");
        }
        (!group.commands.is_empty()).then_some(group)
    }

    fn refuse(&mut self, commands: Vec<StoreCommand>, why: &str) {
        let free_bytes = self.room.free_bytes().unwrap_or(0);
        if !std::mem::replace(&mut self.is_full, true) {
            let dir = self.dir.display();
            tracing::warn!(%dir, free_bytes, why, "the disk is full: writes are refused");
        }
        for command in commands {
            let (dir, why) = (self.dir.clone(), why.to_owned());
            command.refuse(StorageError::DiskFull { dir, free_bytes, why });
        }
    }

    /// Makes sure that a failed transaction has left nothing behind.
    fn check_rolled_back(&self) -> Result<(), StorageError> {
        if self.connection.is_autocommit() && Counters::read(&self.connection)? == self.counters {
            return Ok(());
        }
        Err(StorageError::corrupt("a failed transaction was not rolled back"))
    }

    fn write(&mut self, group: &mut CommandGroup) -> Result<(), StorageError> {
        let (mut counters, mut logged) = (self.counters, Logged::default());
        schema::in_transaction(&self.connection, "BEGIN IMMEDIATE", |transaction| {
            for command in &group.commands {
                group.outcomes.push(command.perform(transaction, &mut counters, &mut logged)?);
            }
            logged.write(transaction, &counters)
        })?;
        self.counters = counters;
        group.last_sequence = counters.last_sequence;
        self.room.written();
        if let Some(wal_sync) = &mut self.wal_sync {
            wal_sync.committed();
        }
        if group.commands.iter().any(|queued| queued.syncs) {
            self.sync()?;
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), StorageError> {
        let last_sequence = self.counters.last_sequence;
        self.wal_sync.as_mut().map_or(Ok(()), |wal| wal.sync(last_sequence))
    }

    fn finish(mut self) -> Result<(), StorageError> {
        self.sync()?;
        // If a long read or a full disk prevents the checkpoint, the next start recovers from the
        // log.
        match room::truncate_log(&self.connection) {
            Err(error) if !error.is_for_lack_of_room() => return Err(error),
            _ => {}
        }
        self.connection.close().map_err(|(_, error)| error.into())
    }
}

/// Waits for a command, on this thread and without a runtime, and not after `due`: `Pending` then.
fn receive(
    queue: &mut mpsc::Receiver<StoreCommand>,
    due: Option<Instant>,
) -> Poll<Option<StoreCommand>> {
    let waker = Arc::new(Unpark(thread::current())).into();
    let mut context = Context::from_waker(&waker);
    loop {
        let received = queue.poll_recv(&mut context);
        if received.is_ready() {
            return received;
        }
        match due.map(|due| due.saturating_duration_since(Instant::now())) {
            None => thread::park(),
            Some(Duration::ZERO) => return Poll::Pending,
            Some(left) => thread::park_timeout(left),
        }
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Syncs, applies and answers a committed group. A failure leaves `None`, which ends the pipeline.
fn conclude(concluding: &mut Option<Concluding>, group: CommandGroup) -> Result<(), StorageError> {
    let Some(mut present) = concluding.take() else { return Ok(()) };
    if let Some(wal) = &mut present.wal {
        wal.sync(group.last_sequence)?;
    }
    for (command, outcome) in group.commands.into_iter().zip(group.outcomes) {
        command.conclude(outcome, &present.applied_sequence);
    }
    *concluding = Some(present);
    Ok(())
}
