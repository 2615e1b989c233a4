//! The distinct sets of a corpus: the trait of readable sets, and sizes and sketches in memory.

use crate::text::ShingleSet;

/// The size and the sketch of each set, by number from 0.
#[derive(Clone, Debug, Default)]
pub struct Corpus {
    shingles: Vec<u32>,
    /// The sketch of set n is at `n * sketch_bytes`.
    sketches: Vec<u8>,
    sketch_bytes: usize,
}

/// Reads sets by number from 0, from memory or from a file.
pub trait Sets {
    /// Why a set or a sketch cannot be read.
    type Error;

    /// The number of sets.
    fn count(&self) -> u32;

    /// The number of shingles of a set.
    fn shingles(&self, number: u32) -> usize;

    /// # Errors
    /// The sketch cannot be read.
    fn sketch(&mut self, number: u32) -> Result<&[u8], Self::Error>;

    /// # Errors
    /// The set cannot be read.
    fn set(&mut self, number: u32) -> Result<ShingleSet, Self::Error>;
}

impl Corpus {
    /// `sketch_bytes`: the length of each sketch.
    pub fn new(sketch_bytes: usize) -> Self {
        Self { sketch_bytes, ..Self::default() }
    }

    /// Adds a set with the next number.
    ///
    /// # Panics
    /// If the length of the sketch is not `sketch_bytes`.
    pub fn push(&mut self, shingles: u32, sketch: &[u8]) {
        assert_eq!(sketch.len(), self.sketch_bytes, "all sketches of a corpus have one length");
        self.shingles.push(shingles);
        self.sketches.extend_from_slice(sketch);
    }

    /// The number of sets.
    #[inline]
    pub fn count(&self) -> u32 {
        self.shingles.len() as u32
    }

    /// The number of shingles of a set.
    #[inline]
    pub fn shingles(&self, number: u32) -> usize {
        self.shingles[number as usize] as usize
    }

    /// The sketch of a set.
    #[inline]
    pub fn sketch(&self, number: u32) -> &[u8] {
        let start = number as usize * self.sketch_bytes;
        &self.sketches[start..start + self.sketch_bytes]
    }

    /// Renumbers the sets in place: number n becomes `to[n]`.
    pub(super) fn renumber(&mut self, mut to: Vec<u32>) {
        for number in 0..to.len() {
            while to[number] as usize != number {
                let target = to[number] as usize;
                self.swap(number, target);
                to.swap(number, target);
            }
        }
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.shingles.swap(a, b);
        let (low, high) = (a.min(b) * self.sketch_bytes, a.max(b) * self.sketch_bytes);
        let (before, after) = self.sketches.split_at_mut(high);
        before[low..low + self.sketch_bytes].swap_with_slice(&mut after[..self.sketch_bytes]);
    }
}
