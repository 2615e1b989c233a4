//! Counts the numbers that two ascending lists share.
//!
//! Compares a block of each list, all numbers with all numbers, and advances the list with the
//! block that ends lower (after B. Schlegel, T. Willhalm, W. Lehner, "Fast sorted-set intersection
//! using SIMD instructions", 2011). No branch depends on which number is less, as that is
//! unpredictable. With a block size of 1 it is an ordinary merge.

use std::marker::PhantomData;

use super::{Instructions, Level, Loop};

/// Steps between checks whether `needed` can still be reached.
const STEPS: usize = 8;

/// The number of elements shared by two strictly ascending lists; `None` as soon as it is certain
/// to be below `needed`.
pub fn count_shared(level: Level, a: &[u64], b: &[u64], needed: usize) -> Option<usize> {
    match level.0 {
        Instructions::Portable => level.run(Sides::<Single, 1>::new(a, b, needed)),
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx2 => level.run(Sides::<x86::Avx2, 4>::new(a, b, needed)),
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx512 => level.run(Sides::<x86::Avx512, 8>::new(a, b, needed)),
    }
}

/// Compares blocks of `LANES` numbers.
trait Compare<const LANES: usize> {
    /// The number of elements in both blocks.
    fn shared(a: &[u64; LANES], b: &[u64; LANES]) -> usize;
}

struct Single;

impl Compare<1> for Single {
    #[inline(always)]
    fn shared(a: &[u64; 1], b: &[u64; 1]) -> usize {
        usize::from(a == b)
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        _mm256_castsi256_pd, _mm256_cmpeq_epi64, _mm256_loadu_si256, _mm256_movemask_pd,
        _mm256_or_si256, _mm256_set1_epi64x, _mm512_cmpeq_epi64_mask, _mm512_loadu_si512,
        _mm512_set1_epi64,
    };

    use super::Compare;

    pub(super) struct Avx2;

    impl Compare<4> for Avx2 {
        #[inline(always)]
        fn shared(a: &[u64; 4], b: &[u64; 4]) -> usize {
            // SAFETY: reads 32 bytes, at any alignment, from 4 × 8. Only called at the level of its
            // instructions.
            unsafe {
                let a = _mm256_loadu_si256(a.as_ptr().cast());
                let agree =
                    b.map(|other| _mm256_cmpeq_epi64(a, _mm256_set1_epi64x(other.cast_signed())));
                let low = _mm256_or_si256(agree[0], agree[1]);
                let high = _mm256_or_si256(agree[2], agree[3]);
                let any = _mm256_or_si256(low, high);
                _mm256_movemask_pd(_mm256_castsi256_pd(any)).count_ones() as usize
            }
        }
    }

    pub(super) struct Avx512;

    impl Compare<8> for Avx512 {
        #[inline(always)]
        fn shared(a: &[u64; 8], b: &[u64; 8]) -> usize {
            // SAFETY: reads 64 bytes, at any alignment, from 8 × 8. Only called at the level of its
            // instructions.
            unsafe {
                let a = _mm512_loadu_si512(a.as_ptr().cast());
                let mut any = 0;
                for other in b {
                    any |= _mm512_cmpeq_epi64_mask(a, _mm512_set1_epi64(other.cast_signed()));
                }
                any.count_ones() as usize
            }
        }
    }
}

/// Merges the lower and the upper halves in turn: steps of the same half depend on each other,
/// steps of different halves overlap.
struct Sides<'s, C, const LANES: usize> {
    low: Walk<'s, C, LANES>,
    high: Walk<'s, C, LANES>,
    needed: usize,
}

impl<'s, C: Compare<LANES>, const LANES: usize> Sides<'s, C, LANES> {
    /// Splits both lists at the middle number of the first.
    fn new(a: &'s [u64], b: &'s [u64], needed: usize) -> Self {
        let (a_low, a_high) = a.split_at(a.len() / 2);
        let b_middle = b.partition_point(|number| a_high.first().is_some_and(|m| number < m));
        let (b_low, b_high) = b.split_at(b_middle);
        Self { low: Walk::new(a_low, b_low), high: Walk::new(a_high, b_high), needed }
    }
}

impl<C: Compare<LANES>, const LANES: usize> Loop for Sides<'_, C, LANES> {
    type Output = Option<usize>;

    #[inline(always)]
    fn run(self) -> Option<usize> {
        let Self { mut low, mut high, needed } = self;
        while low.steps_min() > 0 && high.steps_min() > 0 {
            if low.shared_max() + high.shared_max() < needed {
                return None;
            }
            for _ in 0..STEPS.min(low.steps_min()).min(high.steps_min()) {
                low.step();
                high.step();
            }
        }
        let (ended, mut open) = if low.steps_min() == 0 { (low, high) } else { (high, low) };
        while open.steps_min() > 0 {
            if ended.shared_max() + open.shared_max() < needed {
                return None;
            }
            for _ in 0..STEPS.min(open.steps_min()) {
                open.step();
            }
        }
        let shared = ended.finish() + open.finish();
        (shared >= needed).then_some(shared)
    }
}

/// A merge of two lists, advancing `LANES` numbers of at least one list per step.
struct Walk<'s, C, const LANES: usize> {
    a: &'s [u64],
    b: &'s [u64],
    shared: usize,
    compare: PhantomData<C>,
}

impl<'s, C: Compare<LANES>, const LANES: usize> Walk<'s, C, LANES> {
    #[inline(always)]
    fn new(a: &'s [u64], b: &'s [u64]) -> Self {
        Self { a, b, shared: 0, compare: PhantomData }
    }

    /// The minimum number of steps left; 0 once less than a block is left of a list.
    #[inline(always)]
    fn steps_min(&self) -> usize {
        self.a.len().min(self.b.len()) / LANES
    }

    /// An upper bound of the final count.
    #[inline(always)]
    fn shared_max(&self) -> usize {
        self.shared + self.a.len().min(self.b.len())
    }

    #[inline(always)]
    fn step(&mut self) {
        let (Some(a), Some(b)) = (self.a.first_chunk(), self.b.first_chunk()) else { return };
        self.shared += C::shared(a, b);
        let (a_last, b_last) = (a[LANES - 1], b[LANES - 1]);
        self.a = &self.a[LANES * usize::from(a_last <= b_last)..];
        self.b = &self.b[LANES * usize::from(b_last <= a_last)..];
    }

    /// The final count; the remaining numbers are merged singly.
    #[inline(always)]
    fn finish(&self) -> usize {
        let mut rest = Walk::<Single, 1>::new(self.a, self.b);
        while rest.steps_min() > 0 {
            rest.step();
        }
        self.shared + rest.shared
    }
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
