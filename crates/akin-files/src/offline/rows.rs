//! The data of each document while the corpus is read, or in a state: files of sketches and of rows
//! of equal length, by the documents' numbers, files of the ids and the sets that rows point to,
//! and for the rule `contained` a file of the words of all texts.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::os::unix::fs::FileExt;

use serde::{Deserialize, Serialize};

use super::Room;
use super::documents::OfflineDocuments;
use super::set_rows::{NOT_KEPT, SetRows};
use super::sets::{ELEMENT_BYTES, SetReader, element_bytes};
use super::words::push_words;
use akin_core::text::ShingleSet;
use akin_model::document::DocumentId;

const BUFFER_BYTES: usize = 1 << 20;
const U64_BYTES: usize = size_of::<u64>();
/// Where the set begins, its size, where the id begins, its length, and the fingerprint of the set.
const SIZE_AT: usize = U64_BYTES;
const ID_AT: usize = SIZE_AT + size_of::<u32>();
const LEN_AT: usize = ID_AT + U64_BYTES;
const FINGERPRINT_AT: usize = LEN_AT + size_of::<u16>();
const ROW_BYTES: usize = FINGERPRINT_AT + U64_BYTES;

/// Sets of the latest documents that are recognised by their fingerprints.
const RECENT_SETS: usize = 1 << 16;

pub(super) const NAMES: [&str; 5] = ["sketches", "rows", "ids", "elements", "words"];

/// The files with these names.
pub(super) type RowFiles<F> = [F; NAMES.len()];

/// # Errors
/// The first error of a file.
pub(super) fn row_files<F, E>(file: impl FnMut(&str) -> Result<F, E>) -> Result<RowFiles<F>, E> {
    all_files(NAMES.map(file))
}

/// # Errors
/// The first error of a file.
fn all_files<F, E>(
    [sketches, rows, ids, elements, words]: RowFiles<Result<F, E>>,
) -> Result<RowFiles<F>, E> {
    Ok([sketches?, rows?, ids?, elements?, words?])
}

/// The lengths of the files.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Ends {
    pub documents: u32,
    /// Bytes.
    ids: u64,
    /// Elements of 8 bytes.
    elements: u64,
    /// Bytes.
    words: u64,
}

pub(super) struct Row {
    pub set_at: u64,
    pub size: u32,
    id_at: u64,
    pub id_len: u16,
    pub fingerprint: u64,
}

/// A file that continues a file of earlier runs.
pub(super) struct ContinuedFile {
    saved: Option<File>,
    saved_bytes: u64,
    further: File,
}

/// A document's sketch and set, and the fingerprint of the set.
pub(super) type SketchedSet<'s> = (&'s [u8], &'s ShingleSet, u64);

pub(super) struct RowWriter {
    files: RowFiles<BufWriter<File>>,
    /// With the documents of earlier runs.
    ends: Ends,
    /// Fingerprint and start of a set, by the lowest bits of the fingerprint, so that the set of
    /// frequent copies is rarely stored twice.
    recent: Vec<Option<(u64, u64)>>,
    sketch_bytes: usize,
    /// Once sets have more elements, none is kept.
    elements_max: u64,
    /// Reusable buffer.
    bytes: Vec<u8>,
}

impl Ends {
    /// The length of the file with this name.
    pub fn bytes_of(&self, name: &str, sketch_bytes: usize) -> u64 {
        match name {
            "sketches" => u64::from(self.documents) * sketch_bytes as u64,
            "rows" => u64::from(self.documents) * ROW_BYTES as u64,
            "ids" => self.ids,
            "words" => self.words,
            _ => self.elements * ELEMENT_BYTES,
        }
    }
}

impl Row {
    /// Reads the next row.
    pub fn read(rows: &mut impl Read) -> io::Result<Self> {
        let mut row = [0; ROW_BYTES];
        rows.read_exact(&mut row)?;
        Ok(Self::of(&row))
    }

