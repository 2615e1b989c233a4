//! Reads a snapshot section by section, and verifies each before visiting its records.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::snapshot_file::{
    BrokenSnapshot, HEAD_BYTES, Place, Section, SectionKind, SnapshotHeader, SnapshotRecord,
    check_head, u64_of, visit_records,
};
use super::{StorageError, directory};
use akin_model::stats::SnapshotInfo;
use akin_model::time::Time;

/// The end of a file: the last section, with two numbers.
const END_BYTES: u64 = Section::HEAD_BYTES + 16;

/// An open file, and its length.
#[derive(Debug)]
struct SnapshotFile {
    file: File,
    bytes: u64,
}

/// The header and the end of a snapshot.
#[derive(Debug)]
struct SnapshotEnds {
    header: SnapshotHeader,
    /// The place of the section after the header.
    next: Place,
    entries: u64,
    documents: u64,
}

/// A snapshot with a verified header and end. Other sections are verified when they are read.
#[derive(Debug)]
pub struct SnapshotReader {
    path: PathBuf,
    file: SnapshotFile,
    ends: SnapshotEnds,
    /// The sections between header and end, each with its place.
    sections: Vec<(Place, Section)>,
}

impl SnapshotReader {
    pub(super) fn open(path: &Path) -> Result<Self, BrokenSnapshot> {
        let file = SnapshotFile::open(path)?;
        let ends = file.ends()?;
        let (mut place, end) = (ends.next, file.bytes - END_BYTES);
        let (mut sections, mut entries, mut documents) = (Vec::new(), 0, 0);
        while place.at < end {
            let section = file.section(place.at)?;
            if !section.has_room(ends.header.sketch_bytes) {
                return Err(BrokenSnapshot::Format("a section is too short for its records"));
            }
            match section.kind {
                SectionKind::Entries => entries += u64::from(section.records),
                SectionKind::Listings => documents += u64::from(section.records),
                _ => return Err(BrokenSnapshot::Format("its header or its end comes twice")),
            }
            sections.push((place, section));
            place.at += Section::HEAD_BYTES + section.bytes;
        }
        if place.at != end || (entries, documents) != (ends.entries, ends.documents) {
            return Err(BrokenSnapshot::Format("it does not have the records that its end counts"));
        }
        Ok(Self { path: path.to_owned(), file, ends, sections })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn header(&self) -> &SnapshotHeader {
        &self.ends.header
    }

    /// Number of distinct sets.
    pub fn entries(&self) -> u64 {
        self.ends.entries
    }

    pub fn documents(&self) -> u64 {
        self.ends.documents
    }

    pub fn sections(&self) -> usize {
        self.sections.len()
    }

    /// Reads a section by its number and visits its records. Blocks; several sections may be read
    /// concurrently. `content` is a reusable buffer, because allocating a buffer for each section
    /// would take longer than reading the section.
    ///
    /// # Errors
    /// [`StorageError::CorruptSnapshot`] if the section is damaged or cannot be read; discard the
    /// records of all other sections then.
    pub fn read(
        &self,
        section: usize,
        content: &mut Vec<u8>,
        visit: impl FnMut(SnapshotRecord<'_>),
    ) -> Result<(), StorageError> {
        let (place, section) = &self.sections[section];
        let read = self.file.content(*place, section, content);
        read.and_then(|()| visit_records(section, self.ends.header.sketch_bytes, content, visit))
            .map_err(|broken| {
                let (path, what) = (self.path.clone(), broken.to_string());
                StorageError::CorruptSnapshot { path, what }
            })
    }
}

impl SnapshotFile {
    fn open(path: &Path) -> Result<Self, BrokenSnapshot> {
        let file = directory::open_regular(path, File::options().read(true))?;
        let mut head = [0; HEAD_BYTES as usize];
        file.read_exact_at(&mut head, 0)?;
        check_head(head)?;
        Ok(Self { bytes: file.metadata()?.len(), file })
    }

    fn ends(&self) -> Result<SnapshotEnds, BrokenSnapshot> {
        let (first, header) = self.read(Place::HEADER, SectionKind::Header)?;
        let of_this = |at| Place { snapshot: first.checksum, at };
        let next = of_this(HEAD_BYTES + Section::HEAD_BYTES + first.bytes);
        let end = of_this(self.bytes.saturating_sub(END_BYTES));
        let (_, end) = self.read(end, SectionKind::End)?;
        let (mut end, header) = (end.as_slice(), SnapshotHeader::decode(&header)?);
        let (entries, documents) = (u64_of(&mut end)?, u64_of(&mut end)?);
        Ok(SnapshotEnds { header, next, entries, documents })
    }

    /// Reads a section of this kind and its content.
    fn read(&self, place: Place, kind: SectionKind) -> Result<(Section, Vec<u8>), BrokenSnapshot> {
        let (section, mut content) = (self.section(place.at)?, Vec::new());
        if section.kind != kind {
            return Err(BrokenSnapshot::Format("it lacks its header or its end"));
        }
        self.content(place, &section, &mut content)?;
        Ok((section, content))
    }

    /// The section after so many bytes of the file.
    fn section(&self, at: u64) -> Result<Section, BrokenSnapshot> {
        let mut head = [0; Section::HEAD_BYTES as usize];
        self.file.read_exact_at(&mut head, at)?;
        Section::decode(&head)
    }

    /// Reads and verifies the content of a section.
    fn content(
        &self,
        place: Place,
        section: &Section,
        content: &mut Vec<u8>,
    ) -> Result<(), BrokenSnapshot> {
        let start = place.at + Section::HEAD_BYTES;
        if start.saturating_add(section.bytes) > self.bytes {
            return Err(BrokenSnapshot::Format("it is truncated"));
        }
        content.resize(section.bytes as usize, 0);
        self.file.read_exact_at(content, start)?;
        section.check(content, place)
    }
}

/// Reads the header and the end alone; cheap.
pub(super) fn info(path: &Path) -> Result<SnapshotInfo, BrokenSnapshot> {
    let file = SnapshotFile::open(path)?;
    let SnapshotEnds { header, documents, .. } = file.ends()?;
    let SnapshotHeader { sequence, created_at_ms, .. } = header;
    Ok(SnapshotInfo { sequence, created_at: Time(created_at_ms), bytes: file.bytes, documents })
}
