//! Writes a snapshot to a temporary name, and renames it once it is on disk.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::snapshot::Snapshots;
use super::snapshot_file::{
    HAS_METADATA, NEVER, Place, SECTION_BYTES, Section, SectionKind, SnapshotHeader,
    SnapshotRecord, head,
};
use super::{StorageError, directory};
use akin_model::stats::SnapshotInfo;
use akin_model::time::Time;

/// Writes the records of a snapshot. Dropped before [`SnapshotWriter::finish`], it leaves no file.
pub struct SnapshotWriter {
    snapshots: Snapshots,
    partial: PartialFile,
    file: File,
    /// The content of the current section.
    buffer: Vec<u8>,
    kind: SectionKind,
    records: u32,
    sketch_bytes: usize,
    /// Of the header, once it is written.
    header_checksum: u64,
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
        let &SnapshotHeader { sequence, created_at_ms, .. } = header;
        let mut writer = Self {
            snapshots,
            partial: PartialFile(path),
            file,
            buffer: Vec::with_capacity(SECTION_BYTES + SECTION_BYTES / 4),
            kind: SectionKind::Entries,
            records: 0,
            sketch_bytes: header.sketch_bytes as usize,
            header_checksum: Place::HEADER.snapshot,
            info: SnapshotInfo {
                sequence,
                created_at: Time(created_at_ms),
                bytes: 0,
                documents: 0,
            },
            entries: 0,
        };
        writer.put(&head())?;
        writer.header_checksum = writer.put_section(SectionKind::Header, 0, &header.encode())?;
        Ok(writer)
    }

    /// Appends a record. Blocks. Write all records of a kind before the next kind: each change of
    /// kind begins a section.
    ///
    /// # Errors
    /// [`StorageError::Io`], after which the writer must be dropped.
    ///
    /// # Panics
    /// If a sketch has another length than the header says.
    pub fn write(&mut self, record: &SnapshotRecord<'_>) -> Result<(), StorageError> {
        let kind = match record {
            SnapshotRecord::Entry(_) => SectionKind::Entries,
            SnapshotRecord::Listing(_) => SectionKind::Listings,
        };
        if kind != self.kind {
            self.end_section()?;
            self.kind = kind;
        }
        self.encode(record);
        self.records += 1;
        if self.buffer.len() < SECTION_BYTES {
            return Ok(());
        }
        self.end_section()
    }

    fn encode(&mut self, record: &SnapshotRecord<'_>) {
        let buffer = &mut self.buffer;
        match record {
            SnapshotRecord::Entry(entry) => {
                assert_eq!(entry.sketch.len(), self.sketch_bytes, "bytes of a sketch");
                let members =
                    u32::try_from(entry.members.len()).expect("a set is copied in pieces");
                buffer.extend_from_slice(&entry.fingerprint.to_le_bytes());
                buffer.extend_from_slice(&entry.shingles.to_le_bytes());
                buffer.extend_from_slice(&members.to_le_bytes());
                buffer.extend_from_slice(entry.sketch);
                for ordinal in entry.members {
                    buffer.extend_from_slice(&ordinal.to_le_bytes());
                }
                self.entries += 1;
            }
            SnapshotRecord::Listing(listing) => {
                let mark = if listing.has_metadata { HAS_METADATA } else { 0 };
                buffer.extend_from_slice(&listing.fingerprint.to_le_bytes());
                let expires_at_ms = listing.expires_at_ms.unwrap_or(NEVER);
                buffer.extend_from_slice(&expires_at_ms.to_le_bytes());
                buffer.extend_from_slice(&listing.ordinal.to_le_bytes());
                buffer.extend_from_slice(&(listing.id.len() as u16 | mark).to_le_bytes());
                buffer.extend_from_slice(listing.id.as_bytes());
                self.info.documents += 1;
            }
        }
    }

    /// Makes the snapshot durable and visible, and removes the oldest beyond the limit. Blocks.
    ///
    /// # Errors
    /// [`StorageError::Io`]; the snapshot may or may not exist then.
    pub fn finish(mut self) -> Result<SnapshotInfo, StorageError> {
        self.end_section()?;
        let counts = [self.entries, self.info.documents].map(u64::to_le_bytes);
        self.put_section(SectionKind::End, 0, counts.as_flattened())?;
        let path = self.snapshots.path(self.info.sequence);
        self.file.sync_all().map_err(StorageError::io(self.partial.path()))?;
        fs::rename(self.partial.path(), &path).map_err(StorageError::io(&path))?;
        directory::sync(self.snapshots.dir())?;
        self.snapshots.remove_old()?;
        Ok(self.info)
    }

    fn end_section(&mut self) -> Result<(), StorageError> {
        if self.records == 0 {
            return Ok(());
        }
        let content = std::mem::take(&mut self.buffer);
        let records = std::mem::take(&mut self.records);
        self.put_section(self.kind, records, &content)?;
        self.buffer = content;
        self.buffer.clear();
        Ok(())
    }

    /// Writes a section, and returns its checksum.
    fn put_section(
        &mut self,
        kind: SectionKind,
        records: u32,
        content: &[u8],
    ) -> Result<u64, StorageError> {
        let place = Place { snapshot: self.header_checksum, at: self.info.bytes };
        let section = Section::of(kind, records, content, place);
        self.put(&section.encode())?;
        self.put(content)?;
        Ok(section.checksum)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), StorageError> {
        self.file.write_all(bytes).map_err(StorageError::io(self.partial.path()))?;
        self.info.bytes += bytes.len() as u64;
        Ok(())
    }
}

/// Removes the file when dropped, unless it has been renamed.
struct PartialFile(PathBuf);

impl PartialFile {
    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        // If this fails, the next start removes the file.
        let _ = fs::remove_file(&self.0);
    }
}