    fn of(bytes: &[u8]) -> Self {
        Self {
            set_at: read_u64(bytes),
            size: read_u32(&bytes[SIZE_AT..]),
            id_at: read_u64(&bytes[ID_AT..]),
            id_len: u16::from_le_bytes([bytes[LEN_AT], bytes[LEN_AT + 1]]),
            fingerprint: read_u64(&bytes[FINGERPRINT_AT..]),
        }
    }

    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.set_at.to_le_bytes());
        bytes.extend_from_slice(&self.size.to_le_bytes());
        bytes.extend_from_slice(&self.id_at.to_le_bytes());
        bytes.extend_from_slice(&self.id_len.to_le_bytes());
        bytes.extend_from_slice(&self.fingerprint.to_le_bytes());
    }
}

impl ContinuedFile {
    /// Reads bytes that were written at once.
    pub fn read_exact_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        match (&self.saved, at.checked_sub(self.saved_bytes)) {
            (Some(saved), None) => saved.read_exact_at(bytes, at),
            (_, at) => self.further.read_exact_at(bytes, at.unwrap_or(0)),
        }
    }

    /// Writes behind the bytes of earlier runs.
    pub fn write_all_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        self.further.write_all_at(bytes, at)
    }

    /// Reads all bytes, from the first.
    pub fn reader(&self) -> io::Result<impl Read + '_> {
        (&self.further).rewind()?;
        let mut saved = self.saved.as_ref();
        saved.as_mut().map_or(Ok(()), Seek::rewind)?;
        let saved = saved.map(|saved| saved.take(self.saved_bytes));
        let saved: Box<dyn Read + '_> = match saved {
            Some(saved) => Box::new(saved),
            None => Box::new(io::empty()),
        };
        Ok(BufReader::with_capacity(BUFFER_BYTES, saved.chain(&self.further)))
    }

    /// Reads the bytes behind those of earlier runs.
    pub fn further(&self) -> io::Result<impl Read + '_> {
        (&self.further).rewind()?;
        Ok(BufReader::with_capacity(BUFFER_BYTES, &self.further))
    }
}

impl RowWriter {
    /// Writes from where the files are. `ends`: of the rows before.
    pub fn new(files: RowFiles<File>, ends: Ends, sketch_bytes: usize) -> Self {
        Self {
            files: files.map(|file| BufWriter::with_capacity(BUFFER_BYTES, file)),
            ends,
            recent: vec![None; RECENT_SETS],
            sketch_bytes,
            elements_max: u64::MAX,
            bytes: Vec::new(),
        }
    }

    /// Drops all sets once they have more bytes.
    pub fn keep_sets_within(&mut self, bytes: u64) {
        self.elements_max = bytes / ELEMENT_BYTES;
    }

    /// Appends the row of the next document, which may have no set.
    pub fn push(&mut self, id: &DocumentId, set: Option<SketchedSet<'_>>) -> io::Result<()> {
        let set_at = set.map_or(Ok(0), |(_, set, fingerprint)| self.push_set(set, fingerprint))?;
        let id = id.as_str().as_bytes();
        let [sketches, rows, ids, ..] = &mut self.files;
        self.bytes.clear();
        match set {
            Some((sketch, ..)) => self.bytes.extend_from_slice(sketch),
            None => self.bytes.resize(self.sketch_bytes, 0),
        }
        sketches.write_all(&self.bytes)?;
        let row = Row {
            set_at,
            size: set.map_or(0, |(_, set, _)| set.count() as u32),
            id_at: self.ends.ids,
            id_len: id.len() as u16,
            fingerprint: set.map_or(0, |(.., fingerprint)| fingerprint),
        };
        self.bytes.clear();
        row.write(&mut self.bytes);
        rows.write_all(&self.bytes)?;
        self.ends.ids += id.len() as u64;
        self.ends.documents += 1;
        ids.write_all(id)
    }

