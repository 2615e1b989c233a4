//! Writes a snapshot beside its final name, which it gets only once all of it is on the disk.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::Xxh3;

use super::snapshot::Snapshots;
use super::snapshot_file::{
    BUFFER_BYTES, Footer, HAS_METADATA, SnapshotEntry, SnapshotHeader, SnapshotInfo,
};
use super::{StorageError, directory};

/// Takes the entries of a snapshot. Dropped before [`SnapshotWriter::finish`], it leaves nothing.
pub struct SnapshotWriter {
    snapshots: Snapshots,
    partial: PartialFile,
    file: File,
    /// What is neither hashed nor written yet.
    buffer: Vec<u8>,
    hasher: Xxh3,
    sketch_bytes: usize,
    info: SnapshotInfo,
    entries: u64,
}

impl SnapshotWriter {
    pub(super) fn create(
        snapshots: Snapshots,
        header: &SnapshotHeader,
    ) -> Result<Self, StorageError> {
        let path = snapshots.partial_path(header.sequence);
        let file = File::create_new(&path).map_err(StorageError::io(&path))?;
        let mut buffer = Vec::with_capacity(BUFFER_BYTES + BUFFER_BYTES / 4);
        buffer.extend_from_slice(&header.encode());
        let info = SnapshotInfo {
            sequence: header.sequence,
            created_at_ms: header.created_at_ms,
            bytes: 0,
            documents: 0,
        };
        Ok(Self {
            snapshots,
            partial: PartialFile(path),
            file,
            buffer,
            hasher: Xxh3::new(),
            sketch_bytes: header.sketch_bytes as usize,
            info,
            entries: 0,
        })
    }

    /// Blocks.
    ///
    /// # Errors
    /// [`StorageError::Io`], after which the snapshot is to be given up.
    ///
    /// # Panics
    /// If the sketch has another length than the header says.
    pub fn write(&mut self, entry: &SnapshotEntry<'_>) -> Result<(), StorageError> {
        assert_eq!(entry.sketch.len(), self.sketch_bytes, "bytes of a sketch");
        let members = u32::try_from(entry.members.len()).expect("ordinals are 32 bits");
        let buffer = &mut self.buffer;
        buffer.extend_from_slice(&entry.fingerprint.to_le_bytes());
        buffer.extend_from_slice(&entry.shingles.to_le_bytes());
        buffer.extend_from_slice(&members.to_le_bytes());
        buffer.extend_from_slice(entry.sketch);
        for member in entry.members {
            let id = member.id.as_str();
            let marked = id.len() as u16 | if member.has_metadata { HAS_METADATA } else { 0 };
            buffer.extend_from_slice(&member.ordinal.0.to_le_bytes());
            buffer.extend_from_slice(&marked.to_le_bytes());
            buffer.extend_from_slice(id.as_bytes());
        }
        self.entries += 1;
        self.info.documents += u64::from(members);
        if self.buffer.len() < BUFFER_BYTES {
            return Ok(());
        }
        self.flush()
    }

    /// Makes the snapshot one to start from, and removes those that are too many. Blocks.
    ///
    /// # Errors
    /// [`StorageError::Io`]; the snapshot may or may not be there then.
    pub fn finish(mut self) -> Result<SnapshotInfo, StorageError> {
        let counts = Footer::encode_counts(self.entries, self.info.documents);
        self.buffer.extend_from_slice(&counts);
        self.flush()?;
        self.buffer.extend_from_slice(&Footer::encode_end(self.hasher.digest()));
        self.flush()?;
        let path = self.snapshots.path(self.info.sequence);
        self.file.sync_all().map_err(StorageError::io(self.partial.path()))?;
        fs::rename(self.partial.path(), &path).map_err(StorageError::io(&path))?;
        directory::sync(self.snapshots.dir())?;
        self.snapshots.remove_old()?;
        Ok(self.info)
    }

    fn flush(&mut self) -> Result<(), StorageError> {
        self.hasher.update(&self.buffer);
        self.file.write_all(&self.buffer).map_err(StorageError::io(self.partial.path()))?;
        self.info.bytes += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }
}

/// Is removed when it is dropped, unless it has been renamed.
struct PartialFile(PathBuf);

impl PartialFile {
    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        // What cannot be removed now is removed at the next start.
        let _ = fs::remove_file(&self.0);
    }
}
