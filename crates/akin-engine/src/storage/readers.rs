//! A pool of read connections, concurrent with writes. A connection is used by one blocking task at
//! a time.

use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::task::{JoinError, spawn_blocking};

use super::counters::Counters;
use super::details;
use super::record;
use super::row::ALL_COLUMNS;
use super::sets::{SetRow, Visited, visit_sets};
use super::store::Files;
use super::{StorageError, StorageSettings, StoreView, schema};
use crate::document::Ordinal;
use crate::stored::{Detail, DocumentDetails, Order, Record};
use akin_core::text::Shingler;

/// Concurrent exports and selections; each keeps the write-ahead log from being truncated.
pub(super) const EXPORTS_MAX: usize = 4;

/// Page cache of a scan, which reads each leaf page once: enough for the interior pages, and small
/// enough for the processor's cache.
const SCAN_CACHE_KIB: i64 = 128;

/// Records that an export reads ahead of its receiver.
const EXPORT_RECORDS_AHEAD: usize = 32;

pub(super) struct Readers {
    pool: Arc<Pool>,
    reads: Arc<Semaphore>,
    exports: Arc<Semaphore>,
}

impl Readers {
    /// Opens as many connections as are used at a time, so that reads need no file descriptors
    /// later.
    pub fn open(database: &Path, settings: &StorageSettings) -> Result<Self, StorageError> {
        let pool = Pool {
            database: database.to_owned(),
            page_cache_kib: settings.page_cache_kib_each(),
            idle: Mutex::new(Vec::new()),
        };
        for _ in 0..settings.readers {
            let connection = schema::open_reader(database, pool.page_cache_kib)?;
            // The first read opens the write-ahead log.
            Counters::read(&connection)?;
            pool.idle().push(connection);
        }
        Ok(Self {
            pool: Arc::new(pool),
            reads: Arc::new(Semaphore::new(settings.readers as usize)),
            exports: Arc::new(Semaphore::new(EXPORTS_MAX)),
        })
    }

    /// Reads on this thread: for the start, or for callers that limit their number.
    pub fn read_here<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        self.pool.read(read)
    }

    /// Reads many rows in order on this thread, with a small page cache.
    pub fn scan_here<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        self.pool.read(|connection| {
            connection.pragma_update(None, "cache_size", -SCAN_CACHE_KIB)?;
            let outcome = read(connection)?;
            connection.pragma_update(None, "cache_size", -self.pool.page_cache_kib)?;
            Ok(outcome)
        })
    }

    /// Reads on a blocking thread, at most `readers` at a time.
    pub async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, StorageError> + Send + 'static,
    ) -> Result<T, StorageError> {
        let permit = permit_of(&self.reads).await;
        let pool = Arc::clone(&self.pool);
        let task = spawn_blocking(move || {
            let _permit = permit;
            pool.read(read)
        });
        task.await.unwrap_or_else(|error| Err(closed(error)))
    }

    /// Selects among all documents alive at `now_ms`; stops once the future is dropped.
    pub async fn select(
        &self,
        now_ms: i64,
        matches: impl Fn(&DocumentDetails) -> bool + Send + 'static,
    ) -> Result<Vec<Ordinal>, StorageError> {
        let permit = permit_of(&self.exports).await;
        let pool = Arc::clone(&self.pool);
        let (sender, selected) = oneshot::channel();
        let task = spawn_blocking(move || {
            let _permit = permit;
            let is_cancelled = || sender.is_closed();
            let selected =
                pool.read(|connection| details::select(connection, now_ms, matches, is_cancelled));
            let _ = sender.send(selected);
        });
        match selected.await {
            Ok(selected) => selected,
            Err(_) => Err(task.await.err().map_or(StorageError::Closed, closed)),
        }
    }

    pub async fn export(
        &self,
        detail: Detail,
        order: Order,
        now_ms: i64,
        shingler: &Arc<Shingler>,
    ) -> mpsc::Receiver<Result<Record, StorageError>> {
        let permit = permit_of(&self.exports).await;
        let pool = Arc::clone(&self.pool);
        let (sender, receiver) = mpsc::channel(EXPORT_RECORDS_AHEAD);
        let export = Export { detail, order, now_ms, shingler: Arc::clone(shingler) };
        spawn_blocking(move || {
            let _permit = permit;
            let exported = pool.read(|connection| export.send(connection, &sender));
            if let Err(error) = exported {
                // Sending fails only if the receiver was dropped.
                let _ = sender.blocking_send(Err(error));
            }
        });
        receiver
    }

    pub async fn visit_sets<T: Send + 'static>(
        &self,
        now_ms: i64,
        shingler: &Arc<Shingler>,
        mut state: T,
        mut visit: impl FnMut(&mut T, &SetRow<'_>) -> Visited + Send + 'static,
    ) -> Result<T, StorageError> {
        let (pool, shingler) = (Arc::clone(&self.pool), Arc::clone(shingler));
        // `_waiting` is dropped with this future, which stops the visit.
        let (waited_for, _waiting) = oneshot::channel::<()>();
        let task = spawn_blocking(move || {
            let visit = |row: &SetRow<'_>| match waited_for.is_closed() {
                true => Ok(ControlFlow::Break(())),
                false => visit(&mut state, row),
            };
            pool.read(|connection| {
                match visit_sets(connection, &shingler, 0..i64::MAX, now_ms, visit)? {
                    Some(seen) => Counters::read(connection)?.check_seen(seen),
                    None => Ok(()),
                }
            })?;
            Ok(state)
        });
        task.await.unwrap_or_else(|error| Err(closed(error)))
    }

    /// A long-lived view, on a connection of its own.
    pub async fn view(
        &self,
        now_ms: i64,
        shingler: &Arc<Shingler>,
    ) -> Result<StoreView, StorageError> {
        let (pool, shingler) = (Arc::clone(&self.pool), Arc::clone(shingler));
        let open = move || {
            let connection = schema::open_reader(&pool.database, pool.page_cache_kib)?;
            StoreView::open(connection, now_ms, shingler)
        };
        spawn_blocking(open).await.unwrap_or_else(|error| Err(closed(error)))
    }
}

