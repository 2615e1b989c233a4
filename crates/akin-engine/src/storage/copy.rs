//! Copies the database for a backup while the store is in use.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use rusqlite::InterruptHandle;

use super::record;
use super::room::DatabasePages;
use super::{StorageError, Store, disk, schema, verify};
use crate::stored::Detail;

/// The file name of an unfinished copy. The next start removes a copy that a crash left behind.
const NAME: &str = "copy.sqlite";

/// Page cache while copying, which reads each page once.
const PAGE_CACHE_KIB: i64 = 4096;

/// Cancels a copy in progress.
#[derive(Default)]
pub struct CopyStop {
    stopped: AtomicBool,
    copying: Mutex<Option<InterruptHandle>>,
}

impl CopyStop {
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        if let Some(copying) = &*self.copying.lock() {
            copying.interrupt();
        }
    }

    /// # Errors
    /// [`StorageError::Closed`] if it was cancelled before.
    fn set(&self, copying: InterruptHandle) -> Result<(), StorageError> {
        *self.copying.lock() = Some(copying);
        if self.stopped.load(Ordering::SeqCst) { Err(StorageError::Closed) } else { Ok(()) }
    }
}

impl Store {
    /// Checks that the disk has room for the reserve and a copy, which has no unused pages.
    ///
    /// # Errors
    /// [`StorageError::NoRoom`] if it does not, [`StorageError::Io`], [`StorageError::Database`].
    pub fn check_room_for_copy(&self) -> Result<(), StorageError> {
        let size = |path: &Path| path.metadata().map_or(0, |file| file.len());
        let all = size(&self.files.database) + size(&self.files.wal);
        let unused = self.readers.read_here(DatabasePages::read)?.unused_bytes();
        self.check_room("a copy of the store", all.saturating_sub(unused))
    }

    /// Checks that the disk has room for the reserve and a file of so many bytes.
    ///
    /// # Errors
    /// [`StorageError::NoRoom`] if it does not, [`StorageError::Io`].
    pub fn check_room(&self, what: &'static str, bytes: u64) -> Result<(), StorageError> {
        disk::check_room(self.dir(), what, bytes, self.disk_free_min_bytes)
    }

    /// Copies a single state of the database, without its unused pages, to an unlinked file; its
    /// space is freed once it is closed. Blocks; only one copy is made at a time, and writes
    /// continue during it. Verifies the checksums of every row, because a copy of a damaged row
    /// could not be restored.
    ///
    /// # Errors
    /// [`StorageError::Database`]: the disk is full, or the copy was cancelled;
    /// [`StorageError::CorruptDocument`], [`StorageError::Corrupt`].
    pub fn copy(&self, stop: &CopyStop) -> Result<File, StorageError> {
        let _one_at_a_time = self.copying.lock();
        let path = self.dir().join(NAME);
        remove_if_exists(&path)?;
        let unfinished = UnfinishedCopy(path.clone());
        let connection = schema::open_reader(&self.files.database, PAGE_CACHE_KIB)?;
        stop.set(connection.get_interrupt_handle())?;
        let target = path.to_str().ok_or_else(|| {
            let source = io::Error::other("the path is not UTF-8");
            StorageError::Io { path: path.clone(), source }
        })?;
        connection.execute("VACUUM INTO ?1", [target])?;
        let copied = schema::open_reader(&path, PAGE_CACHE_KIB)?;
        stop.set(copied.get_interrupt_handle())?;
        verify::check_rows(&copied, |row| {
            record::decode(row, Detail::Content, &self.shingler).map(drop)
        })?;
        drop(copied);
        let file = File::open(&path).map_err(StorageError::io(&path))?;
        drop(unfinished);
        Ok(file)
    }

    fn dir(&self) -> &Path {
        self.files.dir()
    }
}

/// Unlinks a copy when dropped, whether it is complete or not.
struct UnfinishedCopy(PathBuf);

impl Drop for UnfinishedCopy {
    fn drop(&mut self) {
        if let Err(error) = remove_if_exists(&self.0) {
            tracing::warn!(%error, "could not delete copy.sqlite; the next start deletes it");
        }
    }
}

/// Removes a copy that a crash left behind.
pub(super) fn clear(dir: &Path) -> Result<(), StorageError> {
    remove_if_exists(&dir.join(NAME))
}

fn remove_if_exists(path: &Path) -> Result<(), StorageError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StorageError::io(path)(error)),
        _ => Ok(()),
    }
}
