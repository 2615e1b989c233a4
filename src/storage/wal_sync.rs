//! Syncs the write-ahead log separately from commits, so that commits can continue meanwhile.
//!
//! SQLite's POSIX locks are on its other files, so closing this file does not release them.

use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;

use tokio::time::Instant;

use super::StorageError;

/// The write-ahead log as a file that can be synced.
pub(super) struct Wal {
    path: PathBuf,
    /// Opened at the first sync, because SQLite creates the file with its first commit.
    file: Option<File>,
}

impl Wal {
    pub fn new(path: PathBuf) -> Self {
        Self { path, file: None }
    }

    pub fn sync(&mut self) -> Result<(), StorageError> {
        let file = match self.file.take() {
            Some(file) => file,
            None => File::open(&self.path).map_err(StorageError::io(&self.path))?,
        };
        file.sync_data().map_err(StorageError::io(&self.path))?;
        self.file = Some(file);
        Ok(())
    }
}

/// Syncs commits at the latest `interval` after them.
pub(super) struct WalSync {
    wal: Wal,
    interval: Duration,
    /// The deadline of the oldest unsynced commit; `None` when all are synced.
    due: Option<Instant>,
}

impl WalSync {
    pub fn new(wal: Wal, interval: Duration) -> Self {
        Self { wal, interval, due: None }
    }

    /// When to sync; `None` if everything is synced.
    pub fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Notes a commit that is not synced yet.
    pub fn committed(&mut self) {
        self.due.get_or_insert_with(|| Instant::now() + self.interval);
    }

    pub fn sync(&mut self) -> Result<(), StorageError> {
        if self.due.is_none() {
            return Ok(());
        }
        self.wal.sync()?;
        self.due = None;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_commit_sets_the_time_and_a_sync_clears_it() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut wal = WalSync::new(Wal::new(file.path().to_owned()), Duration::from_secs(60));
        assert_eq!(wal.due(), None);
        wal.committed();
        let due = wal.due().unwrap();
        wal.committed();
        assert_eq!(wal.due(), Some(due));
        wal.sync().unwrap();
        assert_eq!(wal.due(), None);
    }
}
