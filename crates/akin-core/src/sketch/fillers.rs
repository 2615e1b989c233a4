//! Fills the empty bins of a small set: a hash function per slot, half as wide as the hash
//! functions of textbook MinHash.

use crate::simd::{Level, Loop};

use super::mix::{Remix, SplitMix};

/// Functions `factor * hash + addend` modulo 2³² of the upper halves of remixed shingles.
///
/// Each factor is odd, so each function is a permutation of the 32-bit numbers. Only small sets
/// need them, in which the upper halves of shingles hardly ever collide.
#[derive(Clone, Debug)]
pub(super) struct Fillers(Vec<Filler>);

#[derive(Clone, Copy, Debug)]
struct Filler {
    factor: u32,
    addend: u32,
}

impl Fillers {
    pub(super) fn new(slots: u32, seed: u64) -> Self {
        let mut random = SplitMix::new(seed);
        let mut filler = || {
            let bits = random.next();
            Filler { factor: bits as u32 | 1, addend: (bits >> 32) as u32 }
        };
        Self((0..slots).map(|_| filler()).collect())
    }

    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// Fills some slots with the minima of their functions over the shingles.
    pub(super) fn fill(
        &self,
        minima: &mut [u64],
        slots: &[usize],
        shingles: &[u64],
        remix: Remix,
        level: Level,
    ) {
        level.run(Filling { fillers: &self.0, minima, slots, shingles, remix });
    }
}

struct Filling<'a> {
    fillers: &'a [Filler],
    minima: &'a mut [u64],
    slots: &'a [usize],
    shingles: &'a [u64],
    remix: Remix,
}

impl Loop for Filling<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let mut halves = vec![0; self.shingles.len()];
        for (half, &shingle) in halves.iter_mut().zip(self.shingles) {
            *half = (self.remix.apply(shingle) >> 32) as u32;
        }
        for &slot in self.slots {
            let Filler { factor, addend } = self.fillers[slot];
            let mut least = u32::MAX;
            for half in &halves {
                least = least.min(half.wrapping_mul(factor).wrapping_add(addend));
            }
            self.minima[slot] = least.into();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_level_finds_the_least_values(shingles in vec(any::<u64>(), 1..90), seed: u64) {
            let (fillers, remix) = (Fillers::new(40, seed), Remix::new(seed));
            let slots = [0, 7, 8, 21, 39];
            let least = |slot: usize| {
                let Filler { factor, addend } = fillers.0[slot];
                let value = |shingle: &u64| {
                    let half = remix.apply(*shingle) >> 32;
                    (u64::from(factor) * half + u64::from(addend)) as u32
                };
                shingles.iter().map(value).min().map(u64::from)
            };
            for level in Level::available() {
                let mut minima = vec![5; 40];
                fillers.fill(&mut minima, &slots, &shingles, remix, level);
                for (slot, minimum) in minima.into_iter().enumerate() {
                    let expected = if slots.contains(&slot) { least(slot) } else { Some(5) };
                    prop_assert_eq!(Some(minimum), expected);
                }
            }
        }
    }
}
