//! The directory of snapshots: `00000000000000012345.snapshot` is the one of sequence 12345.

use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};

use super::snapshot_file::{Broken, FORMAT, SnapshotHeader, SnapshotInfo};
use super::snapshot_reader::{self, Opened, SnapshotReader};
use super::{SnapshotWriter, StorageError, directory};

const EXTENSION: &str = "snapshot";

/// A file that is being written.
const PARTIAL: &str = "partial";

/// Snapshots of one collection. All of it blocks.
#[derive(Clone, Debug)]
pub struct Snapshots {
    dir: PathBuf,
    kept: usize,
}

impl Snapshots {
    /// Makes the directory if it is not there, and removes what a crash left half written.
    pub(super) fn open(dir: PathBuf, kept: usize) -> Result<Self, StorageError> {
        directory::make(&dir)?;
        let snapshots = Self { dir, kept };
        for path in snapshots.files()? {
            if path.extension().is_some_and(|extension| extension == PARTIAL) {
                fs::remove_file(&path).map_err(StorageError::io(&path))?;
            }
        }
        Ok(snapshots)
    }

    /// Begins a snapshot. It replaces the one of the same sequence, if there is one.
    ///
    /// # Errors
    /// [`StorageError::Io`], also if one of this sequence is being written already.
    pub fn begin(&self, header: &SnapshotHeader) -> Result<SnapshotWriter, StorageError> {
        SnapshotWriter::create(self.clone(), header)
    }

    /// The snapshots there are, newest first, by what they say of themselves.
    ///
    /// # Errors
    /// [`StorageError::Io`] if the directory cannot be read. A file that cannot is left out.
    pub fn list(&self) -> Result<Vec<SnapshotInfo>, StorageError> {
        let info = |sequence| {
            let path = self.path(sequence);
            snapshot_reader::info(&path).unwrap_or_else(|broken| {
                skip(&path, &broken);
                None
            })
        };
        Ok(self.sequences()?.into_iter().filter_map(info).collect())
    }

    /// The newest snapshot that is whole; broken ones before it are skipped with a warning.
    ///
    /// # Errors
    /// [`StorageError::NewerFormat`] and [`StorageError::OtherSettings`] for a whole snapshot that
    /// is not ours to read; [`StorageError::Io`].
    pub fn newest_good(&self, identity: &str) -> Result<Option<SnapshotReader>, StorageError> {
        for sequence in self.sequences()? {
            let path = self.path(sequence);
            match SnapshotReader::open(&path) {
                Err(broken) => skip(&path, &broken),
                Ok(Opened::NewerFormat(found)) => {
                    return Err(StorageError::NewerFormat { path, found, known: FORMAT });
                }
                Ok(Opened::Whole(reader)) if reader.header().identity == identity => {
                    return Ok(Some(*reader));
                }
                Ok(Opened::Whole(reader)) => {
                    let stored = reader.header().identity.clone();
                    let given = identity.to_owned();
                    return Err(StorageError::OtherSettings { path, stored, given });
                }
            }
        }
        Ok(None)
    }

    pub(super) fn path(&self, sequence: u64) -> PathBuf {
        self.dir.join(format!("{sequence:020}.{EXTENSION}"))
    }

    pub(super) fn partial_path(&self, sequence: u64) -> PathBuf {
        self.dir.join(format!("{sequence:020}.{EXTENSION}.{PARTIAL}"))
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(super) fn remove_old(&self) -> Result<(), StorageError> {
        for sequence in self.sequences()?.into_iter().skip(self.kept) {
            let path = self.path(sequence);
            fs::remove_file(&path).map_err(StorageError::io(&path))?;
        }
        Ok(())
    }

    /// Of the finished snapshots, newest first.
    fn sequences(&self) -> Result<Vec<u64>, StorageError> {
        let files = self.files()?;
        let mut sequences: Vec<u64> = files.iter().filter_map(|path| sequence_of(path)).collect();
        sequences.sort_unstable_by(|a, b| b.cmp(a));
        Ok(sequences)
    }

    fn files(&self) -> Result<Vec<PathBuf>, StorageError> {
        let files = fs::read_dir(&self.dir).map_err(StorageError::io(&self.dir))?;
        let path = |file: io::Result<DirEntry>| Ok(file?.path());
        files.map(path).collect::<io::Result<_>>().map_err(StorageError::io(&self.dir))
    }
}

fn sequence_of(path: &Path) -> Option<u64> {
    let named = path.extension()? == EXTENSION;
    let digits = path.file_stem()?.to_str().filter(|stem| stem.len() == 20)?;
    digits.parse().ok().filter(|_| named)
}

fn skip(path: &Path, broken: &Broken) {
    tracing::warn!(path = %path.display(), reason = %broken, "a broken snapshot is skipped");
}
