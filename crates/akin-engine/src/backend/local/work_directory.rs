//! A directory for unfinished work.

use std::path::{Path, PathBuf};
use std::{fs, io};

use super::files::failed;
use crate::backend::BackendError;

/// A directory for unfinished work, deleted when this is dropped.
pub(crate) struct WorkDirectory(PathBuf);

impl WorkDirectory {
    /// Creates the directory, in place of a directory that a crash left behind.
    pub fn create(dir: PathBuf) -> Result<Self, BackendError> {
        let created = remove_directory(&dir).and_then(|()| fs::create_dir(&dir));
        created.map_err(failed(&dir)).map(|()| Self(dir))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for WorkDirectory {
    fn drop(&mut self) {
        if let Err(error) = remove_directory(&self.0) {
            let dir = self.0.display();
            tracing::warn!(%dir, %error, "cannot delete a directory; the next attempt retries");
        }
    }
}

/// Deletes a directory, if it exists.
pub(crate) fn remove_directory(dir: &Path) -> io::Result<()> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
