//! The prefix filter with positional and size filters: all sets that can reach a threshold with a
//! probe, without false negatives (Leskovec, Rajaraman and Ullman, "Mining of Massive Datasets",
//! 3.9; Bayardo, Ma and Srikant 2007; Xiao et al. 2008).
//!
//! All sets are sorted in the same fixed order. Two sets with a resemblance of J or more share an
//! element among the first [`prefix_len`] of each. The positions of the first shared element then
//! bound the overlap: [`ElementPosition::admits`].
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

/// An element's position in the prefix order of its set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ElementPosition {
    /// Counted from 1.
    pub position: u32,
    /// The number of elements after it.
    pub suffix: u32,
}

impl ElementPosition {
    /// The position of element `at`, counted from 0, in a set of `size` elements.
    pub fn new(at: usize, size: usize) -> Self {
        Self { position: at as u32 + 1, suffix: (size - at - 1) as u32 }
    }

    /// Whether two sets can reach the threshold if their first shared element is at these
    /// positions. The upper bound assumes that all elements after it in the smaller remainder are
    /// shared.
    #[inline]
    pub fn admits(self, other: Self, threshold: Threshold) -> bool {
        let shared = self.suffix.min(other.suffix) as usize + 1;
        let best = Overlap { shared, a: self.size(), b: other.size() };
        best.resemblance() >= threshold.get()
    }

    fn size(self) -> usize {
        self.position as usize + self.suffix as usize
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

    /// The (position, suffix length) of the elements of other sets that a probe's element, at
    /// `position` of `size`, has to be compared with.
    fn admitted(position: u32, size: u32, threshold: f64) -> BTreeSet<(u32, u32)> {
        let own = ElementPosition { position, suffix: size - position };
        let others = (1..=size * 2).flat_map(|position| {
            (0..=size * 2).map(move |suffix| ElementPosition { position, suffix })
        });
        let others = others.filter(|other| own.admits(*other, at(threshold)));
        others.map(|other| (other.position, other.suffix)).collect()
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
        let second = ElementPosition::new(1, 10);
        assert_eq!(second, ElementPosition { position: 2, suffix: 8 });
        assert!(!second.admits(second, at(0.9)));
        assert!(second.admits(second, at(0.8)));
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
                let place = |set: &BTreeSet<u64>| {
                    let at = set.iter().position(|e| *e == shared[0]);
                    ElementPosition::new(at.unwrap(), set.len())
                };
                let (of_a, of_b) = (place(&a), place(&b));
                prop_assert!(of_a.position as usize <= prefix_len(threshold, a.len()));
                prop_assert!(of_b.position as usize <= prefix_len(threshold, b.len()));
                prop_assert!(of_a.admits(of_b, threshold) && of_b.admits(of_a, threshold));
            }
        }
    }
}
