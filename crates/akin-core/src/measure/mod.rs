//! Exact measures of pairs of sets, bags, strings and records.

mod bag;
mod counts;
mod points;
mod strings;
mod table;

pub use counts::{angle_degrees, cosine, euclidean};
pub use points::{FIELD_POINTS_MAX, Points, edits_cost};
pub use strings::{CommonSubsequence, edit_distance};
pub use table::{Compute, MEASURES, Measure, MeasureValue};

use crate::simd::{Level, count_shared};
use crate::text::ShingleSet;

/// How two sets overlap.
///
/// ```
/// use akin_core::{Overlap, ShingleSet};
///
/// let [a, b] = [0..8, 4..12].map(|range| ShingleSet::from_shingles(range.collect()).unwrap());
/// let overlap = Overlap::of(&a, &b);
/// assert_eq!(overlap, Overlap { shared: 4, a: 8, b: 8 });
/// assert_eq!(overlap.resemblance(), 4.0 / 12.0);
/// assert_eq!(overlap.containment_of_a(), 0.5);
/// assert_eq!(Overlap::reaching(&a, &b, 0.5), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// Elements of both sets.
    pub shared: usize,
    /// Elements of the first set, at least 1.
    pub a: usize,
    /// Elements of the second set, at least 1.
    pub b: usize,
}

impl Overlap {
    /// The overlap of two sets.
    pub fn of(a: &ShingleSet, b: &ShingleSet) -> Self {
        let shared = count_shared(Level::best(), a.as_slice(), b.as_slice(), 0).unwrap_or(0);
        Self { shared, a: a.count(), b: b.count() }
    }

    /// The overlap of two sets if their resemblance is at least the threshold. Equivalent to
    /// testing `Overlap::of(a, b).resemblance() >= threshold`, but stops as soon as too few
    /// elements are left to reach it.
    pub fn reaching(a: &ShingleSet, b: &ShingleSet, threshold: f64) -> Option<Self> {
        let needed = Self::shared_min(a.count(), b.count(), threshold)?;
        let shared = count_shared(Level::best(), a.as_slice(), b.as_slice(), needed)?;
        Some(Self { shared, a: a.count(), b: b.count() })
    }

    /// Whether sets of these sizes can reach the threshold: at best the larger contains the
    /// smaller.
    #[inline]
    pub fn can_reach(a: usize, b: usize, threshold: f64) -> bool {
        Self { shared: a.min(b), a, b }.resemblance() >= threshold
    }

    /// The size of the smallest set that can reach the threshold with a set of `size` elements. Any
    /// set that reaches it also shares at least that many elements with the other, as the union has
    /// at least `size` elements. Both hold under floating-point rounding, too.
    pub fn size_min(size: usize, threshold: f64) -> usize {
        let reaches = |smaller: &usize| Self::can_reach(size, *smaller, threshold);
        let mut smallest = ((threshold * size as f64) as usize).clamp(1, size);
        while smallest < size && !reaches(&smallest) {
            smallest += 1;
        }
        while smallest > 1 && reaches(&(smallest - 1)) {
            smallest -= 1;
        }
        smallest
    }

    /// The fewest shared elements with which sets of these sizes reach the threshold; `None` if
    /// none suffice. The search starts from J·(a + b) / (1 + J), as the computed resemblance is
    /// monotone in the number of shared elements.
    fn shared_min(a: usize, b: usize, threshold: f64) -> Option<usize> {
        if !Self::can_reach(a, b, threshold) {
            return None;
        }
        let reaches = |shared| Self { shared, a, b }.resemblance() >= threshold;
        let most = a.min(b);
        let guess = threshold / (1.0 + threshold) * (a + b) as f64;
        let mut shared = (guess as usize).min(most);
        while !reaches(shared) {
            shared += 1;
        }
        while shared > 0 && reaches(shared - 1) {
            shared -= 1;
        }
        Some(shared)
    }

    /// |A∪B|.
    #[inline]
    pub fn union(&self) -> usize {
        self.a + self.b - self.shared
    }

    /// |AΔB|, the elements in only one of the sets: their Hamming distance as bit vectors.
    pub fn hamming(&self) -> usize {
        self.a + self.b - 2 * self.shared
    }

    /// Jaccard similarity |A∩B| / |A∪B|, 0..=1.
    #[inline]
    pub fn resemblance(&self) -> f64 {
        self.shared as f64 / self.union() as f64
    }

    /// |A∩B| / |A|.
    #[inline]
    pub fn containment_of_a(&self) -> f64 {
        self.shared as f64 / self.a as f64
    }

