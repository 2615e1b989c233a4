//! The prefix filter with positional and size filters: all sets that can reach a threshold with a
//! probe, without false negatives (Leskovec, Rajaraman and Ullman, "Mining of Massive Datasets",
//! 3.9; Bayardo, Ma and Srikant 2007; Xiao et al. 2008).
//!
//! All sets are sorted in the same fixed order. Two sets with a resemblance of J or more share an
//! element among the first [`prefix_len`] of each. The positions of the first shared element then
//! bound the overlap: [`SizeReach::admits`].
//!
//! Every decision uses the arithmetic of [`Overlap`], so that rounding never loses a pair just at
//! the threshold.

use super::{ProbePlan, SchemeSettings, Threshold};
use crate::measure::Overlap;
use crate::sketch::SketchSettings;

/// The prefix length of a set of `size` elements, ⌊(1 − J) · size⌋ + 1: the prefixes of two sets
/// that reach the threshold have an element in common.
pub fn prefix_len(threshold: Threshold, size: usize) -> usize {
    size - Overlap::size_min(size, threshold.get()) + 1
}

/// Which sets can still be a pair with a set, given the position of an element that they share.
///
/// Let an element be the first that two sets share. Then they share at most this element and the
/// elements after it, which bounds the size of the larger set. An element *admits* two sets that
/// have it if each is small enough for the other. The first shared element of a pair always admits
/// it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SizeReach {
    /// The size of the set.
    pub size: u32,
    /// The size of the largest set that can be a pair with this set; 0 if no set can.
    pub most: u32,
}

impl SizeReach {
    /// The reach of a set of `size` elements if the first element that it shares with another set
    /// is at `position` from 0. The estimate of the size is corrected by the arithmetic of
    /// [`Overlap`], so that rounding loses no pair.
    pub fn at(threshold: Threshold, size: u32, position: u32) -> Self {
        // Sets have fewer elements.
        const LARGEST: usize = u32::MAX as usize;
        let (of_set, shared) = (size as usize, (size - position) as usize);
        let reaches =
            |other: usize| Overlap { shared, a: of_set, b: other }.resemblance() >= threshold.get();
        let union = shared as f64 / threshold.get();
        let mut most = ((union as usize + shared).saturating_sub(of_set)).clamp(shared, LARGEST);
        while most < LARGEST && reaches(most + 1) {
            most += 1;
        }
        while most >= shared && !reaches(most) {
            most -= 1;
        }
        Self { size, most: if most < shared { 0 } else { most as u32 } }
    }

    /// Whether two sets can be a pair. With reaches at two thresholds, no pair at the higher is
    /// refused.
    #[inline]
    pub fn admits(self, other: Self) -> bool {
        self.most >= other.size && other.most >= self.size
    }
}

/// The exact scheme: no false negatives from `exact_from` up.
#[derive(Clone, Debug)]
pub struct Prefix {
    pub(super) exact_from: Threshold,
    pub(super) sketch_bytes: usize,
}

impl Prefix {
    /// Recall is 1 without sketches; sketches alone find nothing.
    pub(super) const PLAN: ProbePlan = ProbePlan {
        bands: 0,
        agreeing_min: 0,
        expected_recall: 1.0,
        expected_recall_estimated: 0.0,
    };

    /// # Panics
    /// If the settings have faults.
    pub(super) fn new(scheme: &SchemeSettings, sketch: &SketchSettings) -> Self {
        assert!(sketch.faults().is_empty(), "{:?}", sketch.faults());
        assert!(scheme.faults(sketch).is_empty(), "{:?}", scheme.faults(sketch));
        Self {
            exact_from: scheme.exact_from().unwrap_or(scheme.threshold),
            sketch_bytes: sketch.sketch_bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn at(threshold: f64) -> Threshold {
        Threshold::new(threshold).unwrap()
    }

    /// The reach of an element at a position from 1, with so many elements after it.
    fn reach((position, suffix): (u32, u32), threshold: f64) -> SizeReach {
        SizeReach::at(at(threshold), position + suffix, position - 1)
    }

    /// The (position, suffix length) of the elements of other sets that a probe's element, at
    /// `position` of `size`, has to be compared with.
    fn admitted(position: u32, size: u32, threshold: f64) -> BTreeSet<(u32, u32)> {
        let own = reach((position, size - position), threshold);
        let others = (1..=size * 2)
            .flat_map(|position| (0..=size * 2).map(move |suffix| (position, suffix)));
        others.filter(|other| own.admits(reach(*other, threshold))).collect()
    }

    #[test]
    fn nine_elements_have_a_prefix_of_one() {
        assert_eq!(prefix_len(at(0.9), 9), 1);
        assert_eq!(prefix_len(at(0.9), 10), 2);
        assert_eq!(prefix_len(at(0.8), 10), 3);
        assert_eq!(prefix_len(at(1.0), 5_000), 1);
        assert_eq!(prefix_len(at(0.5), 1), 1);
    }

    /// acdefghijk and bcdefghijk have c, the first that they share, second each: at best they share
    /// nine of eleven.
    #[test]
    fn different_first_elements_rule_out_0_9() {
        let [at_0_9, at_0_8] = [0.9, 0.8].map(|threshold| reach((2, 8), threshold));
        assert!(!at_0_9.admits(at_0_9));
        assert!(at_0_8.admits(at_0_8));
        assert_eq!(Overlap { shared: 9, a: 10, b: 10 }.resemblance(), 9.0 / 11.0);
    }

    /// acdefghijk at 0.8: the pairs of the textbook, 3.9.6.
    #[test]
    fn a_probe_of_10_elements_admits_the_published_positions() {
        assert_eq!(prefix_len(at(0.8), 10), 3);
        let first = [(1, 7), (1, 8), (1, 9), (1, 10), (1, 11), (2, 8), (2, 9), (2, 10), (3, 9)];
        assert_eq!(admitted(1, 10, 0.8), first.into());
        assert_eq!(admitted(2, 10, 0.8), [(1, 7), (1, 8), (1, 9), (2, 8)].into());
        assert_eq!(admitted(3, 10, 0.8), [(1, 7)].into());
        assert!(admitted(4, 10, 0.8).is_empty(), "beyond the prefix nothing can be new");
    }

    proptest! {
        /// Sets of numbers stand in the order of numbers here.
        #[test]
        fn the_filters_lose_no_pair(
            a in prop::collection::btree_set(0..60_u64, 1..50),
            b in prop::collection::btree_set(0..60_u64, 1..50),
        ) {
            let shared: Vec<u64> = a.intersection(&b).copied().collect();
            let overlap = Overlap { shared: shared.len(), a: a.len(), b: b.len() };
            // The hardest threshold is the resemblance itself.
            if let Ok(threshold) = Threshold::new(overlap.resemblance()) {
                let reach = |set: &BTreeSet<u64>| {
                    let at = set.iter().position(|e| *e == shared[0]).unwrap();
                    assert!(at < prefix_len(threshold, set.len()));
                    SizeReach::at(threshold, set.len() as u32, at as u32)
                };
                let (of_a, of_b) = (reach(&a), reach(&b));
                prop_assert!(of_a.admits(of_b) && of_b.admits(of_a));
            }
        }
    }
}
