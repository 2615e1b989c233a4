//! The data of each document while the corpus is read, or in a state: a file of rows of equal
//! length, by the documents' numbers, and files of the ids and the sets that rows point to.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::os::unix::fs::FileExt;

use serde::{Deserialize, Serialize};

use super::Room;
use super::documents::OfflineDocuments;
use super::sets::{ELEMENT_BYTES, SetReader, set_row_bytes};
use akin_core::text::ShingleSet;
use akin_model::document::DocumentId;

const BUFFER_BYTES: usize = 1 << 20;
const U64_BYTES: usize = size_of::<u64>();
/// After the sketch: where the set begins, its size, where the id begins, its length, and the
/// fingerprint of the set.
const SIZE_AT: usize = U64_BYTES;
const ID_AT: usize = SIZE_AT + size_of::<u32>();
const LEN_AT: usize = ID_AT + U64_BYTES;
const FINGERPRINT_AT: usize = LEN_AT + size_of::<u16>();
const END_AT: usize = FINGERPRINT_AT + U64_BYTES;

/// Sets of the latest documents that are recognised by their fingerprints.
const RECENT_SETS: usize = 1 << 16;

/// The files, in the order of [`RowFiles::of`].
pub(super) const NAMES: [&str; 3] = ["rows", "ids", "elements"];

pub(super) struct RowFiles<F> {
    pub rows: F,
    pub ids: F,
    elements: F,
}

/// The lengths of the files.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Ends {
    pub documents: u32,
    /// Bytes.
    ids: u64,
    /// Elements of 8 bytes.
    elements: u64,
}

/// The rest of a row, after the sketch.
pub(super) struct RowEnd {
    set_at: u64,
    size: u32,
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
    /// Reusable buffer.
    bytes: Vec<u8>,
}

impl<F> RowFiles<F> {
    pub fn of<E>(mut file: impl FnMut(&str) -> Result<F, E>) -> Result<Self, E> {
        let [rows, ids, elements] = NAMES;
        Ok(Self { rows: file(rows)?, ids: file(ids)?, elements: file(elements)? })
    }

    pub fn each(&self) -> [&F; 3] {
        [&self.rows, &self.ids, &self.elements]
    }
}

impl RowFiles<File> {
    pub fn try_clone(&self) -> io::Result<Self> {
        let [rows, ids, elements] = self.each().map(File::try_clone);
        Ok(Self { rows: rows?, ids: ids?, elements: elements? })
    }
}

impl Ends {
    /// The length of the file with this name.
    pub fn bytes_of(&self, name: &str, sketch_bytes: usize) -> u64 {
        match name {
            "rows" => u64::from(self.documents) * row_bytes(sketch_bytes) as u64,
            "ids" => self.ids,
            _ => self.elements * ELEMENT_BYTES,
        }
    }
}

fn row_bytes(sketch_bytes: usize) -> usize {
    sketch_bytes + END_AT
}

impl RowEnd {
    /// Reads the next row.
    pub fn read(rows: &mut impl Read, sketch_bytes: usize) -> io::Result<Self> {
        let mut row = vec![0; row_bytes(sketch_bytes)];
        rows.read_exact(&mut row)?;
        Ok(Self::of(&row[sketch_bytes..]))
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

    /// Reads all bytes, from the first.
    fn reader(&self) -> io::Result<impl Read + '_> {
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
}

impl RowWriter {
    /// Writes from where the files are. `ends`: of the rows before.
    pub fn new(files: RowFiles<File>, ends: Ends, sketch_bytes: usize) -> Self {
        let buffered = |file| BufWriter::with_capacity(BUFFER_BYTES, file);
        let RowFiles { rows, ids, elements } = files;
        Self {
            files: RowFiles {
                rows: buffered(rows),
                ids: buffered(ids),
                elements: buffered(elements),
            },
            ends,
            recent: vec![None; RECENT_SETS],
            sketch_bytes,
            bytes: Vec::new(),
        }
    }

    /// Appends the row of the next document, which may have no set.
    pub fn push(&mut self, id: &DocumentId, set: Option<SketchedSet<'_>>) -> io::Result<()> {
        let set_at = set.map_or(Ok(0), |(_, set, fingerprint)| self.push_set(set, fingerprint))?;
        let id = id.as_str().as_bytes();
        self.bytes.clear();
        match set {
            Some((sketch, ..)) => self.bytes.extend_from_slice(sketch),
            None => self.bytes.resize(self.sketch_bytes, 0),
        }
        let end = RowEnd {
            set_at,
            size: set.map_or(0, |(_, set, _)| set.count() as u32),
            id_at: self.ends.ids,
            id_len: id.len() as u16,
            fingerprint: set.map_or(0, |(.., fingerprint)| fingerprint),
        };
        end.write(&mut self.bytes);
        self.ends.ids += id.len() as u64;
        self.ends.documents += 1;
        self.files.ids.write_all(id)?;
        self.files.rows.write_all(&self.bytes)
    }