async fn permit_of(semaphore: &Arc<Semaphore>) -> OwnedSemaphorePermit {
    Arc::clone(semaphore).acquire_owned().await.expect("the semaphores are never closed")
}

/// Maps the failure of a task: the read panicked, or the runtime is shutting down.
fn closed(error: JoinError) -> StorageError {
    match error.try_into_panic() {
        Ok(panic) => resume_unwind(panic),
        Err(_) => StorageError::Closed,
    }
}

struct Pool {
    database: PathBuf,
    page_cache_kib: i64,
    idle: Mutex<Vec<Connection>>,
}

impl Pool {
    /// Reads in one transaction, so that all of `read` sees one state of the database.
    fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        let mut connection = match self.idle().pop() {
            Some(connection) => connection,
            None => schema::open_reader(&self.database, self.page_cache_kib)?,
        };
        let transaction = connection.transaction()?;
        let outcome = read(&transaction)?;
        transaction.finish()?;
        self.idle().push(connection);
        Ok(outcome)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The size of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreSizes {
    pub documents: u64,
    pub database_bytes: u64,
    /// The write-ahead log.
    pub wal_bytes: u64,
}

pub(super) fn records(
    connection: &Connection,
    ordinals: &[Ordinal],
    detail: Detail,
    shingler: &Shingler,
) -> Result<Vec<Option<Record>>, StorageError> {
    let query = format!("SELECT {ALL_COLUMNS} FROM documents WHERE ordinal = ?1");
    let mut statement = connection.prepare_cached(&query)?;
    let record = |ordinal: &Ordinal| {
        let mut rows = statement.query([i64::from(*ordinal)])?;
        rows.next()?.map(|row| record::decode(connection, row, detail, shingler)).transpose()
    };
    ordinals.iter().map(record).collect()
}

pub(super) fn sizes(connection: &Connection, files: &Files) -> Result<StoreSizes, StorageError> {
    let bytes =
        |path: &Path| path.metadata().map(|file| file.len()).map_err(StorageError::io(path));
    Ok(StoreSizes {
        documents: Counters::read(connection)?.documents,
        database_bytes: bytes(&files.database)?,
        wal_bytes: bytes(&files.wal)?,
    })
}

/// The parameters of an export.
struct Export {
    detail: Detail,
    order: Order,
    now_ms: i64,
    shingler: Arc<Shingler>,
}

impl Export {
    /// Sends a corrupt document as an error and continues; any other error ends the export.
    fn send(
        &self,
        connection: &Connection,
        sender: &mpsc::Sender<Result<Record, StorageError>>,
    ) -> Result<(), StorageError> {
        let by = match self.order {
            Order::Stored => "ordinal",
            Order::Id => "id",
        };
        // Sorting whole rows would spill them to a temporary file, so only ordinals are sorted.
        let mut ordinals =
            connection.prepare(&format!("SELECT ordinal FROM documents ORDER BY {by}"))?;
        let mut ordinals = ordinals.query([])?;
        let query = format!("SELECT {ALL_COLUMNS} FROM documents WHERE ordinal = ?1");
        let mut statement = connection.prepare_cached(&query)?;
        let mut seen = 0;
        while let Some(ordinal) = ordinals.next()? {
            let mut rows = statement.query([ordinal.get::<_, i64>(0)?])?;
            let Some(row) = rows.next()? else { continue };
            seen += 1;
            let record = match record::decode(connection, row, self.detail, &self.shingler) {
                Err(error) if !matches!(error, StorageError::CorruptDocument { .. }) => {
                    return Err(error);
                }
                Ok(record) if !record.is_alive(self.now_ms) => continue,
                record => record,
            };
            if sender.blocking_send(record).is_err() {
                return Ok(());
            }
        }
        Counters::read(connection)?.check_seen(seen)
    }
}
