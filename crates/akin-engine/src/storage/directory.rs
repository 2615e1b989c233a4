//! Durable directories, and the lock of a directory.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

use super::StorageError;

/// Creates a directory and its missing ancestors durably.
pub(super) fn make(dir: &Path) -> Result<(), StorageError> {
    let missing = |dir: &&Path| !dir.as_os_str().is_empty() && !dir.exists();
    let made = dir.ancestors().take_while(missing).count();
    fs::create_dir_all(dir).map_err(StorageError::io(dir))?;
    let whole = dir.canonicalize().map_err(StorageError::io(dir))?;
    whole.ancestors().skip(1).take(made.max(1)).try_for_each(sync)
}

/// Makes creations and renames in a directory durable.
pub(super) fn sync(dir: &Path) -> Result<(), StorageError> {
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(StorageError::io(dir))
}

/// Opens a regular file with the options. Opening a FIFO would wait for its other end.
pub(super) fn open_regular(path: &Path, options: &OpenOptions) -> io::Result<File> {
    let no_waiting = OFlags::NONBLOCK.bits().cast_signed();
    let file = options.clone().custom_flags(no_waiting).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidData, "it is not a regular file")),
    }
}

/// Reads a regular file of the data directory, which someone else may have made, into memory.
///
/// # Errors
/// It cannot be read, is no regular file, or has more than `bytes_max` bytes.
pub fn read_small(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = open_regular(path, File::options().read(true))?;
    file.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        let reason = format!("it has more than {bytes_max} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
    }
    Ok(bytes)
}

/// Keeps other processes out of a directory until it is dropped.
pub struct DirectoryLock {
    _file: File,
}

/// Creates a directory if it does not exist, and locks it against other processes.
///
/// # Errors
/// [`StorageError::InUse`], [`StorageError::Io`].
pub fn lock_directory(dir: &Path) -> Result<DirectoryLock, StorageError> {
    make(dir)?;
    Ok(DirectoryLock { _file: lock(dir)? })
}

/// Locks a directory that exists, without creating anything in it; `None` if it never was locked.
///
/// # Errors
/// [`StorageError::InUse`], [`StorageError::Io`].
pub fn lock_existing(dir: &Path) -> Result<Option<DirectoryLock>, StorageError> {
    let path = dir.join("lock");
    match open_regular(&path, File::options().read(true)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StorageError::io(&path)(error)),
        Ok(file) => Ok(Some(DirectoryLock { _file: locked(dir, &path, file)? })),
    }
}

/// Locks a directory against other processes for as long as the file is open.
pub(super) fn lock(dir: &Path) -> Result<File, StorageError> {
    let path = dir.join("lock");
    let file = open_regular(&path, File::options().create(true).truncate(false).write(true))
        .map_err(StorageError::io(&path))?;
    locked(dir, &path, file)
}

fn locked(dir: &Path, path: &Path, file: File) -> Result<File, StorageError> {
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StorageError::InUse { dir: dir.to_owned() }),
        Err(TryLockError::Error(source)) => Err(StorageError::io(path)(source)),
    }
}
