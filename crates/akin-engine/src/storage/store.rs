//! An open store, which writes through the committer and reads through the readers.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread::{self, JoinHandle};

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::unconstrained;

use super::command::{StoreCommand, Write};
use super::committer::Committer;
use super::details;
use super::readers::{self, Readers, StoreSizes};
use super::schema::Writer;
use super::{Snapshots, StorageError, StorageSettings, StoreView, copy, directory};
use crate::document::Ordinal;
use crate::stored::{Detail, DocumentDetails, Order, Record};
use akin_core::text::Shingler;

/// A store that is locked and not open yet.
pub struct PreparedStore {
    lock: File,
    files: Files,
    writer: Writer,
    settings: StorageSettings,
}

impl PreparedStore {
    /// The identity with which the store was created; `None` if no store exists yet.
    pub fn identity(&self) -> Option<&str> {
        self.writer.identity()
    }

    /// As [`Store::open`]. Blocks.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open(self, identity: &str, shingler: Shingler) -> Result<Store, StorageError> {
        let Self { lock, files, writer, settings } = self;
        let connection = writer.open(&settings, identity)?;
        let dir = files.dir();
        directory::sync(dir)?;
        let snapshots = Snapshots::open(dir.join("snapshots"))?;
        Store::start(lock, files, connection, snapshots, &settings, shingler)
    }
}

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
    /// Locks `dir` and looks at the store in it, or at nothing yet, without changing it. Blocks.
    ///
    /// # Errors
    /// [`StorageError::InUse`], [`StorageError::NotAkin`], [`StorageError::OtherFormat`];
    /// [`StorageError::Settings`] for settings with faults; [`StorageError::Database`] and
    /// [`StorageError::Io`].
    pub fn prepare(dir: &Path, settings: &StorageSettings) -> Result<PreparedStore, StorageError> {
        let faults = settings.faults();
        if !faults.is_empty() {
            return Err(StorageError::Settings { faults });
        }
        directory::make(dir)?;
        let lock = directory::lock(dir)?;
        copy::clear(dir)?;
        let files = Files::of(dir);
        let writer = Writer::connect(&files.database)?;
        if writer.identity().is_none() {
            // SQLite syncs the directory, too, and does not mind if that fails.
            directory::sync(dir)?;
        }
        Ok(PreparedStore { lock, files, writer, settings: settings.clone() })
    }

    /// Opens the store in `dir`, or creates it. Blocks.
    ///
    /// `identity` is the canonical form of the settings that decide the stored data: a store with a
    /// different identity is refused. `shingler` computes the set of a stored content; it must
    /// accept every content ever stored under the identity, so it should have no limits.
    ///
    /// # Errors
    /// [`StorageError::InUse`], [`StorageError::NotAkin`], [`StorageError::OtherFormat`],
    /// [`StorageError::OtherSettings`]; [`StorageError::Settings`] for settings with faults;
    /// [`StorageError::LostWrites`]; [`StorageError::Corrupt`], [`StorageError::Database`] and
    /// [`StorageError::Io`].
    pub fn open(
        dir: &Path,
        settings: &StorageSettings,
        identity: &str,
        shingler: Shingler,
    ) -> Result<Self, StorageError> {
        Self::prepare(dir, settings)?.open(identity, shingler)
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

    /// Like [`write_all`](Self::write_all), for a single write.
    ///
    /// # Errors
    /// As [`write_all`](Self::write_all).
    pub async fn write(
        &self,
        write: Write,
        applied: impl FnOnce(u64) + Send + 'static,
    ) -> Result<(), StorageError> {
        self.write_all(vec![write], applied).await
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
        self.send(|done| StoreCommand::Write { writes, applied, done }).await.map(drop)
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
            let removed = self.send(|done| StoreCommand::Trim { up_to, done }).await?;
            total += removed;
            if removed == 0 {
                return Ok(total);
            }
        }
    }

    /// Resolves once every write applied before is durable, even under [`super::Sync::Interval`].
    ///
    /// # Errors
    /// [`StorageError::Poisoned`].
    pub async fn sync(&self) -> Result<(), StorageError> {
        self.send(|done| StoreCommand::Sync { done }).await
    }

    async fn send<T>(
        &self,
        command: impl FnOnce(oneshot::Sender<Result<T, StorageError>>) -> StoreCommand,
    ) -> Result<T, StorageError> {
        let (done, outcome) = oneshot::channel();
        let queue = self.queue.read().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(queue) = queue else { return Err(StorageError::Closed) };
        // Without `unconstrained`, Tokio's budget could delay this task and let later tasks pass
        // it.
        if unconstrained(queue.send(command(done))).await.is_err() {
            return Err(self.why_stopped().await);
        }
        // The committer ends once all senders are dropped; waiting for a result needs none.
        drop(queue);
        match outcome.await {
            Ok(outcome) => outcome,
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
        self.queue.write().unwrap_or_else(PoisonError::into_inner).take();
        let mut committers = self.committers.lock().unwrap_or_else(PoisonError::into_inner);
        for committer in committers.drain(..) {
            // It catches its own panics and reports them through `poisoned`.
            let _ = committer.join();
        }
        drop(committers);
        self.lock.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// The documents with these ordinals, in the given order; `None` for a document that does not
    /// exist.
    ///
    /// # Errors
    /// [`StorageError::CorruptDocument`] if a row does not match its checksum.
    pub async fn fetch(
        &self,
        ordinals: Vec<Ordinal>,
        detail: Detail,
    ) -> Result<Vec<Option<Record>>, StorageError> {
        let shingler = Arc::clone(&self.shingler);
        let read = move |connection: &Connection| {
            readers::records(connection, &ordinals, detail, &shingler)
        };
        self.readers.read(read).await
    }

    /// The document with this ordinal, if it exists, read on this thread. The caller limits the
    /// number of such reads at a time.
    ///
    /// # Errors
    /// [`StorageError::CorruptDocument`] if its row does not match its checksum.
    pub fn fetch_here(
        &self,
        ordinal: Ordinal,
        detail: Detail,
    ) -> Result<Option<Record>, StorageError> {
        let read = |connection: &Connection| {
            readers::records(connection, &[ordinal], detail, &self.shingler)
        };
        Ok(self.readers.read_here(read)?.pop().flatten())
    }

    /// The details of one document, read by the calling thread, which has to be a blocking one.
    ///
    /// # Errors
    /// [`StorageError::CorruptDocument`] if its row does not match its checksum.
    pub fn details_here(&self, ordinal: Ordinal) -> Result<Option<DocumentDetails>, StorageError> {
        let read = |connection: &Connection| details::details(connection, &[ordinal]);
        Ok(self.readers.read_here(read)?.pop().flatten())
    }

    /// The details of the documents with these ordinals, in the given order; `None` for a document
    /// that does not exist.
    ///
    /// # Errors
    /// [`StorageError::CorruptDocument`] if a row does not match its checksum.
    pub async fn details(
        &self,
        ordinals: Vec<Ordinal>,
    ) -> Result<Vec<Option<DocumentDetails>>, StorageError> {
        self.readers.read(move |connection| details::details(connection, &ordinals)).await
    }

    /// Every document alive at `now_ms` (milliseconds since the epoch) that matches, ascending,
    /// from a single state of the store. Reading ends early if the future is dropped.
    ///
    /// # Errors
    /// [`StorageError::CorruptDocument`] if a row does not match its checksum.
    pub async fn select(
        &self,
        now_ms: i64,
        matches: impl Fn(&DocumentDetails) -> bool + Send + 'static,
    ) -> Result<Vec<Ordinal>, StorageError> {
        self.readers.select(now_ms, matches).await
    }

    /// Every document alive at `now_ms` (milliseconds since the epoch), from a single state of the
    /// store; ends early if the receiver is dropped. A corrupt document is sent as an error and the
    /// remaining documents follow; any other error is the last item.
    pub async fn export(
        &self,
        detail: Detail,
        order: Order,
        now_ms: i64,
    ) -> mpsc::Receiver<Result<Record, StorageError>> {
        self.readers.export(detail, order, now_ms, &self.shingler).await
    }

    /// A consistent view of all documents alive at `now_ms` (milliseconds since the epoch). The
    /// caller limits the number of concurrent views.
    ///
    /// # Errors
    /// [`StorageError::Database`], [`StorageError::Corrupt`].
    pub async fn view(&self, now_ms: i64) -> Result<StoreView, StorageError> {
        self.readers.view(now_ms, &self.shingler).await
    }

    /// # Errors
    /// [`StorageError::Database`], [`StorageError::Io`], [`StorageError::Corrupt`].
    pub async fn sizes(&self) -> Result<StoreSizes, StorageError> {
        let files = self.files.clone();
        self.readers.read(move |connection| readers::sizes(connection, &files)).await
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
