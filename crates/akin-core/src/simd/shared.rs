//! Counts the numbers that two ascending lists share.
//!
//! Compares a block of each list, all numbers with all numbers, and advances the list with the
//! block that ends lower (after B. Schlegel, T. Willhalm, W. Lehner, "Fast sorted-set intersection
//! using SIMD instructions", 2011). No branch depends on which number is less, as that is
//! unpredictable.

use super::{Instructions, Level, Loop};

/// The numbers of a block with vector instructions. With a block of 1 it is an ordinary merge.
const LANES: usize = 8;

/// Steps between checks whether `needed` can still be reached.
const STEPS: usize = 8;

/// The number of elements shared by two strictly ascending lists; `None` as soon as it is certain
/// to be below `needed`.
pub fn count_shared(level: Level, a: &[u64], b: &[u64], needed: usize) -> Option<usize> {
    match level.0 {
        #[cfg(target_arch = "x86_64")]
        Instructions::Portable => level.run(Merge::<1> { a, b, needed }),
        _ => level.run(Merge::<LANES> { a, b, needed }),
    }
}

struct Merge<'s, const BLOCK: usize> {
    a: &'s [u64],
    b: &'s [u64],
    needed: usize,
}

impl<const BLOCK: usize> Loop for Merge<'_, BLOCK> {
    type Output = Option<usize>;

    #[inline(always)]
    fn run(self) -> Option<usize> {
        let Self { mut a, mut b, needed } = self;
        let (mut counts, mut steps) = ([0_u64; BLOCK], 0);
        while let (Some(of_a), Some(of_b)) = (a.first_chunk::<BLOCK>(), b.first_chunk::<BLOCK>()) {
            if steps % STEPS == 0 && sum(&counts) + a.len().min(b.len()) < needed {
                return None;
            }
            steps += 1;
            let mut found = [0; BLOCK];
            for other in of_b {
                for (found, number) in found.iter_mut().zip(of_a) {
                    *found |= u64::from(number == other);
                }
            }
            for (count, found) in counts.iter_mut().zip(found) {
                *count += found;
            }
            let (a_last, b_last) = (of_a[BLOCK - 1], of_b[BLOCK - 1]);
            a = &a[BLOCK * usize::from(a_last <= b_last)..];
            b = &b[BLOCK * usize::from(b_last <= a_last)..];
        }
        let mut shared = sum(&counts);
        while let (Some(number), Some(other)) = (a.first(), b.first()) {
            shared += usize::from(number == other);
            let (a_next, b_next) = (usize::from(number <= other), usize::from(other <= number));
            (a, b) = (&a[a_next..], &b[b_next..]);
        }
        (shared >= needed).then_some(shared)
    }
}

#[inline(always)]
fn sum(counts: &[u64]) -> usize {
    let mut sum = 0;
    for count in counts {
        sum += count;
    }
    sum as usize
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// Lists of all lengths: with most numbers shared, with few shared, and of different lengths.
    fn lists() -> impl Strategy<Value = [Vec<u64>; 2]> {
        let dense = (vec(0..90_u64, 0..90), vec(0..90_u64, 0..90));
        let uneven = (vec(0..3_000_u64, 0..20), vec(0..3_000_u64, 0..900));
        let near = (vec(any::<u64>(), 0..300), vec(any::<u64>(), 0..9), vec(any::<u64>(), 0..9));
        let near = near.prop_map(|(both, a, b)| ([&*both, &a].concat(), [&*both, &b].concat()));
        let sorted = |list: Vec<u64>| -> Vec<u64> {
            list.into_iter().collect::<BTreeSet<_>>().into_iter().collect()
        };
        prop_oneof![dense, uneven, near].prop_map(move |(a, b)| [sorted(a), sorted(b)])
    }

    proptest! {
        #[test]
        fn every_level_counts_the_shared_numbers([a, b] in lists()) {
            let shared = a.iter().filter(|number| b.binary_search(number).is_ok()).count();
            for level in Level::available() {
                for (a, b) in [(&a, &b), (&b, &a)] {
                    for needed in [0, shared] {
                        prop_assert_eq!(count_shared(level, a, b, needed), Some(shared));
                    }
                    prop_assert_eq!(count_shared(level, a, b, shared + 1), None);
                }
            }
        }
    }

    #[test]
    fn the_highest_numbers_are_no_sentinels() {
        let a: Vec<u64> = (0..50).map(|n| u64::MAX - 99 + 2 * n).collect();
        let b: Vec<u64> = (0..50).map(|n| u64::MAX - 147 + 3 * n).collect();
        for level in Level::available() {
            assert_eq!(count_shared(level, &a, &b, 0), Some(17));
            assert_eq!(count_shared(level, &[], &b, 0), Some(0));
        }
    }
}
