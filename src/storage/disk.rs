//! What the disk has to offer before a write, and whether the files are still in their place after
//! it.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::StorageError;
use super::store::Files;

/// Bytes of the disk of a directory that are free for this process.
///
/// # Errors
/// [`StorageError::Io`].
pub(super) fn free_bytes(dir: &Path) -> Result<u64, StorageError> {
    let disk = rustix::fs::statvfs(dir).map_err(io::Error::from);
    let disk = disk.map_err(StorageError::io(dir))?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// The open files of a store by path and identity. Writes to a file that was removed or replaced
/// succeed, but nothing of them will be found again.
#[derive(Debug)]
pub(super) struct Place {
    files: [(PathBuf, (u64, u64)); 2],
}

impl Place {
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
