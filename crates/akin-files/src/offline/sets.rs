//! Sets and sketches in temporary files.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use super::rows::{ContinuedFile, not_what_was_written, read_u64};
use akin_core::join::Sets;
use akin_core::text::ShingleSet;

/// Rows that follow each other are read together.
const WINDOW_BYTES: usize = 1 << 18;
pub(super) const ELEMENT_BYTES: u64 = 8;

/// The sketch, and where the elements of the set begin.
pub(super) fn set_row_bytes(sketch_bytes: usize) -> usize {
    sketch_bytes + size_of::<u64>()
}

/// Reads sets by number.
pub(super) struct SetReader {
    rows: File,
    sizes: Vec<u32>,
    /// Each element as 8 bytes, little-endian.
    elements: ContinuedFile,
    sketch_bytes: usize,
    /// The numbers of the rows in `window`, which are consecutive.
    in_window: Range<u32>,
    window: Vec<u8>,
    /// The row of another set, and its number.
    other: (u32, Vec<u8>),
    /// Reusable buffer for an encoded set.
    bytes: Vec<u8>,
}

impl SetReader {
    pub fn new(rows: File, sizes: Vec<u32>, elements: ContinuedFile, sketch_bytes: usize) -> Self {
        Self {
            rows,
            sizes,
            elements,
            sketch_bytes,
            in_window: 0..0,
            window: Vec::new(),
            other: (u32::MAX, Vec::new()),
            bytes: Vec::new(),
        }
    }

    fn row(&mut self, number: u32) -> io::Result<&[u8]> {
        let row_bytes = set_row_bytes(self.sketch_bytes);
        let continues = number == 0
            || number == self.in_window.end
            || self.other.0.checked_add(1).is_some_and(|next| number == next);
        if !self.in_window.contains(&number) && continues {
            self.fill_window(number, row_bytes)?;
        }
        if self.in_window.contains(&number) {
            let at = (number - self.in_window.start) as usize * row_bytes;
            return Ok(&self.window[at..at + row_bytes]);
        }
        if self.other.0 != number {
            self.other.0 = u32::MAX;
            self.other.1.resize(row_bytes, 0);
            self.rows.read_exact_at(&mut self.other.1, u64::from(number) * row_bytes as u64)?;
            self.other.0 = number;
        }
        Ok(&self.other.1)
    }

    fn fill_window(&mut self, first: u32, row_bytes: usize) -> io::Result<()> {
        self.in_window = 0..0;
        let rows = (WINDOW_BYTES / row_bytes).min(self.sizes.len() - first as usize);
        self.window.resize(rows * row_bytes, 0);
        self.rows.read_exact_at(&mut self.window, u64::from(first) * row_bytes as u64)?;
        self.in_window = first..first + rows as u32;
        Ok(())
    }
}

impl Sets for SetReader {
    type Error = io::Error;

    fn count(&self) -> u32 {
        self.sizes.len() as u32
    }

    fn shingles(&self, number: u32) -> usize {
        self.sizes[number as usize] as usize
    }

    fn sketch(&mut self, number: u32) -> io::Result<&[u8]> {
        let sketch_bytes = self.sketch_bytes;
        self.row(number).map(|row| &row[..sketch_bytes])
    }

    fn set(&mut self, number: u32) -> io::Result<ShingleSet> {
        let sketch_bytes = self.sketch_bytes;
        let start = read_u64(&self.row(number)?[sketch_bytes..]);
        self.bytes.resize(self.shingles(number) * ELEMENT_BYTES as usize, 0);
        self.elements.read_exact_at(&mut self.bytes, start * ELEMENT_BYTES)?;
        let (elements, _) = self.bytes.as_chunks();
        let elements = elements.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
        ShingleSet::from_ascending(elements).ok_or_else(not_what_was_written)
    }
}
