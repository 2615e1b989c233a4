//! Buckets by the rarest elements of each set, in which no pair is missed.
//!
//! The prefix filter with bounds of size and position (R. Bayardo, Y. Ma, R. Srikant, "Scaling up
//! all pairs similarity search", 2007; C. Xiao et al., "Efficient similarity joins for near
//! duplicate detection", 2008). All elements are in one fixed order, rare ones first. Two sets that
//! share at least α elements share one among the first |A| − α + 1 of the one and the first
//! |B| − α + 1 of the other; α is what [`Overlap::shared_min`] says, so that no rounding comes
//! between the filter and the decision.

use super::buckets::{Buckets, Member};
use super::{Corpus, JoinError, Progress, Sets, Stage};
use crate::measure::Overlap;
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
        threshold: f64,
        sets: &mut S,
        progress: &Progress,
    ) -> Result<Self, JoinError<S::Error>> {
        let mut buckets = Self::empty(corpus);
        let counts = Counts::of(corpus, sets, progress)?;
        progress.begin(Stage::Filing, u64::from(corpus.count()));
        let mut filed = Vec::new();
        for place in buckets.places() {
            let set = sets.set(buckets.number(place)).map_err(JoinError::Sets)?;
            let prefix = counts.rarest(&set, prefix_len(set.count(), threshold));
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

/// Elements of a set of this size among which there is one of every set, no larger than it, that
/// it is a pair with.
fn prefix_len(size: usize, threshold: f64) -> usize {
    let smallest = smallest_partner(size, threshold);
    let shared = Overlap::shared_min(size, smallest, threshold).expect("a partner's size");
    size - shared + 1
}

/// The same for partners that are no smaller: they must share more.
pub(super) fn prefix_len_of_smaller(size: usize, threshold: f64) -> usize {
    let shared = Overlap::shared_min(size, size, threshold).expect("a set may equal another");
    size - shared + 1
}

/// The least size that can reach the threshold with this one.
fn smallest_partner(size: usize, threshold: f64) -> usize {
    let guess = (threshold * size as f64) as usize;
    let mut smallest = guess.clamp(1, size);
    while smallest > 1 && Overlap::can_reach(size, smallest - 1, threshold) {
        smallest -= 1;
    }
    while !Overlap::can_reach(size, smallest, threshold) {
        smallest += 1;
    }
    smallest
}

/// Whether two members of a bucket, the first of them no larger, may be a pair: counted is what
/// they share, and all that follows it in the smaller rest. Where they meet at the first element
/// that they share, no pair is denied; where they meet at a later one they have met before.
pub(super) fn admits(
    (smaller, smaller_size): (Member, usize),
    (larger, larger_size): (Member, usize),
    threshold: f64,
) -> bool {
    if smaller.position as usize >= prefix_len_of_smaller(smaller_size, threshold) {
        return false;
    }
    let Some(needed) = Overlap::shared_min(smaller_size, larger_size, threshold) else {
        return false;
    };
    let rest = |member: Member, size: usize| size - member.position as usize;
    rest(smaller, smaller_size).min(rest(larger, larger_size)) >= needed
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
