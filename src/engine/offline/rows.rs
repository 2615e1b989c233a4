//! The data of each document while the corpus is read: a file of rows of equal length, by the
//! documents' numbers, and files of the ids and the sets that rows point to.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::os::unix::fs::FileExt;

use super::Room;
use super::documents::Documents;
use super::sets::{SetReader, set_row_bytes};
use crate::document::DocumentId;
use crate::engine::Analysis;

const BUFFER_BYTES: usize = 1 << 20;
const U64_BYTES: usize = size_of::<u64>();
/// After the sketch: where the set begins, its size, where the id begins, and its length.
const SIZE_AT: usize = U64_BYTES;
const ID_AT: usize = SIZE_AT + size_of::<u32>();
const END_AT: usize = ID_AT + U64_BYTES + size_of::<u16>();

/// Sets of the latest documents that are recognised by their fingerprints.
const RECENT_SETS: usize = 1 << 16;

pub(super) struct RowWriter {
    rows: BufWriter<File>,
    ids: BufWriter<File>,
    ids_end: u64,
    elements: BufWriter<File>,
    elements_end: u64,
    /// Fingerprint and start of a set, by the lowest bits of the fingerprint, so that the set of
    /// frequent copies is rarely stored twice.
    recent: Vec<Option<(u64, u64)>>,
    sketch_bytes: usize,
    /// Reusable buffer.
    bytes: Vec<u8>,
}

impl RowWriter {
    pub fn new(room: &Room, sketch_bytes: usize) -> io::Result<Self> {
        let file = || Ok::<_, io::Error>(BufWriter::with_capacity(BUFFER_BYTES, room.file()?));
        Ok(Self {
            rows: file()?,
            ids: file()?,
            ids_end: 0,
            elements: file()?,
            elements_end: 0,
            recent: vec![None; RECENT_SETS],
            sketch_bytes,
            bytes: Vec::new(),
        })
    }

    /// Appends the row of the next document; without an analysis it has no set.
    pub fn push(&mut self, id: &DocumentId, analysis: Option<&Analysis>) -> io::Result<()> {
        let start = analysis.map_or(Ok(0), |analysis| self.push_set(analysis))?;
        self.bytes.clear();
        match analysis {
            Some(analysis) => self.bytes.extend_from_slice(analysis.sketch.as_bytes()),
            None => self.bytes.resize(self.sketch_bytes, 0),
        }
        let size = analysis.map_or(0, |analysis| analysis.set.count() as u32);
        let id = id.as_str().as_bytes();
        self.bytes.extend_from_slice(&start.to_le_bytes());
        self.bytes.extend_from_slice(&size.to_le_bytes());
        self.bytes.extend_from_slice(&self.ids_end.to_le_bytes());
        self.bytes.extend_from_slice(&(id.len() as u16).to_le_bytes());
        self.ids_end += id.len() as u64;
        self.ids.write_all(id)?;
        self.rows.write_all(&self.bytes)
    }

    /// Where the elements of the set begin.
    fn push_set(&mut self, analysis: &Analysis) -> io::Result<u64> {
        let recent = &mut self.recent[analysis.fingerprint as usize % RECENT_SETS];
        if let Some((_, start)) = recent.filter(|known| known.0 == analysis.fingerprint) {
            return Ok(start);
        }
        let start = self.elements_end;
        *recent = Some((analysis.fingerprint, start));
        self.bytes.clear();
        let elements = analysis.set.as_slice();
        self.bytes.extend(elements.iter().flat_map(|element| element.to_le_bytes()));
        self.elements.write_all(&self.bytes)?;
        self.elements_end += elements.len() as u64;
        Ok(start)
    }

    pub fn id(&mut self, number: u32) -> io::Result<DocumentId> {
        self.rows.flush()?;
        self.ids.flush()?;
        let [rows, ids] = [&self.rows, &self.ids].map(|file| file.get_ref().try_clone());
        IdReader { rows: rows?, ids: ids?, sketch_bytes: self.sketch_bytes }.id(number)
    }

    /// The rows of the sets' first documents, in the order of the sets; and all ids.
    pub fn finish(self, documents: &Documents, room: &Room) -> io::Result<(SetReader, IdReader)> {
        let [rows, ids, elements] = [self.rows, self.ids, self.elements]
            .map(|file| file.into_inner().map_err(io::IntoInnerError::into_error));
        let ids = IdReader { rows: rows?, ids: ids?, sketch_bytes: self.sketch_bytes };
        let (rows, sizes) = ids.rows_of_sets(documents, room)?;
        Ok((SetReader::new(rows, sizes, elements?, self.sketch_bytes), ids))
    }
}

/// Reads ids back.
pub(super) struct IdReader {
    rows: File,
    ids: File,
    sketch_bytes: usize,
}

impl IdReader {
    fn row_bytes(&self) -> usize {
        self.sketch_bytes + END_AT
    }

    /// Collects as many rows at once as fit into memory, each time in a pass over all rows.
    fn rows_of_sets(&self, documents: &Documents, room: &Room) -> io::Result<(File, Vec<u32>)> {
        let row_bytes = set_row_bytes(self.sketch_bytes);
        let at_once = (room.share() / row_bytes).max(1).min(u32::MAX as usize) as u32;
        let mut sizes = vec![0; documents.sets() as usize];
        let mut out = room.file()?;
        let mut row = vec![0; self.row_bytes()];
        for first in (0..documents.sets()).step_by(at_once as usize) {
            let end = first.saturating_add(at_once).min(documents.sets());
            let mut chunk = vec![0; (end - first) as usize * row_bytes];
            let mut rows = BufReader::with_capacity(BUFFER_BYTES, &self.rows);
            rows.rewind()?;
            for number in 0..documents.numbers() {
                rows.read_exact(&mut row)?;
                let Some(set) = documents.set_of(number) else { continue };
                if (first..end).contains(&set) && documents.of(set)[0] == number {
                    let at = (set - first) as usize * row_bytes;
                    chunk[at..at + row_bytes].copy_from_slice(&row[..row_bytes]);
                    sizes[set as usize] = read_u32(&row[self.sketch_bytes + SIZE_AT..]);
                }
            }
            out.write_all(&chunk)?;
        }
        Ok((out, sizes))
    }

    pub fn id(&self, number: u32) -> io::Result<DocumentId> {
        let mut place = [0; END_AT - ID_AT];
        let at = u64::from(number) * self.row_bytes() as u64;
        self.rows.read_exact_at(&mut place, at + (self.sketch_bytes + ID_AT) as u64)?;
        let (start, len) = place.split_at(U64_BYTES);
        let mut id = vec![0; u16::from_le_bytes([len[0], len[1]]).into()];
        self.ids.read_exact_at(&mut id, read_u64(start))?;
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
    io::Error::other("the temporary file is not what was written")
}