    /// |A∩B| / |B|.
    #[inline]
    pub fn containment_of_b(&self) -> f64 {
        self.shared as f64 / self.b as f64
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn set(shingles: &[u64]) -> ShingleSet {
        ShingleSet::from_shingles(shingles.to_vec()).unwrap()
    }

    fn shared_by_hashing(a: &ShingleSet, b: &ShingleSet) -> usize {
        let a: HashSet<_> = a.as_slice().iter().collect();
        b.as_slice().iter().filter(|shingle| a.contains(shingle)).count()
    }

    /// Small sets of near numbers, and pairs of a small and a far larger set.
    fn pairs() -> impl Strategy<Value = (ShingleSet, ShingleSet)> {
        let near = (vec(0..60_u64, 1..60), vec(0..60_u64, 1..60));
        let uneven = (vec(0..9000_u64, 1..20), vec(0..9000_u64, 1000..3000));
        let swapped = uneven.clone().prop_map(|(a, b)| (b, a));
        prop_oneof![near, uneven, swapped].prop_map(|(a, b)| (set(&a), set(&b)))
    }

    proptest! {
        #[test]
        fn overlap_counts_the_shared_elements((a, b) in pairs()) {
            let overlap = Overlap::of(&a, &b);
            let shared = shared_by_hashing(&a, &b);
            prop_assert_eq!(overlap, Overlap { shared, a: a.count(), b: b.count() });
            prop_assert_eq!(Overlap::of(&b, &a).shared, shared);
        }

        #[test]
        fn hamming_and_jaccard_distance_are_metrics(
            a in vec(0..9_u64, 1..9), b in vec(0..9_u64, 1..9), c in vec(0..9_u64, 1..9),
        ) {
            let [a, b, c] = [set(&a), set(&b), set(&c)];
            let distances: [fn(&ShingleSet, &ShingleSet) -> f64; 2] = [
                |a, b| Overlap::of(a, b).hamming() as f64,
                |a, b| 1.0 - Overlap::of(a, b).resemblance(),
            ];
            for distance in distances {
                prop_assert_eq!(distance(&a, &b), distance(&b, &a));
                prop_assert_eq!(distance(&a, &b) == 0.0, a == b);
                prop_assert!(distance(&a, &c) <= distance(&a, &b) + distance(&b, &c) + 1e-12);
            }
        }

        #[test]
        fn reaching_agrees_with_the_full_count(
            (a, b) in pairs(),
            threshold in prop_oneof![0.0..1.1_f64, Just(1.0), Just(0.5), Just(0.8)],
        ) {
            let overlap = Overlap::of(&a, &b);
            let reached = (overlap.resemblance() >= threshold).then_some(overlap);
            prop_assert_eq!(Overlap::reaching(&a, &b, threshold), reached);
            // The hardest threshold is the resemblance itself, and the next number above it.
            let own = overlap.resemblance();
            prop_assert_eq!(Overlap::reaching(&a, &b, own), Some(overlap));
            prop_assert_eq!(Overlap::reaching(&a, &b, own.next_up()), None);
        }
    }

    #[test]
    fn the_smallest_size_equals_a_linear_search() {
        for size in (1..200).chain([4_999, 5_000, 1_000_000]) {
            for threshold in [0.001, 0.3, 0.5, 0.7, 0.8, 0.9, 0.99, 1.0, 2.0 / 3.0] {
                let least = Overlap::size_min(size, threshold);
                assert!(Overlap::can_reach(size, least, threshold));
                assert!(least == 1 || !Overlap::can_reach(size, least - 1, threshold));
            }
        }
    }

    #[test]
    fn long_sets_are_compared_over_many_blocks() {
        let even: Vec<u64> = (0..5000).map(|n| n * 2).collect();
        let threes: Vec<u64> = (0..5000).map(|n| n * 3).collect();
        let (even, threes) = (set(&even), set(&threes));
        let overlap = Overlap::of(&even, &threes);
        assert_eq!(overlap.shared, 1667);
        assert_eq!(Overlap::reaching(&even, &threes, 0.2), Some(overlap));
        assert_eq!(Overlap::reaching(&even, &threes, 0.2001), None);
    }

    #[test]
    fn measures_are_shares_of_their_sets() {
        let overlap = Overlap::of(&set(&[1, 2, 3, 4]), &set(&[3, 4, 5, 6, 7, 8, 9, 10]));
        assert_eq!(overlap, Overlap { shared: 2, a: 4, b: 8 });
        assert_eq!(overlap.union(), 10);
        let measures =
            [overlap.resemblance(), overlap.containment_of_a(), overlap.containment_of_b()];
        assert_eq!(measures.map(|measure| (measure * 100.0).round() as u32), [20, 50, 25]);
    }
}
