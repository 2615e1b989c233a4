//! Textbook MinHash: a hash function per slot (Broder 1997).

use crate::simd::{Level, Loop};

use super::mix::{Remix, SplitMix};

/// Shingles remixed at a time; they and a slot's loop stay in the L1 cache.
const BLOCK: usize = 256;

/// The hash functions `g_j(h) = a_j * h + b_j` modulo 2⁶⁴, a function per slot.
///
/// `a_j` is odd, so each is a permutation of the 64-bit numbers. Over the remixed shingles, these
/// simple functions have no larger error than independent functions (measured in `tests.rs`).
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

    /// The minimum of each function over the shingles.
    pub(super) fn minima(&self, shingles: &[u64], remix: Remix, level: Level) -> Vec<u64> {
        let mut minima = vec![u64::MAX; self.0.len()];
        level.run(Lowering { functions: &self.0, minima: &mut minima, shingles, remix });
        minima
    }
}

/// Lowers the values of all slots to the minima of their functions over the shingles.
struct Lowering<'a> {
    functions: &'a [Permutation],
    minima: &'a mut [u64],
    shingles: &'a [u64],
    remix: Remix,
}

impl Loop for Lowering<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let mut hashes = [0; BLOCK];
        for shingles in self.shingles.chunks(BLOCK) {
            for (hash, &shingle) in hashes.iter_mut().zip(shingles) {
                *hash = self.remix.apply(shingle);
            }
            for (minimum, function) in self.minima.iter_mut().zip(self.functions) {
                let mut lowest = *minimum;
                for hash in &hashes[..shingles.len()] {
                    lowest = lowest.min(function.permute(*hash));
                }
                *minimum = lowest;
            }
        }
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
