//! Textbook minhash: a hash function a slot (Broder 1997).

use super::mix::{Remix, SplitMix};

/// Shingles that are remixed at a time; they and a slot's loop stay in the nearest cache.
const BLOCK: usize = 256;

/// Minima that are kept side by side, so that none waits for the one before it.
const LANES: usize = 2;

/// The hash functions `g_j(h) = a_j * h + b_j` modulo 2⁶⁴, one a slot.
///
/// `a_j` is odd, so each is a permutation of all 64-bit numbers. Over the remixed shingles such
/// simple functions err no more than independent ones would (`tests.rs` measures it).
#[derive(Clone, Debug)]
pub(super) struct Permutations(Vec<Permutation>);

#[derive(Clone, Copy, Debug)]
pub(super) struct Permutation {
    factor: u64,
    addend: u64,
}

impl Permutation {
    /// The least value of the permuted hashes; `u64::MAX` for none.
    #[inline]
    pub(super) fn minimum(self, hashes: &[u64]) -> u64 {
        let (chunks, rest) = hashes.as_chunks::<LANES>();
        let mut minima = [u64::MAX; LANES];
        for chunk in chunks {
            for (minimum, hash) in minima.iter_mut().zip(chunk) {
                *minimum = self.permute(*hash).min(*minimum);
            }
        }
        let rest = rest.iter().map(|hash| self.permute(*hash));
        rest.chain(minima).fold(u64::MAX, u64::min)
    }

    #[inline]
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

    pub(super) fn as_slice(&self) -> &[Permutation] {
        &self.0
    }

    /// The least value that each function takes on the set.
    pub(super) fn minima(&self, shingles: &[u64], remix: Remix) -> Vec<u64> {
        let mut minima = vec![u64::MAX; self.0.len()];
        let mut hashes = [0; BLOCK];
        for block in shingles.chunks(BLOCK) {
            let hashes = &mut hashes[..block.len()];
            for (hash, &shingle) in hashes.iter_mut().zip(block) {
                *hash = remix.apply(shingle);
            }
            for (minimum, permutation) in minima.iter_mut().zip(&self.0) {
                *minimum = permutation.minimum(hashes).min(*minimum);
            }
        }
        minima
    }
}
