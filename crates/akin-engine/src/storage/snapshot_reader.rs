//! Reads a snapshot section by section, and verifies each before visiting its records.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::snapshot_file::{
    BrokenSnapshot, Footer, Section, SnapshotHeader, SnapshotRecord, array, visit_records,
};
use super::{StorageError, directory};
use crate::stored::SnapshotInfo;

/// A snapshot with verified header, footer and directory. Sections are verified when they are read.
#[derive(Debug)]
pub struct SnapshotReader {
    path: PathBuf,
    header: SnapshotHeader,
    footer: Footer,
    /// Each with its offset in the file.
    sections: Vec<(u64, Section)>,
}

/// A file that is an intact snapshot or has another format.
pub(super) enum OpenedSnapshot {
    Sound(Box<SnapshotReader>),
    OtherFormat(u32),
}

impl SnapshotReader {
    pub(super) fn open(path: &Path) -> Result<OpenedSnapshot, BrokenSnapshot> {
        let file = opened(path)?;
        let bytes = file.metadata()?.len();
        let mut input = BufReader::new(file);
        let (format, header) = SnapshotHeader::read(&mut input, bytes)?;
        let Some(header) = header else { return Ok(OpenedSnapshot::OtherFormat(format)) };
        let footer = footer(&mut input, bytes)?;
        let head = header.encode();
        let sections = sections(&mut input, bytes, &head, &footer)?;
        let is_possible = |(_, section): &(u64, Section)| section.is_possible(header.sketch_bytes);
        if !sections.iter().all(is_possible) {
            return Err(BrokenSnapshot::Format("one of its sections has an impossible length"));
        }
        let path = path.to_owned();
        Ok(OpenedSnapshot::Sound(Box::new(Self { path, header, footer, sections })))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn header(&self) -> &SnapshotHeader {
        &self.header
    }

    /// Number of distinct sets.
    pub fn entries(&self) -> u64 {
        self.footer.entries
    }

    pub fn documents(&self) -> u64 {
        self.footer.documents
    }

    pub fn sections(&self) -> usize {
        self.sections.len()
    }

    /// Reads a section by its number and visits its records. Blocks; several sections may be read
    /// concurrently. `bytes` is a reusable buffer, because allocating a buffer for each section
    /// would take longer than reading the section.
    ///
    /// # Errors
    /// [`StorageError::CorruptSnapshot`] if the section is damaged or cannot be read; discard the
    /// records of all other sections then.
    pub fn read(
        &self,
        section: usize,
        bytes: &mut Vec<u8>,
        visit: impl FnMut(SnapshotRecord<'_>),
    ) -> Result<(), StorageError> {
        let (start, section) = &self.sections[section];
        let broken = |broken: BrokenSnapshot| StorageError::CorruptSnapshot {
            path: self.path.clone(),
            what: broken.to_string(),
        };
        self.read_checked(*start, section, bytes).map_err(broken)?;
        visit_records(section, self.header.sketch_bytes, bytes, visit).map_err(broken)
    }

    fn read_checked(
        &self,
        start: u64,
        section: &Section,
        bytes: &mut Vec<u8>,
    ) -> Result<(), BrokenSnapshot> {
        let mut file = opened(&self.path)?;
        file.seek(SeekFrom::Start(start))?;
        bytes.clear();
        // `open` has checked that the sections are within the file.
        bytes.reserve(section.bytes as usize);
        file.take(section.bytes).read_to_end(bytes)?;
        if bytes.len() as u64 != section.bytes || xxh3_64(bytes) != section.checksum {
            return Err(BrokenSnapshot::Format("one of its sections does not match its checksum"));
        }
        Ok(())
    }
}

fn opened(path: &Path) -> io::Result<File> {
    directory::open_regular(path, File::options().read(true))
}

/// Reads the directory; checks that its checksum is right and that the sections fill the file
/// between the head and the directory.
fn sections(
    input: &mut (impl Read + Seek),
    bytes: u64,
    head: &[u8],
    footer: &Footer,
) -> Result<Vec<(u64, Section)>, BrokenSnapshot> {
    let too_long = BrokenSnapshot::Format("its sections do not have the length of the file");
    if !footer.is_possible(bytes) {
        return Err(too_long);
    }
    let directory_bytes = footer.sections.saturating_mul(Section::LINE_BYTES);
    let Some(end) = bytes.checked_sub(directory_bytes.saturating_add(Footer::BYTES)) else {
        return Err(too_long);
    };
    input.seek(SeekFrom::Start(end))?;
    let mut directory = vec![0; directory_bytes as usize];
    input.read_exact(&mut directory)?;
    let counts = Footer::encode_counts(footer.entries, footer.documents, footer.sections);
    if checksum(head, &directory, &counts) != footer.checksum {
        return Err(BrokenSnapshot::Format("it does not match its checksum"));
    }
    let mut start = head.len() as u64;
    let mut sections = Vec::with_capacity(footer.sections as usize);
    for mut line in directory.chunks_exact(Section::LINE_BYTES as usize) {
        let section = Section::read(&mut line)?;
        sections.push((start, section));
        start = start.saturating_add(section.bytes);
    }
    if start != end {
        return Err(too_long);
    }
    if !footer.counts_all(sections.iter().map(|(_, section)| section)) {
        return Err(BrokenSnapshot::Format(
            "its sections do not have the number of records in its footer",
        ));
    }
    Ok(sections)
}

/// The checksum of everything but the sections.
pub(super) fn checksum(head: &[u8], directory: &[u8], counts: &[u8]) -> u64 {
    let mut hasher = Xxh3::new();
    for part in [head, directory, counts] {
        hasher.update(part);
    }
    hasher.digest()
}

fn footer(input: &mut (impl Read + Seek), bytes: u64) -> Result<Footer, BrokenSnapshot> {
    let Some(start) = bytes.checked_sub(Footer::BYTES) else {
        return Err(BrokenSnapshot::Format("it is truncated"));
    };
    input.seek(SeekFrom::Start(start))?;
    Footer::read(&mut array::<{ Footer::BYTES as usize }>(input)?.as_slice())
}

/// Reads header and footer without verifying the checksum; cheap.
pub(super) fn info(path: &Path) -> Result<Option<SnapshotInfo>, BrokenSnapshot> {
    let file = opened(path)?;
    let bytes = file.metadata()?.len();
    let mut input = BufReader::new(file);
    let (_, header) = SnapshotHeader::read(&mut input, bytes)?;
    let Some(header) = header else { return Ok(None) };
    Ok(Some(SnapshotInfo {
        sequence: header.sequence,
        created_at_ms: header.created_at_ms,
        bytes,
        documents: footer(&mut input, bytes)?.documents,
    }))
}
