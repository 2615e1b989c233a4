//! Buckets by the rarest elements of each set, in which no pair is missed.
//!
//! The prefix filter with bounds of size and position (R. Bayardo, Y. Ma, R. Srikant, "Scaling up
//! all pairs similarity search", 2007; C. Xiao et al., "Efficient similarity joins for near
//! duplicate detection", 2008). The bounds are those of the online lookups, [`prefix_len`] and
//! [`Place::admits`](crate::scheme::Place::admits), and one more, as each set has all of its
//! buckets at hand: [`Buckets::share_enough`]. The order is another: with all sets at hand,
//! elements can be counted rather than sampled.

use super::buckets::{Buckets, Member};
use super::filing::Filing;
use super::{Corpus, JoinError, Progress, Sets, Stage};
use crate::scheme::{Threshold, prefix_len};

/// Cells of the counts: 128 MiB.
const CELLS_BITS_MAX: u32 = 27;
const CELLS_BITS_MIN: u32 = 10;

/// Counts go up to 255 and stay there.
const COUNTS: usize = 256;

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
        let mut counts = Counts::of(corpus, sets, progress)?;
        progress.begin(Stage::Filing, u64::from(corpus.count()));
        let mut filing = Filing::default();
        for (number, place) in (0..).zip(buckets.places_of()) {
            let set = sets.set(number).map_err(JoinError::Sets)?;
            let len = prefix_len(threshold, set.count());
            counts.rarest(set.as_slice(), len, |element, count, position| {
                // What no other set has leads to none.
                if count > 1 {
                    filing.file(fold(element), Member { place, position });
                }
            });
            progress.advance(1)?;
        }
        drop(counts);
        buckets.take(&mut filing);
        drop(filing);
        buckets.link();
        buckets.prefixes = Some(threshold);
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
    cells: Vec<u8>,
    shift: u32,
    /// Of the elements of one set, in their order.
    own: Vec<u8>,
}

impl Counts {
    fn of<S: Sets>(
        corpus: &Corpus,
        sets: &mut S,
        progress: &Progress,
    ) -> Result<Self, JoinError<S::Error>> {
        let elements: usize = (0..corpus.count()).map(|number| corpus.shingles(number)).sum();
        let bits = elements.next_power_of_two().ilog2().clamp(CELLS_BITS_MIN, CELLS_BITS_MAX);
        let mut counts = Self { cells: vec![0; 1 << bits], shift: 64 - bits, own: Vec::new() };
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

    /// Visits the first elements of a set in the order of their counts, then of themselves, each
    /// with its count and its position from 0; but as they come, which is sorting by counting.
    fn rarest(&mut self, set: &[u64], len: usize, mut visit: impl FnMut(u64, u8, u32)) {
        let mut own = std::mem::take(&mut self.own);
        own.clear();
        own.extend(set.iter().map(|&element| self.cells[self.cell(element)]));
        let mut next = [0_u32; COUNTS];
        for count in &own {
            next[*count as usize] += 1;
        }
        let mut before = 0;
        for next in &mut next {
            (*next, before) = (before, before + *next);
        }
        for (&element, &count) in set.iter().zip(&own) {
            let position = &mut next[count as usize];
            if (*position as usize) < len {
                visit(element, count, *position);
            }
            *position += 1;
        }
        self.own = own;
    }
}
