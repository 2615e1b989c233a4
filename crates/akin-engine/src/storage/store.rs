//! An open store, which writes through the committer and reads through the readers.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use parking_lot::{Mutex, RwLock};
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::unconstrained;

use super::command::{CommandOutcome, Done, StoreCommand, Write};
use super::committer::Committer;
use super::readers::Readers;
use super::schema::WriterConnection;
use super::{Snapshots, StorageError, StorageSettings, copy, directory};
use akin_core::text::Shingler;

/// The durable store of a collection.
///
/// Dropping it closes it like [`Store::close`].
pub struct Store {
    pub(super) readers: Readers,
    pub(super) files: Files,
    /// Computes the sets of stored contents.
    pub(super) shingler: Arc<Shingler>,
    /// Only one copy is made at a time.
    pub(super) copying: Mutex<()>,
    /// `None` once closing.
    queue: RwLock<Option<mpsc::Sender<StoreCommand>>>,
    /// The threads that write, in turns.
    committers: Mutex<Vec<JoinHandle<()>>>,
    poisoned: watch::Receiver<Option<String>>,
    applied_sequence: Arc<AtomicU64>,
    snapshots: Snapshots,
    pub(super) disk_free_min_bytes: u64,
    /// Released once the committer has stopped.
    lock: Mutex<Option<File>>,
}

/// One thread writes while the other syncs and applies the group before.
const COMMITTERS: usize = 2;

/// The database and its write-ahead log.
#[derive(Clone, Debug)]
pub(super) struct Files {
    pub database: PathBuf,
    pub wal: PathBuf,
}

impl Files {
    pub fn of(dir: &Path) -> Self {
        Self { database: dir.join("store.sqlite"), wal: dir.join("store.sqlite-wal") }
    }

    pub fn dir(&self) -> &Path {
        self.database.parent().expect("the database is in a directory")
    }
}

impl Store {
    /// Opens the store in `dir`, or creates it. Blocks.
    ///
    /// `choose` gets the identity with which the store was created, if there is one, and returns
    /// the canonical form of the settings that decide the stored data: a store with a different
    /// identity is refused. The shingler computes the set of a stored content; it must accept every
    /// content ever stored under the identity, so it should have no limits. Until `choose` returns,
    /// the store is locked and not changed.
    ///
    /// # Errors
    /// [`StorageError::InUse`], [`StorageError::NotAkin`], [`StorageError::OtherFormat`],
    /// [`StorageError::OtherSettings`]; [`StorageError::Settings`] for settings with faults;
    /// [`StorageError::LostWrites`]; [`StorageError::Corrupt`], [`StorageError::Database`] and
    /// [`StorageError::Io`]; the errors of `choose`.
    pub fn open<E: From<StorageError>>(
        dir: &Path,
        settings: &StorageSettings,
        choose: impl FnOnce(Option<&str>) -> Result<(String, Shingler), E>,
    ) -> Result<Self, E> {
        let faults = settings.faults();
        if !faults.is_empty() {
            return Err(StorageError::Settings { faults }.into());
        }
        directory::make(dir)?;
        let lock = directory::lock(dir)?;
        copy::clear(dir)?;
        let files = Files::of(dir);
        let writer = WriterConnection::connect(&files.database)?;
        if writer.identity().is_none() {
            // SQLite syncs the directory, too, and does not mind if that fails.
            directory::sync(dir)?;
        }
        let (identity, shingler) = choose(writer.identity())?;
        let connection = writer.open(settings, &identity)?;
        directory::sync(dir)?;
        let snapshots = Snapshots::open(dir.join("snapshots"))?;
        Ok(Self::start(lock, files, connection, snapshots, settings, shingler)?)
    }

    /// Starts the committer on an open connection.
    pub(super) fn start(
        lock: File,
        files: Files,
        connection: Connection,
        snapshots: Snapshots,
        settings: &StorageSettings,
        shingler: Shingler,
    ) -> Result<Self, StorageError> {
        let readers = Readers::open(&files.database, settings)?;
        let (queue, waiting) = mpsc::channel(settings.queue_writes_max as usize);
        let committer = Arc::new(Committer::new(connection, waiting, &files, settings)?);
        let (applied_sequence, poisoned) = (committer.applied_sequence(), committer.poisoned());
        let mut committers = Vec::with_capacity(COMMITTERS);
        for _ in 0..COMMITTERS {
            let committer = Arc::clone(&committer);
            let thread = thread::Builder::new()
                .name("akin-committer".to_owned())
                .spawn(move || committer.run())
                .map_err(StorageError::io(&files.database))?;
            committers.push(thread);
        }
        Ok(Self {
            readers,
            files,
            shingler: Arc::new(shingler),
            copying: Mutex::default(),
            queue: RwLock::new(Some(queue)),
            committers: Mutex::new(committers),
            poisoned,
            applied_sequence,
            snapshots,
            disk_free_min_bytes: settings.disk_free_min_bytes,
            lock: Mutex::new(Some(lock)),
        })
    }

