//! Checks the free space of the disk before a write, and the identity of the open files after it.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::StorageError;
use super::store::Files;

/// Bytes of the disk of a directory that are free for this process.
///
/// # Errors
/// [`StorageError::Io`].
pub fn free_bytes(dir: &Path) -> Result<u64, StorageError> {
    let disk = rustix::fs::statvfs(dir).map_err(io::Error::from);
    let disk = disk.map_err(StorageError::io(dir))?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Checks that the disk of a directory has room for a reserve and a further file of so many bytes.
///
/// # Errors
/// [`StorageError::NoRoom`] if it does not, [`StorageError::Io`].
pub fn check_room(
    dir: &Path,
    what: &'static str,
    bytes: u64,
    reserve_bytes: u64,
) -> Result<(), StorageError> {
    let (free_bytes, needed_bytes) = (free_bytes(dir)?, bytes.saturating_add(reserve_bytes));
    if free_bytes >= needed_bytes {
        return Ok(());
    }
    Err(StorageError::NoRoom { what, dir: dir.to_owned(), needed_bytes, free_bytes })
}

/// The open files of a store by path and identity. Writes to a removed or replaced file succeed,
/// but no start finds them.
#[derive(Debug)]
pub(super) struct OpenFiles {
    files: [(PathBuf, (u64, u64)); 2],
}

impl OpenFiles {
    pub fn of(files: &Files) -> Result<Self, StorageError> {
        let identified = |path: &PathBuf| {
            let identity = identity(path).map_err(StorageError::io(path))?;
            Ok::<_, StorageError>((path.clone(), identity))
        };
        Ok(Self { files: [identified(&files.database)?, identified(&files.wal)?] })
    }

    /// # Errors
    /// [`StorageError::Moved`].
    pub fn check(&self) -> Result<(), StorageError> {
        let is_moved = |(path, known): &&(PathBuf, _)| identity(path).ok() != Some(*known);
        match self.files.iter().find(is_moved) {
            Some((path, _)) => Err(StorageError::Moved { path: path.clone() }),
            None => Ok(()),
        }
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    path.metadata().map(|file| (file.dev(), file.ino()))
}
