//! Sets and sketches in temporary files.

use std::io;
use std::sync::Arc;

use super::rows::{ContinuedFile, not_what_was_written};
use super::set_rows::{NOT_KEPT, SetRows};
use akin_core::join::Sets;
use akin_core::text::ShingleSet;

pub(super) const ELEMENT_BYTES: u64 = 8;

/// Reads sets by number.
pub(super) struct SetReader {
    rows: SetRows,
    /// Each element as 8 bytes, little-endian.
    elements: ContinuedFile,
    /// The number of elements that were added.
    added: u64,
    /// Reusable buffer for an encoded set.
    bytes: Vec<u8>,
}

/// Puts the elements of a set in the place of the former bytes.
pub(super) fn encode_elements(set: &ShingleSet, bytes: &mut Vec<u8>) {
    bytes.resize(set.count() * ELEMENT_BYTES as usize, 0);
    let (places, _) = bytes.as_chunks_mut();
    for (place, element) in places.iter_mut().zip(set.as_slice()) {
        *place = element.to_le_bytes();
    }
}

impl SetReader {
    pub fn new(rows: SetRows, elements: ContinuedFile) -> Self {
        Self { rows, elements, added: 0, bytes: Vec::new() }
    }

    pub fn are_kept(&self) -> bool {
        self.rows.are_kept()
    }

    /// Keeps a set, of a corpus of which no set was kept.
    pub fn add(&mut self, number: u32, set: &ShingleSet) -> io::Result<()> {
        encode_elements(set, &mut self.bytes);
        self.elements.write_all_at(&self.bytes, self.added * ELEMENT_BYTES)?;
        self.rows.set_start(number, self.added)?;
        self.added += set.count() as u64;
        Ok(())
    }
}

impl Sets for SetReader {
    type Error = io::Error;

    fn count(&self) -> u32 {
        self.rows.sizes().len() as u32
    }

    fn shingles(&self, number: u32) -> usize {
        self.rows.sizes()[number as usize] as usize
    }

    fn sketch(&mut self, number: u32) -> io::Result<&[u8]> {
        self.rows.sketch(number)
    }

    fn set(&mut self, number: u32) -> io::Result<ShingleSet> {
        let start = self.rows.start(number)?;
        if start == NOT_KEPT {
            return Err(io::Error::other("a set that is needed was not kept"));
        }
        self.bytes.resize(self.shingles(number) * ELEMENT_BYTES as usize, 0);
        self.elements.read_exact_at(&mut self.bytes, start * ELEMENT_BYTES)?;
        let (elements, _) = self.bytes.as_chunks();
        let elements = elements.iter().map(|bytes| u64::from_le_bytes(*bytes));
        let elements: Arc<[u64]> = elements.collect();
        ShingleSet::from_ascending(elements).ok_or_else(not_what_was_written)
    }
}