    /// Commits the writes atomically. Resolves once they are committed in the sense of
    /// [`super::Sync`] and `applied` has run.
    ///
    /// `applied` gets the sequence of the last write. It runs on a committing thread, one at a time
    /// in the order of the sequences, so it must be quick and must not panic. Queued writes are
    /// committed and applied even if this future is dropped. They are queued in the order in which
    /// their futures are first polled.
    ///
    /// # Errors
    /// [`StorageError::DiskFull`]: nothing of it was written. [`StorageError::Poisoned`]: whether
    /// the writes survive is unknown until the next start.
    pub async fn write_all(
        &self,
        writes: Vec<Write>,
        applied: impl FnOnce(u64) + Send + 'static,
    ) -> Result<(), StorageError> {
        let applied = Box::new(applied);
        self.send(|done| StoreCommand { writes, applied, ..StoreCommand::new(done) })
            .await
            .map(drop)
    }

    /// Removes the log up to a sequence, which no snapshot may need any more. Operations in the
    /// same row as later operations stay. Returns how many it removed. Works in steps, so that it
    /// does not delay writes for long.
    ///
    /// # Errors
    /// [`StorageError::DiskFull`], [`StorageError::Poisoned`].
    pub async fn trim_log(&self, up_to: u64) -> Result<u64, StorageError> {
        let mut total = 0;
        loop {
            let trim_up_to = Some(up_to);
            let trim = |done| StoreCommand { trim_up_to, ..StoreCommand::new(done) };
            let trimmed = self.send(trim).await?.trimmed;
            total += trimmed;
            if trimmed == 0 {
                return Ok(total);
            }
        }
    }

    /// Resolves once every write applied before is durable, even under [`super::Sync::Interval`].
    ///
    /// # Errors
    /// [`StorageError::Poisoned`].
    pub async fn sync(&self) -> Result<(), StorageError> {
        let sync = |done| StoreCommand { syncs: true, ..StoreCommand::new(done) };
        self.send(sync).await.map(drop)
    }

    async fn send(
        &self,
        command: impl FnOnce(Done) -> StoreCommand,
    ) -> Result<CommandOutcome, StorageError> {
        let (done, outcome) = oneshot::channel();
        let queue = self.queue.read().clone();
        let Some(queue) = queue else { return Err(StorageError::Closed) };
        // Without `unconstrained`, Tokio's budget could delay this task and let later tasks pass
        // it.
        if unconstrained(queue.send(command(done))).await.is_err() {
            return Err(self.why_stopped().await);
        }
        // The committer ends once all senders are dropped; waiting for a result needs none.
        drop(queue);
        match outcome.await {
            Ok(outcome) => outcome.map(|(outcome, _writes)| outcome),
            Err(_) => Err(self.why_stopped().await),
        }
    }

    /// Waits for the reason, because the committer drops commands before it reports the reason.
    async fn why_stopped(&self) -> StorageError {
        let mut poisoned = self.poisoned.clone();
        match poisoned.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(reason)) => StorageError::Poisoned { reason: reason.clone() },
            _ => StorageError::Closed,
        }
    }

    /// Holds the reason once a write has failed; every later write is refused.
    pub fn poisoned(&self) -> watch::Receiver<Option<String>> {
        self.poisoned.clone()
    }

    /// Every write up to this sequence has been applied, so a snapshot taken now contains it.
    pub fn applied_sequence(&self) -> u64 {
        self.applied_sequence.load(Ordering::Acquire)
    }

    /// Commits the queued writes, syncs and checkpoints; later writes are refused. Blocks until
    /// that is done.
    ///
    /// # Errors
    /// [`StorageError::Poisoned`] if any of that failed, or a write did before.
    pub fn close(&self) -> Result<(), StorageError> {
        self.stop();
        match self.poisoned.borrow().clone() {
            Some(reason) => Err(StorageError::Poisoned { reason }),
            None => Ok(()),
        }
    }

    fn stop(&self) {
        self.queue.write().take();
        let mut committers = self.committers.lock();
        for committer in committers.drain(..) {
            // It catches its own panics and reports them through `poisoned`.
            let _ = committer.join();
        }
        drop(committers);
        self.lock.lock().take();
    }

    pub fn snapshots(&self) -> &Snapshots {
        &self.snapshots
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.stop();
    }
}
