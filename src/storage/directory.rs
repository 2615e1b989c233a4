//! Directories that survive a power cut, and the lock on one.

use std::fs::{self, File, TryLockError};
use std::path::Path;

use super::StorageError;

/// Makes a directory, and those above it that are missing, whose names survive a power cut.
pub(super) fn make(dir: &Path) -> Result<(), StorageError> {
    let missing = |dir: &&Path| !dir.as_os_str().is_empty() && !dir.exists();
    let made = dir.ancestors().take_while(missing).count();
    fs::create_dir_all(dir).map_err(StorageError::io(dir))?;
    let whole = dir.canonicalize().map_err(StorageError::io(dir))?;
    whole.ancestors().skip(1).take(made.max(1)).try_for_each(sync)
}

/// Makes what was created or renamed in a directory survive a power cut.
pub(super) fn sync(dir: &Path) -> Result<(), StorageError> {
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(StorageError::io(dir))
}

/// Keeps other processes out of a directory until it is dropped.
pub struct DirectoryLock {
    _file: File,
}

/// Makes a directory, if it is not there, and keeps the stores of other processes out of it.
///
/// # Errors
/// [`StorageError::InUse`], [`StorageError::Io`].
pub fn lock_directory(dir: &Path) -> Result<DirectoryLock, StorageError> {
    make(dir)?;
    Ok(DirectoryLock { _file: lock(dir)? })
}

/// Keeps other processes out for as long as the file is open.
pub(super) fn lock(dir: &Path) -> Result<File, StorageError> {
    let path = dir.join("lock");
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(StorageError::io(&path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StorageError::InUse { dir: dir.to_owned() }),
        Err(TryLockError::Error(source)) => Err(StorageError::Io { path, source }),
    }
}
