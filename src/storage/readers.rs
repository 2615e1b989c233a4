//! Reads while writes go on: a few connections, each used by one blocking task at a time.

use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::{JoinError, spawn_blocking};

use super::columns::{Columns, FILING_COLUMNS, FilingPart, SET_COLUMNS, SetPart};
use super::counters::Counters;
use super::record::{Order, Part, Record};
use super::store::Files;
use super::{StorageError, StorageSettings, log, schema};
use crate::document::{DocumentId, Metadata, Ordinal};

/// Exports that may be under way at once; each keeps the write-ahead log from being cut.
const EXPORTS_MAX: usize = 4;

/// Records that an export reads ahead of its receiver.
const EXPORT_RECORDS_AHEAD: usize = 32;

pub(super) struct Readers {
    pool: Arc<Pool>,
    reads: Arc<Semaphore>,
    exports: Arc<Semaphore>,
}

impl Readers {
    pub fn new(database: &Path, settings: &StorageSettings) -> Self {
        let pool = Pool {
            database: database.to_owned(),
            page_cache_kib: settings.page_cache_kib_each(),
            idle: Mutex::new(Vec::new()),
        };
        Self {
            pool: Arc::new(pool),
            reads: Arc::new(Semaphore::new(settings.readers as usize)),
            exports: Arc::new(Semaphore::new(EXPORTS_MAX)),
        }
    }

    /// Reads on this thread: for the start, when nothing else reads.
    pub fn read_here<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        self.pool.read(read)
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

    pub async fn export(&self, order: Order) -> mpsc::Receiver<Result<Record, StorageError>> {
        let permit = permit_of(&self.exports).await;
        let pool = Arc::clone(&self.pool);
        let (sender, receiver) = mpsc::channel(EXPORT_RECORDS_AHEAD);
        spawn_blocking(move || {
            let _permit = permit;
            let exported = pool.read(|connection| export(connection, order, &sender));
            if let Err(error) = exported {
                // A receiver that has gone away needs no error.
                let _ = sender.blocking_send(Err(error));
            }
        });
        receiver
    }
}

async fn permit_of(semaphore: &Arc<Semaphore>) -> OwnedSemaphorePermit {
    Arc::clone(semaphore).acquire_owned().await.expect("the semaphores are never closed")
}

/// A task that did not end by itself: the read panicked, or the runtime is shutting down.
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

/// What a store takes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreSizes {
    pub documents: u64,
    pub database_bytes: u64,
    /// The write-ahead log.
    pub wal_bytes: u64,
    /// Operations kept for recovery, until they are trimmed.
    pub log_rows: u64,
}

pub(super) fn records(
    connection: &Connection,
    ordinals: &[Ordinal],
    part: Part,
) -> Result<Vec<Option<Record>>, StorageError> {
    let query = format!("SELECT {} FROM documents WHERE ordinal = ?1", part.columns());
    let mut statement = connection.prepare_cached(&query)?;
    let record = |ordinal: &Ordinal| {
        let mut rows = statement.query([ordinal.0])?;
        rows.next()?.map(|row| Record::decode(row, part)).transpose()
    };
    ordinals.iter().map(record).collect()
}

pub(super) fn metadata(
    connection: &Connection,
    ordinals: &[Ordinal],
) -> Result<Vec<Option<Metadata>>, StorageError> {
    let query = format!("SELECT {SET_COLUMNS} FROM documents WHERE ordinal = ?1");
    let mut statement = connection.prepare_cached(&query)?;
    let metadata = |ordinal: &Ordinal| {
        let mut rows = statement.query([ordinal.0])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        let columns = Columns::new(row)?;
        SetPart::read(&columns)?.metadata(&columns)
    };
    ordinals.iter().map(metadata).collect()
}

pub(super) fn record_by_id(
    connection: &Connection,
    id: &DocumentId,
) -> Result<Option<Record>, StorageError> {
    let query = format!("SELECT {} FROM documents WHERE id = ?1", Part::All.columns());
    let mut statement = connection.prepare_cached(&query)?;
    let mut rows = statement.query([id.as_str()])?;
    rows.next()?.map(|row| Record::decode(row, Part::All)).transpose()
}

/// Reads the filing part for each id, so that an id is checked before it is given out.
pub(super) fn ids(
    connection: &Connection,
    after: Option<&DocumentId>,
    limit: u32,
) -> Result<Vec<DocumentId>, StorageError> {
    let query =
        format!("SELECT {FILING_COLUMNS} FROM documents WHERE id > ?1 ORDER BY id LIMIT ?2");
    let mut statement = connection.prepare_cached(&query)?;
    let after = after.map_or("", DocumentId::as_str);
    let mut rows = statement.query(rusqlite::params![after, limit])?;
    let mut ids = Vec::new();
    while let Some(row) = rows.next()? {
        let columns = Columns::new(row)?;
        ids.push(FilingPart::read(&columns)?.document_id(&columns)?);
    }
    Ok(ids)
}

pub(super) fn sizes(connection: &Connection, files: &Files) -> Result<StoreSizes, StorageError> {
    let bytes =
        |path: &Path| path.metadata().map(|file| file.len()).map_err(StorageError::io(path));
    let counters = Counters::read(connection)?;
    let kept_after = log::kept_after(connection, counters.last_sequence)?;
    Ok(StoreSizes {
        documents: counters.documents,
        database_bytes: bytes(&files.database)?,
        wal_bytes: bytes(&files.wal)?,
        log_rows: counters.last_sequence - kept_after,
    })
}

/// A corrupt document does not hide the others; any other error ends the export.
fn export(
    connection: &Connection,
    order: Order,
    sender: &mpsc::Sender<Result<Record, StorageError>>,
) -> Result<(), StorageError> {
    let by = match order {
        Order::Stored => "ordinal",
        Order::Id => "id",
    };
    let query = format!("SELECT {} FROM documents ORDER BY {by}", Part::All.columns());
    let mut statement = connection.prepare_cached(&query)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let record = match Record::decode(row, Part::All) {
            Err(error) if !matches!(error, StorageError::CorruptDocument { .. }) => {
                return Err(error);
            }
            record => record,
        };
        if sender.blocking_send(record).is_err() {
            return Ok(());
        }
    }
    Ok(())
}
