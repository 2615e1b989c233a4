//! Where the words of a text begin and end.

use super::{Instructions, Level, portable};

/// Bytes that are classed at once, a bit each.
pub(super) const BLOCK_BYTES: usize = 64;

/// Blocks of a batch.
const BATCH_BLOCKS: usize = 32;

/// A batch has a boundary at every byte at most, one that was left open before, and room for a
/// store that writes further than it has something to say.
const BOUNDARIES_MAX: usize = BATCH_BLOCKS * BLOCK_BYTES + 1 + BLOCK_BYTES;

/// The bytes of a text from `start` to before `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Run {
    pub start: u32,
    pub end: u32,
}

/// The runs of a text in batches: as many bytes as there are that are ASCII letters, ASCII digits
/// or not ASCII at all. So a run is a word, unless it has other than ASCII characters.
pub struct Runs<'t> {
    level: Level,
    text: &'t [u8],
    /// Bytes that were classed.
    read: usize,
    /// Whether the last byte that was classed belongs to a run.
    is_open: bool,
    /// Starts and ends in turn.
    boundaries: Box<[u32; BOUNDARIES_MAX]>,
    batch: Vec<Run>,
}

impl<'t> Runs<'t> {
    /// The most bytes of a text.
    pub const TEXT_BYTES_MAX: usize = u32::MAX as usize - BLOCK_BYTES;

    /// # Panics
    /// If the text is longer than [`Self::TEXT_BYTES_MAX`].
    #[must_use]
    pub fn new(level: Level, text: &'t [u8]) -> Self {
        assert!(text.len() <= Self::TEXT_BYTES_MAX, "places are 32 bits wide");
        let boundaries = Box::new([0; BOUNDARIES_MAX]);
        Self { level, text, read: 0, is_open: false, boundaries, batch: Vec::new() }
    }

    /// The next runs, in the order of the text; `None` at its end.
    pub fn next_batch(&mut self) -> Option<&[Run]> {
        // A text that ends with a whole block has another one, of nothing, to close its last run.
        if self.read > self.text.len() {
            return None;
        }
        // The start of a run that the last batch left open is in the first place.
        let mut count = usize::from(self.is_open);
        let (blocks, rest) = self.text[self.read..].as_chunks();
        let blocks = &blocks[..blocks.len().min(BATCH_BLOCKS)];
        count += self.mark(blocks, count);
        self.read += blocks.len() * BLOCK_BYTES;
        if blocks.len() < BATCH_BLOCKS {
            // What is missing at the end of the text is no letter.
            let mut last = [0; BLOCK_BYTES];
            last[..rest.len()].copy_from_slice(rest);
            count += self.mark(&[last], count);
            self.read += BLOCK_BYTES;
        }
        let (pairs, open) = self.boundaries[..count].as_chunks();
        self.batch.clear();
        self.batch.extend(pairs.iter().map(|&[start, end]| Run { start, end }));
        if let [start] = *open {
            self.boundaries[0] = start;
        }
        Some(&self.batch)
    }

    /// Notes the boundaries in these blocks behind the first `count`, and gives their number.
    fn mark(&mut self, blocks: &[[u8; BLOCK_BYTES]], count: usize) -> usize {
        let mut marks = Marks {
            at: self.read as u32,
            is_open: self.is_open,
            boundaries: &mut self.boundaries[count..],
            count: 0,
        };
        match self.level.0 {
            Instructions::Portable => portable::mark(blocks, &mut marks),
            // SAFETY: a level is only made if the machine has its instructions.
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => unsafe { super::avx2::mark(blocks, &mut marks) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => unsafe { super::avx512::mark(blocks, &mut marks) },
        }
        self.is_open = marks.is_open;
        marks.count
    }
}

/// Boundaries as they are found.
pub(super) struct Marks<'b> {
    /// Where in the text the next block is.
    pub at: u32,
    pub is_open: bool,
    /// Longer by a block's bytes than there can be boundaries.
    pub boundaries: &'b mut [u32],
    pub count: usize,
}

impl Marks<'_> {
    /// The bytes of a block at which a run begins or ends, given those that belong to runs.
    #[inline(always)]
    pub fn changes(&mut self, in_run: u64) -> u64 {
        let changes = in_run ^ (in_run << 1 | u64::from(self.is_open));
        self.is_open = in_run >> (BLOCK_BYTES - 1) != 0;
        changes
    }

    /// Notes the boundaries of a block.
    #[inline(always)]
    pub fn note(&mut self, in_run: u64) {
        let mut changes = self.changes(in_run);
        let found = changes.count_ones() as usize;
        // Most blocks have fewer: writing so many at once costs less than asking after each.
        let (first, others) = self.boundaries[self.count..].split_at_mut(24);
        for place in first {
            *place = self.at + changes.trailing_zeros();
            changes &= changes.wrapping_sub(1);
        }
        for place in others.iter_mut().take(found.saturating_sub(24)) {
            *place = self.at + changes.trailing_zeros();
            changes &= changes.wrapping_sub(1);
        }
        self.count += found;
        self.at += BLOCK_BYTES as u32;
    }
}