    /// Where the elements of the set begin.
    fn push_set(&mut self, set: &ShingleSet, fingerprint: u64) -> io::Result<u64> {
        let recent = &mut self.recent[fingerprint as usize % RECENT_SETS];
        if let Some((_, start)) = recent.filter(|known| known.0 == fingerprint) {
            return Ok(start);
        }
        let start = self.ends.elements;
        *recent = Some((fingerprint, start));
        self.bytes.clear();
        let elements = set.as_slice();
        self.bytes.extend(elements.iter().flat_map(|element| element.to_le_bytes()));
        self.files.elements.write_all(&self.bytes)?;
        self.ends.elements += elements.len() as u64;
        Ok(start)
    }

    /// The files once everything is written, and their lengths.
    pub fn into_files(self) -> io::Result<(Ends, RowFiles<File>)> {
        let RowFiles { rows, ids, elements } = self.files;
        let written = |file: BufWriter<File>| file.into_inner();
        let [rows, ids, elements] =
            [rows, ids, elements].map(|file| written(file).map_err(io::IntoInnerError::into_error));
        Ok((self.ends, RowFiles { rows: rows?, ids: ids?, elements: elements? }))
    }

    /// The rows of the sets' first documents, in the order of the sets; and all ids. `saved`: the
    /// rows before, and their lengths.
    pub fn finish(
        self,
        saved: (Ends, Option<RowFiles<File>>),
        documents: &OfflineDocuments,
        room: &Room,
    ) -> io::Result<(SetReader, IdReader)> {
        let sketch_bytes = self.sketch_bytes;
        let (_, files) = self.into_files()?;
        let (ids, elements) = IdReader::new(files, saved, sketch_bytes);
        let (rows, sizes) = ids.rows_of_sets(documents, room)?;
        Ok((SetReader::new(rows, sizes, elements, sketch_bytes), ids))
    }

    /// Reads ids of the rows so far.
    pub fn reader(&mut self, saved: (Ends, Option<RowFiles<File>>)) -> io::Result<IdReader> {
        let RowFiles { rows, ids, elements } = &mut self.files;
        [&mut *rows, ids].into_iter().try_for_each(Write::flush)?;
        let [rows, ids, elements] = [rows, ids, elements].map(|file| file.get_ref().try_clone());
        let files = RowFiles { rows: rows?, ids: ids?, elements: elements? };
        Ok(IdReader::new(files, saved, self.sketch_bytes).0)
    }
}

/// Reads ids back.
pub(super) struct IdReader {
    rows: ContinuedFile,
    ids: ContinuedFile,
    sketch_bytes: usize,
}

impl IdReader {
    /// Also the file of elements.
    fn new(
        files: RowFiles<File>,
        (ends, saved): (Ends, Option<RowFiles<File>>),
        sketch_bytes: usize,
    ) -> (Self, ContinuedFile) {
        let [rows, ids, elements] = NAMES.map(|name| ends.bytes_of(name, sketch_bytes));
        let continued = |saved, saved_bytes, further| ContinuedFile { saved, saved_bytes, further };
        let (saved_rows, saved_ids, saved_elements) = match saved {
            Some(saved) => (Some(saved.rows), Some(saved.ids), Some(saved.elements)),
            None => (None, None, None),
        };
        let reader = Self {
            rows: continued(saved_rows, rows, files.rows),
            ids: continued(saved_ids, ids, files.ids),
            sketch_bytes,
        };
        (reader, continued(saved_elements, elements, files.elements))
    }

    /// Collects as many rows at once as fit into memory, each time in a pass over all rows.
    fn rows_of_sets(
        &self,
        documents: &OfflineDocuments,
        room: &Room,
    ) -> io::Result<(File, Vec<u32>)> {
        let set_row_bytes = set_row_bytes(self.sketch_bytes);
        let at_once = (room.share() / set_row_bytes).max(1).min(u32::MAX as usize) as u32;
        let mut sizes = vec![0; documents.sets() as usize];
        let mut out = room.file()?;
        let mut row = vec![0; row_bytes(self.sketch_bytes)];
        for first in (0..documents.sets()).step_by(at_once as usize) {
            let end = first.saturating_add(at_once).min(documents.sets());
            let mut chunk = vec![0; (end - first) as usize * set_row_bytes];
            let mut rows = self.rows.reader()?;
            for number in 0..documents.numbers() {
                rows.read_exact(&mut row)?;
                let Some(set) = documents.set_of(number) else { continue };
                if (first..end).contains(&set) && documents.of(set)[0] == number {
                    let at = (set - first) as usize * set_row_bytes;
                    chunk[at..at + set_row_bytes].copy_from_slice(&row[..set_row_bytes]);
                    sizes[set as usize] = RowEnd::of(&row[self.sketch_bytes..]).size;
                }
            }
            out.write_all(&chunk)?;
        }
        Ok((out, sizes))
    }

    pub fn id(&self, number: u32) -> io::Result<DocumentId> {
        let mut row = vec![0; row_bytes(self.sketch_bytes)];
        let at = u64::from(number) * row.len() as u64;
        self.rows.read_exact_at(&mut row, at)?;
        let row = RowEnd::of(&row[self.sketch_bytes..]);
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
