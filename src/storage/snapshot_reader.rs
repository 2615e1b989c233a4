//! Reads a snapshot twice: to check all of it, and then to hand it over.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::Xxh3;

use super::StorageError;
use super::snapshot_file::{
    BUFFER_BYTES, Broken, FOOTER_BYTES, Footer, HAS_METADATA, SnapshotEntry, SnapshotHeader,
    SnapshotInfo, SnapshotMember, array, u16_of, u32_of, u64_of,
};
use crate::document::{DocumentId, Ordinal};

/// A snapshot whose every byte has been checked.
#[derive(Debug)]
pub struct SnapshotReader {
    path: PathBuf,
    header: SnapshotHeader,
    footer: Footer,
    /// At the first entry.
    input: BufReader<File>,
}

/// What to think of a file.
pub(super) enum Opened {
    Whole(Box<SnapshotReader>),
    NewerFormat(u32),
}

impl SnapshotReader {
    pub(super) fn open(path: &Path) -> Result<Opened, Broken> {
        let mut file = File::open(path)?;
        let footer = checked_footer(&mut file)?;
        let bytes = file.seek(SeekFrom::End(0))?;
        file.rewind()?;
        let mut input = BufReader::with_capacity(BUFFER_BYTES, file);
        let (format, header) = SnapshotHeader::read(&mut input, bytes)?;
        let Some(header) = header else { return Ok(Opened::NewerFormat(format)) };
        let path = path.to_owned();
        Ok(Opened::Whole(Box::new(Self { path, header, footer, input })))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn header(&self) -> &SnapshotHeader {
        &self.header
    }

    /// Distinct sets.
    pub fn entries(&self) -> u64 {
        self.footer.entries
    }

    pub fn documents(&self) -> u64 {
        self.footer.documents
    }

    /// Hands over every entry in the order of writing. Blocks.
    ///
    /// # Errors
    /// [`StorageError::CorruptSnapshot`] if the file, whole as it is, holds no snapshot after all,
    /// or cannot be read a second time: what was handed over is then not to be used.
    pub fn read(mut self, visit: impl FnMut(SnapshotEntry<'_>)) -> Result<(), StorageError> {
        let path = self.path.clone();
        self.visit_all(visit)
            .map_err(|broken| StorageError::CorruptSnapshot { path, what: broken.to_string() })
    }

    fn visit_all(&mut self, mut visit: impl FnMut(SnapshotEntry<'_>)) -> Result<(), Broken> {
        let mut sketch = vec![0; self.header.sketch_bytes as usize];
        let mut members = Vec::new();
        let mut documents = 0;
        for _ in 0..self.footer.entries {
            let fingerprint = u64_of(&mut self.input)?;
            let shingles = u32_of(&mut self.input)?;
            let count = u32_of(&mut self.input)?;
            self.input.read_exact(&mut sketch)?;
            members.clear();
            for _ in 0..count {
                members.push(self.member()?);
            }
            documents += u64::from(count);
            visit(SnapshotEntry { fingerprint, shingles, sketch: &sketch, members: &members });
        }
        if Footer::read(&mut self.input)? != self.footer || documents != self.footer.documents {
            return Err(Broken::Format("it does not hold what its end says"));
        }
        Ok(())
    }

    fn member(&mut self) -> Result<SnapshotMember, Broken> {
        let ordinal = Ordinal(u32_of(&mut self.input)?);
        let marked = u16_of(&mut self.input)?;
        let mut id = [0; DocumentId::BYTES_MAX];
        let Some(id) = id.get_mut(..usize::from(marked & !HAS_METADATA)) else {
            return Err(Broken::Format("an id in it is too long"));
        };
        self.input.read_exact(id)?;
        let id = str::from_utf8(id).ok().and_then(|id| DocumentId::new(id).ok());
        let id = id.ok_or(Broken::Format("it holds what is no id"))?;
        Ok(SnapshotMember { ordinal, id, has_metadata: marked & HAS_METADATA != 0 })
    }
}

/// Reads the whole file, in pieces, and gives back its footer if the checksum is right.
fn checked_footer(file: &mut File) -> Result<Footer, Broken> {
    let footer = footer(file)?;
    let bytes = file.seek(SeekFrom::End(0))?;
    file.rewind()?;
    let mut checked = file.take(bytes - Footer::BYTES_UNCHECKED);
    let mut hasher = Xxh3::new();
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let read = checked.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        hasher.update(&buffer[..read]);
    }
    if hasher.digest() != footer.checksum {
        return Err(Broken::Format("it does not have its checksum"));
    }
    Ok(footer)
}

fn footer(file: &mut File) -> Result<Footer, Broken> {
    if file.seek(SeekFrom::End(0))? < FOOTER_BYTES {
        return Err(Broken::Format("it is cut short"));
    }
    file.seek(SeekFrom::End(-FOOTER_BYTES.cast_signed()))?;
    Footer::read(&mut array::<{ FOOTER_BYTES as usize }>(file)?.as_slice())
}

/// What a file says of itself, unchecked; cheap.
pub(super) fn info(path: &Path) -> Result<Option<SnapshotInfo>, Broken> {
    let mut file = File::open(path)?;
    let footer = footer(&mut file)?;
    let bytes = file.seek(SeekFrom::End(0))?;
    file.rewind()?;
    let (_, header) = SnapshotHeader::read(&mut BufReader::new(file), bytes)?;
    Ok(header.map(|header| SnapshotInfo {
        sequence: header.sequence,
        created_at_ms: header.created_at_ms,
        bytes,
        documents: footer.documents,
    }))
}
