//! Textbook MinHash: one hash function per slot (Broder 1997).

use crate::simd::{Level, Loop};

use super::mix::{Remix, SplitMix};

/// Shingles remixed at a time; they and a slot's loop stay in the L1 cache.
const BLOCK: usize = 256;

/// Hashes per register, and slots processed at once.
const LANES: usize = 8;

/// This number of slots takes as long individually as [`LANES`] at once.
const ALONE_MAX: usize = 3;

/// The hash functions `g_j(h) = a_j * h + b_j` modulo 2⁶⁴, one per slot.
///
/// `a_j` is odd, so each is a permutation of the 64-bit numbers. Over the remixed shingles, such
/// simple functions have no larger error than independent ones (measured in `tests.rs`).
#[derive(Clone, Debug)]
pub(super) struct Permutations(Vec<Permutation>);

#[derive(Clone, Copy, Debug)]
pub(super) struct Permutation {
    factor: u64,
    addend: u64,
}

impl Permutation {
    #[inline(always)]
    fn permute(self, hash: u64) -> u64 {
        hash.wrapping_mul(self.factor).wrapping_add(self.addend)
    }
}

impl Permutations {
    pub(super) fn new(slots: u32, seed: u64) -> Self {
        let mut random = SplitMix::new(seed);
        let mut permutation = || Permutation { factor: random.next() | 1, addend: random.next() };
        Self((0..slots).map(|_| permutation()).collect())
    }

    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// The minimum of each function over the shingles.
    pub(super) fn minima(&self, shingles: &[u64], remix: Remix, level: Level) -> Vec<u64> {
        let mut minima = vec![u64::MAX; self.count()];
        let slots: Vec<usize> = (0..self.count()).collect();
        self.lower(&mut minima, &slots, shingles, remix, level);
        minima
    }

    /// Lowers the values of some slots to the minima of their functions over the shingles.
    pub(super) fn lower(
        &self,
        minima: &mut [u64],
        slots: &[usize],
        shingles: &[u64],
        remix: Remix,
        level: Level,
    ) {
        level.run(Lowering { functions: &self.0, minima, slots, shingles, remix });
    }
}

struct Lowering<'a> {
    functions: &'a [Permutation],
    minima: &'a mut [u64],
    slots: &'a [usize],
    shingles: &'a [u64],
    remix: Remix,
}

impl Loop for Lowering<'_> {
    type Output = ();

    #[inline(always)]
    fn run(mut self) {
        let mut hashes = [0; BLOCK];
        for shingles in self.shingles.chunks(BLOCK) {
            for (hash, &shingle) in hashes.iter_mut().zip(shingles) {
                *hash = self.remix.apply(shingle);
            }
            // Padding to whole registers is faster than a scalar tail, and repeated hashes do no
            // harm.
            let (first, whole) = (hashes[0], shingles.len().next_multiple_of(LANES));
            hashes[shingles.len()..whole].fill(first);
            self.lower(&hashes[..whole]);
        }
    }
}

impl Lowering<'_> {
    #[inline(always)]
    fn lower(&mut self, hashes: &[u64]) {
        let (eights, rest) = self.slots.as_chunks();
        for slots in eights {
            lower_eight(slots, self.functions, hashes, self.minima);
        }
        if rest.len() > ALONE_MAX {
            let mut slots = [rest[0]; LANES];
            slots[..rest.len()].copy_from_slice(rest);
            lower_eight(&slots, self.functions, hashes, self.minima);
            return;
        }
        for &slot in rest {
            let permuted = hashes.iter().map(|hash| self.functions[slot].permute(*hash));
            self.minima[slot] = permuted.fold(self.minima[slot], u64::min);
        }
    }
}

/// Eight slots at once, for small numbers of hashes.
#[inline(always)]
fn lower_eight(
    slots: &[usize; LANES],
    functions: &[Permutation],
    hashes: &[u64],
    minima: &mut [u64],
) {
    let functions = slots.map(|slot| functions[slot]);
    let mut lowest = slots.map(|slot| minima[slot]);
    for hash in hashes {
        for (lowest, function) in lowest.iter_mut().zip(functions) {
            *lowest = function.permute(*hash).min(*lowest);
        }
    }
    for (slot, lowest) in slots.iter().zip(lowest) {
        minima[*slot] = lowest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_finds_the_least_values() {
        let shingles: Vec<u64> = (0..600_u64).map(|n| n.wrapping_mul(n) << 20 ^ n).collect();
        let (functions, remix) = (Permutations::new(20, 3), Remix::new(7));
        for count in [1, 7, 8, 33, BLOCK, BLOCK + 1, 600] {
            let hashes = shingles[..count].iter().map(|shingle| remix.apply(*shingle));
            let least =
                |function: &Permutation| hashes.clone().map(|it| function.permute(it)).min();
            let expected: Vec<u64> = functions.0.iter().filter_map(least).collect();
            for level in Level::available() {
                let minima = functions.minima(&shingles[..count], remix, level);
                assert_eq!(minima, expected, "{level:?}, {count} shingles");
            }
        }
    }
}