    /// Appends the words of the next document, and returns their bytes.
    pub fn push_words(&mut self, words: &[u64]) -> io::Result<&[u8]> {
        self.bytes.clear();
        push_words(words, &mut self.bytes);
        self.ends.words += self.bytes.len() as u64;
        let [.., file] = &mut self.files;
        file.write_all(&self.bytes)?;
        Ok(&self.bytes)
    }

    /// Where the elements of the set begin; [`NOT_KEPT`] if they are not kept.
    fn push_set(&mut self, set: &ShingleSet, fingerprint: u64) -> io::Result<u64> {
        if self.ends.elements > self.elements_max {
            return Ok(NOT_KEPT);
        }
        let recent = &mut self.recent[fingerprint as usize % RECENT_SETS];
        if let Some((_, start)) = recent.filter(|known| known.0 == fingerprint) {
            return Ok(start);
        }
        let start = self.ends.elements;
        *recent = Some((fingerprint, start));
        self.ends.elements += set.count() as u64;
        let [.., elements, _] = &mut self.files;
        if self.ends.elements > self.elements_max {
            elements.flush()?;
            elements.get_ref().set_len(0)?;
            return Ok(NOT_KEPT);
        }
        elements.write_all(&element_bytes(set.as_slice()))?;
        Ok(start)
    }

    /// The files once everything is written, and their lengths.
    pub fn into_files(self) -> io::Result<(Ends, RowFiles<File>)> {
        let written =
            |file: BufWriter<File>| file.into_inner().map_err(io::IntoInnerError::into_error);
        Ok((self.ends, all_files(self.files.map(written))?))
    }

    /// The sets' first documents, in the order of the sets; all ids; and all words. `saved`: the
    /// rows before, and their lengths.
    pub fn finish(
        self,
        saved: (Ends, Option<RowFiles<File>>),
        documents: &OfflineDocuments,
        room: &Room,
    ) -> io::Result<(SetReader, IdReader, ContinuedFile)> {
        let (sketch_bytes, are_kept) = (self.sketch_bytes, self.ends.elements <= self.elements_max);
        let (_, files) = self.into_files()?;
        let [sketches, rows, ids, elements, words] = continued(files, saved, sketch_bytes);
        let ids = IdReader { rows, ids };
        let rows = SetRows::of(documents, (&sketches, &ids.rows), are_kept, sketch_bytes, room)?;
        Ok((SetReader::new(rows, elements), ids, words))
    }
}

/// The files of this run after those of earlier runs.
fn continued(
    files: RowFiles<File>,
    (ends, saved): (Ends, Option<RowFiles<File>>),
    sketch_bytes: usize,
) -> RowFiles<ContinuedFile> {
    let saved = saved.map_or([const { None }; NAMES.len()], |saved| saved.map(Some));
    let mut before = NAMES.into_iter().zip(saved);
    files.map(|further| {
        let (name, saved) = before.next().expect("each file has a name");
        ContinuedFile { saved, saved_bytes: ends.bytes_of(name, sketch_bytes), further }
    })
}

/// Reads ids back.
pub(super) struct IdReader {
    rows: ContinuedFile,
    ids: ContinuedFile,
}

impl IdReader {
    pub fn id(&self, number: u32) -> io::Result<DocumentId> {
        let mut row = [0; ROW_BYTES];
        self.rows.read_exact_at(&mut row, u64::from(number) * ROW_BYTES as u64)?;
        let row = Row::of(&row);
        let mut id = vec![0; row.id_len.into()];
        self.ids.read_exact_at(&mut id, row.id_at)?;
        let id = String::from_utf8(id).ok().and_then(|id| DocumentId::new(id).ok());
        id.ok_or_else(not_what_was_written)
    }
}

pub(super) fn read_u64(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(*bytes.first_chunk().expect("rows have a fixed length"))
}

fn read_u32(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(*bytes.first_chunk().expect("rows have a fixed length"))
}

pub(super) fn not_what_was_written() -> io::Error {
    io::Error::other("a file is not what was written")
}
