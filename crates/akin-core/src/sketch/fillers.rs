//! Fills the empty bins of a small set: a hash function per slot, half as wide as the hash
//! functions of textbook MinHash.

use crate::simd::{LINEAR_LANES, Level, LinearFunctions, Loop, least_values};

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
        let mut halves = vec![0; shingles.len()];
        level.run(Halving { halves: &mut halves, shingles, remix });
        let (whole, rest) = slots.as_chunks();
        for slots in whole {
            self.fill_together(minima, slots, &halves, level);
        }
        if let Some(&first) = rest.first() {
            let mut slots = [first; LINEAR_LANES];
            slots[..rest.len()].copy_from_slice(rest);
            self.fill_together(minima, &slots, &halves, level);
        }
    }

    fn fill_together(
        &self,
        minima: &mut [u64],
        slots: &[usize; LINEAR_LANES],
        halves: &[u32],
        level: Level,
    ) {
        let fillers = slots.map(|slot| self.0[slot]);
        let functions = LinearFunctions {
            factors: fillers.map(|filler| filler.factor),
            addends: fillers.map(|filler| filler.addend),
        };
        let least = least_values(level, &functions, halves);
        for (slot, least) in slots.iter().zip(least) {
            minima[*slot] = least.into();
        }
    }
}

/// Takes the upper halves of the shingles' hashes.
struct Halving<'a> {
    halves: &'a mut [u32],
    shingles: &'a [u64],
    remix: Remix,
}

impl Loop for Halving<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (half, &shingle) in self.halves.iter_mut().zip(self.shingles) {
            *half = (self.remix.apply(shingle) >> 32) as u32;
        }
    }
}
