//! A copy of the database for a backup, made while everything goes on.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::InterruptHandle;

use super::record::{Detail, Record};
use super::{StorageError, Store, schema, verify};

/// What a copy is called while it is made: one that a crash left is removed by the next start.
const NAME: &str = "copy.sqlite";

/// Memory for database pages while copying, which reads each of them once.
const PAGE_CACHE_KIB: i64 = 4096;

/// Tells a copy under way that nobody wants it any more.
#[derive(Default)]
pub struct CopyStop {
    stopped: AtomicBool,
    copying: Mutex<Option<InterruptHandle>>,
}

impl CopyStop {
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        if let Some(copying) = &*self.copying() {
            copying.interrupt();
        }
    }

    /// # Errors
    /// [`StorageError::Closed`] if it was told to stop before.
    fn set(&self, copying: InterruptHandle) -> Result<(), StorageError> {
        *self.copying() = Some(copying);
        if self.stopped.load(Ordering::SeqCst) { Err(StorageError::Closed) } else { Ok(()) }
    }

    fn copying(&self) -> MutexGuard<'_, Option<InterruptHandle>> {
        self.copying.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store {
    /// Whether the disk has room for a copy.
    ///
    /// # Errors
    /// [`StorageError::NoRoom`] if it does not, [`StorageError::Io`].
    pub fn check_room_for_copy(&self) -> Result<(), StorageError> {
        let dir = self.dir();
        let size = |path: &Path| path.metadata().map_or(0, |file| file.len());
        let needed_bytes = size(&self.files.database) + size(&self.files.wal);
        let disk = rustix::fs::statvfs(dir).map_err(io::Error::from);
        let disk = disk.map_err(StorageError::io(dir))?;
        let free_bytes = disk.f_bavail.saturating_mul(disk.f_frsize);
        if free_bytes < needed_bytes {
            let dir = dir.to_owned();
            return Err(StorageError::NoRoom { dir, needed_bytes, free_bytes });
        }
        Ok(())
    }

    /// One state of the database as a database of its own, without what is not used in it. The
    /// file has no name any more: its space is free again once it is closed. Blocks while it is
    /// made, one at a time; writes go on meanwhile. Every row of it is read by its checksums, as a
    /// copy of a damaged row could not be restored.
    ///
    /// # Errors
    /// [`StorageError::Database`]: the disk is full, or it was told to stop;
    /// [`StorageError::CorruptDocument`], [`StorageError::Corrupt`].
    pub fn copy(&self, stop: &CopyStop) -> Result<File, StorageError> {
        let _one_at_a_time = self.copying.lock().unwrap_or_else(PoisonError::into_inner);
        let path = self.dir().join(NAME);
        remove_if_there(&path)?;
        let unfinished = Unfinished(path.clone());
        let connection = schema::open_reader(&self.files.database, PAGE_CACHE_KIB)?;
        stop.set(connection.get_interrupt_handle())?;
        let target = path.to_str().ok_or_else(|| {
            let source = io::Error::other("the path is not UTF-8");
            StorageError::Io { path: path.clone(), source }
        })?;
        connection.execute("VACUUM INTO ?1", [target])?;
        let copied = schema::open_reader(&path, PAGE_CACHE_KIB)?;
        stop.set(copied.get_interrupt_handle())?;
        verify::check_rows(&copied, |connection, row| {
            Record::decode(connection, row, Detail::Content, &self.shingler).map(drop)
        })?;
        drop(copied);
        let file = File::open(&path).map_err(StorageError::io(&path))?;
        drop(unfinished);
        Ok(file)
    }

    fn dir(&self) -> &Path {
        self.files.database.parent().expect("the database is in a directory")
    }
}

/// Takes the name of a copy away, whatever became of it.
struct Unfinished(PathBuf);

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Err(error) = remove_if_there(&self.0) {
            tracing::warn!(%error, "the next start removes it");
        }
    }
}

/// Removes what a crash left of a copy.
pub(super) fn clear(dir: &Path) -> Result<(), StorageError> {
    remove_if_there(&dir.join(NAME))
}

fn remove_if_there(path: &Path) -> Result<(), StorageError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StorageError::io(path)(error)),
        _ => Ok(()),
    }
}
