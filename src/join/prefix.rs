//! Buckets by the rarest elements of each set, in which no pair is missed.
//!
//! The prefix filter with bounds of size and position (R. Bayardo, Y. Ma, R. Srikant, "Scaling up
//! all pairs similarity search", 2007; C. Xiao et al., "Efficient similarity joins for near
//! duplicate detection", 2008). The bounds are those of the online lookups, [`prefix_len`] and
//! [`Place::admits`](crate::scheme::Place::admits). The order is another: with all sets at hand,
//! elements can be counted rather than sampled.

use super::buckets::Buckets;
use super::{Corpus, JoinError, Progress, Sets, Stage};
use crate::scheme::{Threshold, prefix_len};
use crate::text::ShingleSet;

/// Cells of the counts: 128 MiB.
const CELLS_BITS_MAX: u32 = 26;
const CELLS_BITS_MIN: u32 = 10;

/// 2⁶⁴ by the golden ratio: spreads elements over cells, also those that are all 0 modulo
/// something.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

impl Buckets {
    /// A bucket for each element that is among the rarest of two sets.
    pub fn by_prefix<S: Sets>(
        corpus: &Corpus,
        threshold: Threshold,
        sets: &mut S,
        progress: &Progress,
    ) -> Result<Self, JoinError<S::Error>> {
        let mut buckets = Self::empty(corpus);
        let counts = Counts::of(corpus, sets, progress)?;
        progress.begin(Stage::Filing, u64::from(corpus.count()));
        let mut filed = Vec::new();
        for place in buckets.places() {
            let set = sets.set(buckets.number(place)).map_err(JoinError::Sets)?;
            let prefix = counts.rarest(&set, prefix_len(threshold, set.count()));
            for (position, &(count, element)) in (0..).zip(&prefix) {
                // What no other set has leads to none.
                if count > 1 {
                    filed.push((fold(element), place, position));
                }
            }
            progress.advance(1)?;
        }
        buckets.add(&mut filed);
        drop(filed);
        buckets.link();
        buckets.position_bound = Some(threshold);
        Ok(buckets)
    }
}

/// Two elements in one bucket bring sets together that need not be: that costs a look, and hides no
/// others.
fn fold(element: u64) -> u32 {
    (element.wrapping_mul(SPREAD) >> 32) as u32
}

/// About how many sets have each element: cells count all that fall into them. Any order of the
/// elements is right; rare ones first is fast.
struct Counts {
    cells: Vec<u16>,
    shift: u32,
}

impl Counts {
    fn of<S: Sets>(
        corpus: &Corpus,
        sets: &mut S,
        progress: &Progress,
    ) -> Result<Self, JoinError<S::Error>> {
        let elements: usize = (0..corpus.count()).map(|number| corpus.shingles(number)).sum();
        let bits = elements.next_power_of_two().ilog2().clamp(CELLS_BITS_MIN, CELLS_BITS_MAX);
        let mut counts = Self { cells: vec![0; 1 << bits], shift: 64 - bits };
        progress.begin(Stage::Counting, u64::from(corpus.count()));
        for number in 0..corpus.count() {
            let set = sets.set(number).map_err(JoinError::Sets)?;
            for &element in set.as_slice() {
                let cell = counts.cell(element);
                counts.cells[cell] = counts.cells[cell].saturating_add(1);
            }
            progress.advance(1)?;
        }
        Ok(counts)
    }

    fn cell(&self, element: u64) -> usize {
        (element.wrapping_mul(SPREAD) >> self.shift) as usize
    }

    /// The first elements of the order, each after its count.
    fn rarest(&self, set: &ShingleSet, len: usize) -> Vec<(u16, u64)> {
        let count = |&element: &u64| (self.cells[self.cell(element)], element);
        let mut elements: Vec<_> = set.as_slice().iter().map(count).collect();
        if len < elements.len() {
            elements.select_nth_unstable(len - 1);
            elements.truncate(len);
        }
        elements.sort_unstable();
        elements
    }
}
