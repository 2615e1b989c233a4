//! The distinct sets of a corpus: what is held of each in memory, and where the rest comes from.

use crate::text::ShingleSet;

/// What is known of each set without reading it: its size and its sketch, by number from 0 on.
#[derive(Clone, Debug, Default)]
pub struct Corpus {
    shingles: Vec<u32>,
    /// The sketch of set n is at `n * sketch_bytes`.
    sketches: Vec<u8>,
    sketch_bytes: usize,
}

/// Gives out sets by number.
pub trait Sets {
    type Error;

    /// # Errors
    /// Whatever keeps the set from being read.
    fn set(&mut self, number: u32) -> Result<ShingleSet, Self::Error>;
}

impl Corpus {
    /// `sketch_bytes`: of each sketch.
    #[must_use]
    pub fn new(sketch_bytes: usize) -> Self {
        Self { sketch_bytes, ..Self::default() }
    }

    /// Adds a set under the next number.
    ///
    /// # Panics
    /// If the sketch has another length than the others.
    pub fn push(&mut self, shingles: u32, sketch: &[u8]) {
        assert_eq!(sketch.len(), self.sketch_bytes, "all sketches of a corpus have one length");
        self.shingles.push(shingles);
        self.sketches.extend_from_slice(sketch);
    }

    /// How many sets there are.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.shingles.len() as u32
    }

    /// The size of a set.
    #[must_use]
    pub fn shingles(&self, number: u32) -> usize {
        self.shingles[number as usize] as usize
    }

    #[must_use]
    pub fn sketch(&self, number: u32) -> &[u8] {
        let start = number as usize * self.sketch_bytes;
        &self.sketches[start..start + self.sketch_bytes]
    }

    /// Numbers the sets anew, without a second copy: number n goes to `to[n]`, which is to be used
    /// up.
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
