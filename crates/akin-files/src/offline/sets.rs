//! Sets and sketches in temporary files.

use std::borrow::Cow;
use std::io;
use std::iter::repeat_n;
use std::sync::Arc;

use super::rows::{ContinuedFile, not_what_was_written};
use super::set_rows::{NOT_KEPT, SetRows};
use akin_core::join::Sets;
use akin_core::text::ShingleSet;

pub(super) const ELEMENT_BYTES: u64 = 8;

/// Reads sets by number.
pub(super) struct SetReader {
    rows: SetRows,
    /// As [`element_bytes`] has them.
    elements: ContinuedFile,
    /// The number of elements that were added.
    added: u64,
}

/// Elements as they are in files: 8 bytes each, little-endian.
pub(super) fn element_bytes(elements: &[u64]) -> Cow<'_, [u8]> {
    match cfg!(target_endian = "little") {
        true => bytemuck::cast_slice(elements).into(),
        false => elements.iter().flat_map(|element| element.to_le_bytes()).collect(),
    }
}

/// Reads elements. `at`: the number of elements before them in the file.
pub(super) fn read_elements(file: &ContinuedFile, at: u64, elements: &mut [u64]) -> io::Result<()> {
    file.read_exact_at(bytemuck::cast_slice_mut(elements), at * ELEMENT_BYTES)?;
    for element in elements {
        *element = u64::from_le(*element);
    }
    Ok(())
}

impl SetReader {
    pub fn new(rows: SetRows, elements: ContinuedFile) -> Self {
        Self { rows, elements, added: 0 }
    }

    pub fn are_kept(&self) -> bool {
        self.rows.are_kept()
    }

    /// Keeps a set, of a corpus of which no set was kept.
    pub fn add(&mut self, number: u32, set: &ShingleSet) -> io::Result<()> {
        let bytes = element_bytes(set.as_slice());
        self.elements.write_all_at(&bytes, self.added * ELEMENT_BYTES)?;
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
        let mut elements: Arc<[u64]> = repeat_n(0, self.shingles(number)).collect();
        read_elements(&self.elements, start, Arc::make_mut(&mut elements))?;
        ShingleSet::from_ascending(elements).ok_or_else(not_what_was_written)
    }
}
