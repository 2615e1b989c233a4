//! One-permutation minhash with its empty bins filled.
//!
//! From S. Dahlgaard, M. Knudsen, M. Thorup, "Fast similarity sketching" (2017), cut to one
//! random round. Every shingle falls into one bin, and a bin keeps the least. Where a bin is
//! empty in both of two sets, each fills it with its own minimum under the hash function of that
//! bin; where it is empty in one of them only, the slots differ, as they should. So each slot
//! agrees with a chance of just the resemblance, whatever the sizes of the sets are. Filling
//! costs a pass over the set for each empty bin, but only small sets leave any: at k·ln k
//! shingles one bin in k is empty.

use crate::simd::{Level, Loop, prefetch_all};

use super::mix::Remix;
use super::permutations::Permutations;

/// A bin that no shingle fell into. A shingle may well have this value: such a bin is filled as
/// if it were empty, by the same rule in every set.
const EMPTY: u64 = u64::MAX;

#[derive(Clone, Debug)]
pub(super) struct Fast {
    fillers: Permutations,
}

impl Fast {
    pub(super) fn new(fillers: Permutations) -> Self {
        Self { fillers }
    }

    /// The least hash of each bin.
    pub(super) fn minima(&self, shingles: &[u64], remix: Remix, level: Level) -> Vec<u64> {
        let mut minima = vec![EMPTY; self.fillers.count()];
        level.run(Binning { minima: &mut minima, shingles, remix });
        // A filled bin and one that a shingle fell into hold different shingles, if any; their
        // values can only agree by accident.
        if minima.contains(&EMPTY) {
            let empty = empty_bins(&minima);
            self.fillers.lower(&mut minima, &empty, shingles, remix, level);
        }
        minima
    }
}

/// Which bins are empty, without a branch on it: of a small set nobody could foresee them.
fn empty_bins(minima: &[u64]) -> Vec<usize> {
    let mut empty = vec![0; minima.len()];
    let mut count = 0;
    for (bin, &minimum) in minima.iter().enumerate() {
        empty[count] = bin;
        count += usize::from(minimum == EMPTY);
    }
    empty.truncate(count);
    empty
}

/// Puts each shingle's hash into its bin.
struct Binning<'a> {
    minima: &'a mut [u64],
    shingles: &'a [u64],
    remix: Remix,
}

/// Shingles that are hashed at once.
const CHUNK: usize = 64;

/// Chunks that are fetched ahead, a page of memory: a processor that sees where the loads go
/// fetches ahead by itself, but not beyond the page.
const AHEAD: usize = 8;

/// The bins of sketches as most are, as a number that the compiler knows.
const USUAL_BINS: usize = 128;

impl Loop for Binning<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { minima, shingles, remix } = self;
        if let Ok(minima) = <&mut [u64; USUAL_BINS]>::try_from(&mut *minima) {
            each_hash(shingles, remix, |hash| lower(&mut minima[bin(hash, USUAL_BINS)], hash));
            return;
        }
        let bins = minima.len();
        each_hash(shingles, remix, |hash| lower(&mut minima[bin(hash, bins)], hash));
    }
}

/// Hashing by itself is the same for all and goes several at a time.
#[inline(always)]
fn each_hash(shingles: &[u64], remix: Remix, mut visit: impl FnMut(u64)) {
    let (chunks, rest) = shingles.as_chunks::<CHUNK>();
    for (number, chunk) in chunks.iter().enumerate() {
        if let Some(ahead) = chunks.get(number + AHEAD) {
            prefetch_all(ahead);
        }
        for hash in chunk.map(|shingle| remix.apply(shingle)) {
            visit(hash);
        }
    }
    for &shingle in rest {
        visit(remix.apply(shingle));
    }
}

#[inline(always)]
fn bin(hash: u64, bins: usize) -> usize {
    (((hash >> 32) * bins as u64) >> 32) as usize
}

#[inline(always)]
fn lower(minimum: &mut u64, hash: u64) {
    *minimum = hash.min(*minimum);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_bins_alike() {
        let shingles: Vec<u64> = (0..1_000_u64).map(|n| n.wrapping_mul(n) << 20 ^ n).collect();
        for bins in [16, 100, 128, 1024] {
            for count in [1, 63, 64, 65, 1_000] {
                let minima = Level::available().into_iter().map(|level| {
                    let mut minima = vec![EMPTY; bins];
                    let (shingles, remix) = (&shingles[..count], Remix::new(7));
                    level.run(Binning { minima: &mut minima, shingles, remix });
                    minima
                });
                let mut minima: Vec<_> = minima.collect();
                minima.dedup();
                assert_eq!(minima.len(), 1, "{bins} bins, {count} shingles");
            }
        }
    }
}
