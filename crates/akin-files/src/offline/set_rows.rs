//! The sketch of each set and where its elements begin, by the set's number.

use std::fs::File;
use std::io::{self, Read, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;

use super::Room;
use super::documents::OfflineDocuments;
use super::rows::{ContinuedFile, Row, read_u64};

/// Rows that follow each other are read together.
const WINDOW_BYTES: usize = 1 << 18;
const START_BYTES: usize = size_of::<u64>();

/// In place of where the elements begin.
pub(super) const NOT_KEPT: u64 = u64::MAX;

/// Rows of equal length, in memory if there is room.
pub(super) struct SetRows {
    sizes: Vec<u32>,
    are_kept: bool,
    /// `None`: all rows are in the window.
    file: Option<File>,
    row_bytes: usize,
    /// The numbers of the rows in `window`, which are consecutive.
    in_window: Range<u32>,
    window: Vec<u8>,
    /// The row of another set, and its number.
    other: (u32, Vec<u8>),
}

impl SetRows {
    /// The rows of the sets' first documents. As many rows are collected at once as fit into
    /// memory, each time in a pass over all documents. `are_kept`: whether the elements are.
    pub fn of(
        documents: &OfflineDocuments,
        (sketches, rows): (&ContinuedFile, &ContinuedFile),
        are_kept: bool,
        sketch_bytes: usize,
        room: &Room,
    ) -> io::Result<Self> {
        let row_bytes = sketch_bytes + START_BYTES;
        let at_once = (room.share() / row_bytes).max(1).min(u32::MAX as usize) as u32;
        let sets = documents.sets();
        let mut sizes = vec![0; sets as usize];
        let mut file = (sets > at_once).then(|| room.file()).transpose()?;
        let mut window = Vec::new();
        for first in (0..sets).step_by(at_once as usize) {
            let end = first.saturating_add(at_once).min(sets);
            window = vec![0; (end - first) as usize * row_bytes];
            let (mut sketches, mut rows) = (sketches.reader()?, rows.reader()?);
            let mut sketch = vec![0; sketch_bytes];
            for number in 0..documents.numbers() {
                sketches.read_exact(&mut sketch)?;
                let Row { set_at, size, .. } = Row::read(&mut rows)?;
                let Some(set) = documents.set_of(number) else { continue };
                if (first..end).contains(&set) && documents.of(set)[0] == number {
                    let row = &mut window[(set - first) as usize * row_bytes..][..row_bytes];
                    let start = if are_kept { set_at } else { NOT_KEPT };
                    row[..sketch_bytes].copy_from_slice(&sketch);
                    row[sketch_bytes..].copy_from_slice(&start.to_le_bytes());
                    sizes[set as usize] = size;
                }
            }
            if let Some(file) = &mut file {
                file.write_all(&window)?;
            }
        }
        let in_window = if file.is_some() { 0..0 } else { 0..sets };
        Ok(Self {
            sizes,
            are_kept,
            file,
            row_bytes,
            in_window,
            window,
            other: (u32::MAX, Vec::new()),
        })
    }

    /// Whether the elements of all sets were kept.
    pub fn are_kept(&self) -> bool {
        self.are_kept
    }

    /// The number of elements of each set.
    pub fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    pub fn sketch(&mut self, number: u32) -> io::Result<&[u8]> {
        let sketch_bytes = self.row_bytes - START_BYTES;
        self.row(number).map(|row| &row[..sketch_bytes])
    }

    /// Where the elements of the set begin, or [`NOT_KEPT`].
    pub fn start(&mut self, number: u32) -> io::Result<u64> {
        let sketch_bytes = self.row_bytes - START_BYTES;
        self.row(number).map(|row| read_u64(&row[sketch_bytes..]))
    }

    pub fn set_start(&mut self, number: u32, start: u64) -> io::Result<()> {
        let in_row = self.row_bytes - START_BYTES;
        match &self.file {
            None => {
                let at = number as usize * self.row_bytes + in_row;
                self.window[at..at + START_BYTES].copy_from_slice(&start.to_le_bytes());
                Ok(())
            }
            Some(file) => {
                (self.in_window, self.other.0) = (0..0, u32::MAX);
                let at = u64::from(number) * self.row_bytes as u64 + in_row as u64;
                file.write_all_at(&start.to_le_bytes(), at)
            }
        }
    }

    fn row(&mut self, number: u32) -> io::Result<&[u8]> {
        let row_bytes = self.row_bytes;
        if let Some(file) = &self.file
            && !self.in_window.contains(&number)
        {
            let continues = number == 0
                || number == self.in_window.end
                || self.other.0.checked_add(1).is_some_and(|next| number == next);
            if !continues {
                if self.other.0 != number {
                    self.other.0 = u32::MAX;
                    self.other.1.resize(row_bytes, 0);
                    file.read_exact_at(&mut self.other.1, u64::from(number) * row_bytes as u64)?;
                    self.other.0 = number;
                }
                return Ok(&self.other.1);
            }
            self.in_window = 0..0;
            let rows = (WINDOW_BYTES / row_bytes).min(self.sizes.len() - number as usize);
            self.window.resize(rows * row_bytes, 0);
            file.read_exact_at(&mut self.window, u64::from(number) * row_bytes as u64)?;
            self.in_window = number..number + rows as u32;
        }
        let at = (number - self.in_window.start) as usize * row_bytes;
        Ok(&self.window[at..at + row_bytes])
    }
}
