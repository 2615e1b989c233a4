//! The prefix filter with positions and sizes: which sets can resemble a probe as much as a
//! threshold, without missing one (Leskovec, Rajaraman and Ullman, "Mining of Massive Datasets",
//! 3.9; Bayardo, Ma and Srikant 2007; Xiao et al. 2008).
//!
//! Elements stand in one fixed order in every set. Two sets of resemblance J or more share so many
//! elements that one of them is among the first [`prefix_len`] of each. Where the first one that
//! they share stands in each then bounds what they can share in all: [`Place::admits`].
//!
//! All of it decides with the arithmetic of [`Overlap`], so that what is just at the threshold is
//! never lost by rounding.

use super::{ProbePlan, SchemeSettings, Threshold};
use crate::measure::Overlap;
use crate::sketch::SketchSettings;

/// How many of the first elements of a set, `size` in all, have one in common with the first
/// elements of every set that resembles it as much as the threshold: ⌊(1 − J) · size⌋ + 1.
#[must_use]
pub fn prefix_len(threshold: Threshold, size: usize) -> usize {
    size - Overlap::size_min(size, threshold.get()) + 1
}

/// Where an element stands in a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// From 1.
    pub position: u32,
    /// Elements after it.
    pub suffix: u32,
}

impl Place {
    /// The place of the element number `at`, from 0, of a set of `size`.
    #[must_use]
    pub fn new(at: usize, size: usize) -> Self {
        Self { position: at as u32 + 1, suffix: (size - at - 1) as u32 }
    }

    /// Whether two sets that have the first of the elements they share at these places can
    /// resemble each other as much as the threshold: they do at best if one holds all that follows
    /// in the other.
    #[must_use]
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

/// The scheme that finds everything from one threshold up.
#[derive(Clone, Debug)]
pub struct Prefix {
    pub(super) exact_from: Threshold,
    pub(super) sketch_bytes: usize,
}

impl Prefix {
    /// Nothing is missed, and no sketch is asked. A sketch alone finds nothing.
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

    /// The (position, suffix length) of others that a probe's element, at `position` of `size`, has
    /// to be compared with.
    fn admitted(position: u32, size: u32, threshold: f64) -> BTreeSet<(u32, u32)> {
        let own = Place { position, suffix: size - position };
        let others = (1..=size * 2)
            .flat_map(|position| (0..=size * 2).map(move |suffix| Place { position, suffix }));
        let others = others.filter(|other| own.admits(*other, at(threshold)));
        others.map(|other| (other.position, other.suffix)).collect()
    }

    #[test]
    fn the_prefix_of_nine_at_nine_tenths_is_one() {
        assert_eq!(prefix_len(at(0.9), 9), 1);
        assert_eq!(prefix_len(at(0.9), 10), 2);
        assert_eq!(prefix_len(at(0.8), 10), 3);
        assert_eq!(prefix_len(at(1.0), 5_000), 1);
        assert_eq!(prefix_len(at(0.5), 1), 1);
    }

    /// acdefghijk and bcdefghijk have c, the first that they share, second each: at best they share
    /// nine of eleven.
    #[test]
    fn two_that_differ_in_their_first_are_not_compared_at_nine_tenths() {
        let second = Place::new(1, 10);
        assert_eq!(second, Place { position: 2, suffix: 8 });
        assert!(!second.admits(second, at(0.9)));
        assert!(second.admits(second, at(0.8)));
        assert_eq!(Overlap { shared: 9, a: 10, b: 10 }.resemblance(), 9.0 / 11.0);
    }

    /// acdefghijk at 0.8: the pairs of the textbook, 3.9.6.
    #[test]
    fn a_probe_of_ten_at_eight_tenths_looks_at_the_known_places() {
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
        fn no_pair_is_lost(
            a in prop::collection::btree_set(0..60_u64, 1..50),
            b in prop::collection::btree_set(0..60_u64, 1..50),
        ) {
            let shared: Vec<u64> = a.intersection(&b).copied().collect();
            let overlap = Overlap { shared: shared.len(), a: a.len(), b: b.len() };
            // The hardest threshold is the resemblance itself.
            if let Ok(threshold) = Threshold::new(overlap.resemblance()) {
                let place = |set: &BTreeSet<u64>| {
                    Place::new(set.iter().position(|e| *e == shared[0]).unwrap(), set.len())
                };
                let (of_a, of_b) = (place(&a), place(&b));
                prop_assert!(of_a.position as usize <= prefix_len(threshold, a.len()));
                prop_assert!(of_b.position as usize <= prefix_len(threshold, b.len()));
                prop_assert!(of_a.admits(of_b, threshold) && of_b.admits(of_a, threshold));
            }
        }
    }
}
