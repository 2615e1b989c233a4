//! Syncs the write-ahead log separately from commits, so that commits can continue during the sync.
//!
//! SQLite's POSIX locks are on its other files, so closing this file does not release them.

use std::fs::File;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::StorageError;
use super::acknowledged::Mark;
use super::disk::OpenFiles;
use super::store::Files;

/// The write-ahead log as a file that can be synced. Open from the start, so that a write needs no
/// file descriptor.
pub(super) struct Wal {
    path: PathBuf,
    file: File,
    files: OpenFiles,
    mark: Mark,
}

impl Wal {
    /// The writer must be open: it creates the file.
    pub fn open(files: &Files, mark: Mark) -> Result<Self, StorageError> {
        let path = files.wal.clone();
        let file = File::open(&path).map_err(StorageError::io(&path))?;
        Ok(Self { path, file, files: OpenFiles::of(files)?, mark })
    }

    /// Makes commits durable, the last of which has the sequence.
    ///
    /// # Errors
    /// [`StorageError::Io`], after which no unsynced write may be acknowledged: a second sync would
    /// succeed although the first sync has lost writes; [`StorageError::Moved`].
    pub fn sync(&mut self, sequence: u64) -> Result<(), StorageError> {
        self.file.sync_data().map_err(StorageError::io(&self.path))?;
        self.files.check()?;
        self.mark.write(sequence);
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

    /// Syncs everything committed, the last of which has the sequence.
    pub fn sync(&mut self, sequence: u64) -> Result<(), StorageError> {
        if self.due.is_none() {
            return Ok(());
        }
        self.wal.sync(sequence)?;
        self.due = None;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sync_deadline_is_that_of_the_oldest_commit() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::of(dir.path());
        for file in [&files.database, &files.wal] {
            std::fs::write(file, "").unwrap();
        }
        let wal = Wal::open(&files, Mark::open(dir.path(), 0, 0).unwrap()).unwrap();
        let mut wal = WalSync::new(wal, Duration::from_secs(60));
        assert_eq!(wal.due(), None);
        wal.committed();
        let due = wal.due().unwrap();
        wal.committed();
        assert_eq!(wal.due(), Some(due));
        wal.sync(1).unwrap();
        assert_eq!(wal.due(), None);
    }
}
