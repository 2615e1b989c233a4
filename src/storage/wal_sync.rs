//! Syncs the write-ahead log, which commits do not by themselves: others can go on meanwhile.
//!
//! SQLite's locks are on its other files, so opening this one beside it does not undo them.

use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;

use tokio::time::Instant;

use super::StorageError;

/// The write-ahead log as a file that can be synced.
pub(super) struct Wal {
    path: PathBuf,
    /// Once it was needed: the database makes it with its first commit.
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

/// Knows when a commit has to be synced at the latest.
pub(super) struct WalSync {
    wal: Wal,
    interval: Duration,
    /// For the oldest commit that is not synced; `None` when all are.
    due: Option<Instant>,
}

impl WalSync {
    pub fn new(wal: Wal, interval: Duration) -> Self {
        Self { wal, interval, due: None }
    }

    /// When to sync; `None` while there is nothing to.
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
