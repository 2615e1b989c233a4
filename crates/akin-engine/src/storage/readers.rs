//! A pool of read connections, concurrent with writes. A connection is used by one blocking task at
//! a time.

use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use rusqlite::Connection;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::task::{JoinError, spawn_blocking};

use super::counters::Counters;
use super::details;
use super::record;
use super::row::{ALL_COLUMNS, by_ordinals};
use super::sets::{SetRow, Visited, visit_sets};
use super::{StorageError, StorageSettings, Store, StoreView, schema};
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
            pool.idle.lock().push(connection);
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
        let read = move || {
            let _permit = permit;
            pool.read(read)
        };
        blocking(read).await
    }
}

impl Store {
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
        let read = move |connection: &Connection| records(connection, &ordinals, detail, &shingler);
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
        let read =
            |connection: &Connection| records(connection, &[ordinal], detail, &self.shingler);
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
        let permit = permit_of(&self.readers.exports).await;
        let pool = Arc::clone(&self.readers.pool);
        // `_waiting` is dropped with this future, which ends the reading.
        let (waited_for, _waiting) = oneshot::channel::<()>();
        let select = move || {
            let _permit = permit;
            let is_cancelled = || waited_for.is_closed();
            pool.read(|connection| details::select(connection, now_ms, matches, is_cancelled))
        };
        blocking(select).await
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
        let permit = permit_of(&self.readers.exports).await;
        let pool = Arc::clone(&self.readers.pool);
        let (sender, receiver) = mpsc::channel(EXPORT_RECORDS_AHEAD);
        let shingler = Arc::clone(&self.shingler);
        spawn_blocking(move || {
            let _permit = permit;
            let exported = pool.read(|connection| {
                send_records(connection, detail, order, now_ms, &shingler, &sender)
            });
            if let Err(error) = exported {
                // Sending fails only if the receiver was dropped.
                let _ = sender.blocking_send(Err(error));
            }
        });
        receiver
    }

    /// Visits the sets of all documents alive at `now_ms` (milliseconds since the epoch) by
    /// ordinal, in a single state of the store, on a blocking thread. Stops once the future is
    /// dropped. The caller limits the number of concurrent visits.
    ///
    /// # Errors
    /// [`StorageError::Corrupt`], [`StorageError::Database`]
    pub async fn visit_sets<T: Send + 'static>(
        &self,
        now_ms: i64,
        mut state: T,
        mut visit: impl FnMut(&mut T, &SetRow<'_>) -> Visited + Send + 'static,
    ) -> Result<T, StorageError> {
        let (pool, shingler) = (Arc::clone(&self.readers.pool), Arc::clone(&self.shingler));
        // `_waiting` is dropped with this future, which stops the visit.
        let (waited_for, _waiting) = oneshot::channel::<()>();
        let visit_all = move || {
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
        };
        blocking(visit_all).await
    }

    /// A consistent view of all documents alive at `now_ms` (milliseconds since the epoch), on a
    /// connection of its own. The caller limits the number of concurrent views.
    ///
    /// # Errors
    /// [`StorageError::Database`], [`StorageError::Corrupt`].
    pub async fn view(&self, now_ms: i64) -> Result<StoreView, StorageError> {
        let (pool, shingler) = (Arc::clone(&self.readers.pool), Arc::clone(&self.shingler));
        let open = move || {
            let connection = schema::open_reader(&pool.database, pool.page_cache_kib)?;
            StoreView::open(connection, now_ms, shingler)
        };
        blocking(open).await
    }

    /// The bytes of the database, and of its write-ahead log.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub async fn sizes(&self) -> Result<(u64, u64), StorageError> {
        let files = self.files.clone();
        blocking(move || {
            let bytes = |path: &Path| {
                path.metadata().map(|file| file.len()).map_err(StorageError::io(path))
            };
            Ok((bytes(&files.database)?, bytes(&files.wal)?))
        })
        .await
    }
}

async fn permit_of(semaphore: &Arc<Semaphore>) -> OwnedSemaphorePermit {
    Arc::clone(semaphore).acquire_owned().await.expect("the semaphores are never closed")
}

/// Reads on a blocking thread. Fails if the runtime is shutting down.
async fn blocking<T: Send + 'static>(
    read: impl FnOnce() -> Result<T, StorageError> + Send + 'static,
) -> Result<T, StorageError> {
    let failed = |error: JoinError| match error.try_into_panic() {
        Ok(panic) => resume_unwind(panic),
        Err(_) => Err(StorageError::Closed),
    };
    spawn_blocking(read).await.unwrap_or_else(failed)
}

struct Pool {
    database: PathBuf,
    page_cache_kib: i64,
    idle: Mutex<Vec<Connection>>,
}

impl Pool {
    /// Reads in one transaction, so that `read` sees a single state of the database.
    fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        let connection = match self.idle.lock().pop() {
            Some(connection) => connection,
            None => schema::open_reader(&self.database, self.page_cache_kib)?,
        };
        let outcome = schema::in_transaction(&connection, "BEGIN", read)?;
        self.idle.lock().push(connection);
        Ok(outcome)
    }
}

fn records(
    connection: &Connection,
    ordinals: &[Ordinal],
    detail: Detail,
    shingler: &Shingler,
) -> Result<Vec<Option<Record>>, StorageError> {
    by_ordinals(connection, ALL_COLUMNS, ordinals, |row| record::decode(row, detail, shingler))
}

/// Sends the documents of an export. A corrupt document is sent as an error; any other error ends
/// the export.
fn send_records(
    connection: &Connection,
    detail: Detail,
    order: Order,
    now_ms: i64,
    shingler: &Shingler,
    sender: &mpsc::Sender<Result<Record, StorageError>>,
) -> Result<(), StorageError> {
    let by = match order {
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
        let record = match record::decode(row, detail, shingler) {
            Err(error) if !matches!(error, StorageError::CorruptDocument { .. }) => {
                return Err(error);
            }
            Ok(record) if !record.is_alive(now_ms) => continue,
            record => record,
        };
        if sender.blocking_send(record).is_err() {
            return Ok(());
        }
    }
    Counters::read(connection)?.check_seen(seen)
}
