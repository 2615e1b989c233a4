//! The directory of snapshots: `00000000000000012345.snapshot` was taken at sequence 12345.

use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};

use super::snapshot_file::{BrokenSnapshot, FORMAT, SnapshotHeader};
use super::snapshot_reader::{self, SnapshotReader};
use super::{SnapshotWriter, StorageError, directory, schema};
use akin_model::stats::SnapshotInfo;

/// The newest, and the snapshot before it, in case the newest cannot be read.
pub const SNAPSHOTS_KEPT: usize = 2;

const EXTENSION: &str = "snapshot";

/// The extension of an unfinished file.
const PARTIAL: &str = "partial";

/// The snapshots of a collection. All methods block.
#[derive(Clone, Debug)]
pub struct Snapshots {
    dir: PathBuf,
}

impl Snapshots {
    /// Creates the directory if it does not exist, and removes unfinished snapshots.
    pub(super) fn open(dir: PathBuf) -> Result<Self, StorageError> {
        directory::make(&dir)?;
        let snapshots = Self { dir };
        for path in snapshots.partial_files() {
            fs::remove_file(&path).map_err(StorageError::io(&path))?;
        }
        Ok(snapshots)
    }

    /// The snapshots of a directory that is only read, and may not exist.
    pub(super) fn unopened(dir: PathBuf) -> Self {
        Self { dir }
    }

    pub(super) fn partial_files(&self) -> Vec<PathBuf> {
        let mut files = self.files().unwrap_or_default();
        files.retain(|path| path.extension().is_some_and(|extension| extension == PARTIAL));
        files
    }

    pub(super) fn whole_files(&self) -> Vec<PathBuf> {
        let sequences = self.sequences().unwrap_or_default();
        sequences.into_iter().map(|sequence| self.path(sequence)).collect()
    }

    /// Begins a snapshot. It replaces an existing snapshot of the same sequence.
    ///
    /// # Errors
    /// [`StorageError::Io`], also if a snapshot of this sequence is being written already.
    pub fn begin(&self, header: &SnapshotHeader) -> Result<SnapshotWriter, StorageError> {
        SnapshotWriter::create(self.clone(), header)
    }

    /// Lists the snapshots, newest first, by their headers and ends.
    ///
    /// # Errors
    /// [`StorageError::Io`] if the directory cannot be read. Unreadable files are skipped.
    pub fn list(&self) -> Result<Vec<SnapshotInfo>, StorageError> {
        let info = |sequence| {
            let path = self.path(sequence);
            snapshot_reader::info(&path).inspect_err(|broken| skip(&path, broken)).ok()
        };
        Ok(self.sequences()?.into_iter().filter_map(info).collect())
    }

    /// The readable snapshots, newest first; broken snapshots are skipped with a warning. Sections
    /// are verified only when they are read.
    ///
    /// # Errors
    /// [`StorageError::Io`]; and as an item [`StorageError::OtherFormat`] or
    /// [`StorageError::OtherSettings`] for an intact snapshot of another format or settings.
    pub fn readable(
        &self,
        identity: &str,
    ) -> Result<impl Iterator<Item = Result<SnapshotReader, StorageError>>, StorageError> {
        let paths = self.sequences()?.into_iter().map(|sequence| self.path(sequence));
        Ok(paths.filter_map(move |path| match SnapshotReader::open(&path) {
            Err(BrokenSnapshot::OtherFormat(found)) => {
                Some(Err(StorageError::OtherFormat { path, found, known: FORMAT }))
            }
            Err(broken) => {
                skip(&path, &broken);
                None
            }
            Ok(reader) => Some(
                schema::check_same(&reader.header().identity, &path, identity).map(|()| reader),
            ),
        }))
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
        for sequence in self.sequences()?.into_iter().skip(SNAPSHOTS_KEPT) {
            let path = self.path(sequence);
            fs::remove_file(&path).map_err(StorageError::io(&path))?;
        }
        Ok(())
    }

    /// The sequences of finished snapshots, newest first.
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

fn skip(path: &Path, broken: &BrokenSnapshot) {
    tracing::warn!(path = %path.display(), reason = %broken, "skipping a broken snapshot");
}
