//! Buckets by the rarest elements of each set, which miss no pair.
//!
//! The prefix filter with bounds on size and position (R. Bayardo, Y. Ma, R. Srikant, "Scaling up
//! all pairs similarity search", 2007; C. Xiao et al., "Efficient similarity joins for near
//! duplicate detection", 2008). The bounds are those of online lookups, [`prefix_len`] and
//! [`ElementPosition::admits`](crate::scheme::ElementPosition::admits), and
//! [`Buckets::share_enough`], which needs all buckets of a set. Unlike online, elements are ordered
//! by counts over all sets instead of a sample.

use super::buckets::Buckets;
use super::counts::{Counts, SPREAD, rarest};
use super::grouping::KeyGroups;
use super::grouping::Member;
use super::{Corpus, JoinError, Progress, Sets, Stage};
use crate::scheme::{Threshold, prefix_len};

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
        let mut groups = KeyGroups::default();
        let mut classes = Vec::new();
        for (number, rank) in (0..).zip(buckets.ranks_by_number()) {
            let set = sets.set(number).map_err(JoinError::Sets)?;
            let len = prefix_len(threshold, set.count());
            counts.classify(set.as_slice(), &mut classes);
            rarest(set.as_slice(), &classes, len, |element, position| {
                groups.push(fold(element), Member { rank, position });
            });
            progress.advance(1)?;
        }
        drop(counts);
        buckets.take(&mut groups);
        drop(groups);
        buckets.link();
        buckets.prefixes = Some(threshold);
        Ok(buckets)
    }
}

/// Folds an element to 32 bits. A collision costs a comparison, and loses no pair.
fn fold(element: u64) -> u32 {
    (element.wrapping_mul(SPREAD) >> 32) as u32
}
