//! Sets in an unlinked temporary file, whose space is freed even after a crash.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;

use crate::join::Sets;
use crate::text::ShingleSet;

const BUFFER_BYTES: usize = 1 << 20;
const ELEMENT_BYTES: u64 = 8;

/// Appends sets to the file: each element as 8 bytes, little-endian.
pub(super) struct SetWriter {
    file: BufWriter<File>,
    /// Set n has the elements `starts[n]..starts[n + 1]` of the file.
    starts: Vec<u64>,
    /// Reusable buffer for an encoded set.
    bytes: Vec<u8>,
}

impl SetWriter {
    pub fn create() -> io::Result<Self> {
        let file = BufWriter::with_capacity(BUFFER_BYTES, tempfile::tempfile()?);
        Ok(Self { file, starts: vec![0], bytes: Vec::new() })
    }

    /// Appends a set at the next position.
    pub fn push(&mut self, set: &ShingleSet) -> io::Result<()> {
        self.bytes.clear();
        self.bytes.extend(set.as_slice().iter().flat_map(|element| element.to_le_bytes()));
        self.file.write_all(&self.bytes)?;
        let end = self.starts[self.starts.len() - 1] + set.count() as u64;
        self.starts.push(end);
        Ok(())
    }

    /// `positions[n]` is the position of the set with number n.
    pub fn finish(self, positions: Vec<u32>) -> io::Result<SetReader> {
        let file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        Ok(SetReader { file, starts: self.starts, positions, bytes: self.bytes })
    }
}

/// Reads the sets back.
pub(super) struct SetReader {
    file: File,
    starts: Vec<u64>,
    positions: Vec<u32>,
    bytes: Vec<u8>,
}

impl Sets for SetReader {
    type Error = io::Error;

    fn set(&mut self, number: u32) -> io::Result<ShingleSet> {
        let position = self.positions[number as usize] as usize;
        let (start, end) = (self.starts[position], self.starts[position + 1]);
        self.bytes.resize(((end - start) * ELEMENT_BYTES) as usize, 0);
        self.file.read_exact_at(&mut self.bytes, start * ELEMENT_BYTES)?;
        let (elements, _) = self.bytes.as_chunks();
        let elements = elements.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
        ShingleSet::from_ascending(elements)
            .ok_or_else(|| io::Error::other("the temporary file is not what was written"))
    }
}
