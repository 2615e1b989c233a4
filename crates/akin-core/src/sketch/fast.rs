//! One-permutation MinHash with densification of empty bins.
//!
//! From S. Dahlgaard, M. Knudsen, M. Thorup, "Fast similarity sketching" (2017), with a single
//! random round. Every shingle falls into a bin, and a bin keeps its minimum. A bin that is empty
//! in both sets is filled in each with the minimum under the bin's own hash function; a bin that is
//! empty in only one set differs, as it should. So each slot agrees with a probability equal to the
//! resemblance, for sets of any sizes. Filling costs a pass over the set per empty bin, but only
//! small sets have empty bins: with k·ln k shingles the expected number is 1.

use crate::simd::{Level, Loop};

use super::fillers::Fillers;
use super::mix::Remix;

/// An empty bin. A shingle may have this value: then its bin counts as empty in every set, and is
/// filled like any empty bin.
const EMPTY: u64 = u64::MAX;

/// Bins shingles, and fills the empty bins.
#[derive(Clone, Debug)]
pub(super) struct Fast {
    fillers: Fillers,
}

impl Fast {
    pub(super) fn new(bins: u32, seed: u64) -> Self {
        Self { fillers: Fillers::new(bins, seed) }
    }

    /// The minimum of each bin.
    pub(super) fn minima(&self, shingles: &[u64], remix: Remix, level: Level) -> Vec<u64> {
        let mut minima = vec![EMPTY; self.fillers.count()];
        level.run(Binning { minima: &mut minima, shingles, remix });
        // A filled bin and an occupied bin never hold the same shingle, so their values agree only
        // by accident.
        let bins = 0..minima.len();
        let empty: Vec<usize> = bins.filter(|bin| minima[*bin] == EMPTY).collect();
        if !empty.is_empty() {
            self.fillers.fill(&mut minima, &empty, shingles, remix, level);
        }
        minima
    }
}

/// Puts each shingle's hash into its bin.
struct Binning<'a> {
    minima: &'a mut [u64],
    shingles: &'a [u64],
    remix: Remix,
}

/// Shingles hashed together: hashing is separate from binning, so that it can be vectorised.
const CHUNK: usize = 64;

/// The usual number of bins, as a constant for the compiler.
const USUAL_BINS: usize = 128;

impl Loop for Binning<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { minima, shingles, remix } = self;
        match minima.len() {
            USUAL_BINS => lower_all(minima, USUAL_BINS, shingles, remix),
            bins => lower_all(minima, bins, shingles, remix),
        }
    }
}

#[inline(always)]
fn lower_all(minima: &mut [u64], bins: usize, shingles: &[u64], remix: Remix) {
    let minima = &mut minima[..bins];
    let mut hashes = [0; CHUNK];
    for chunk in shingles.chunks(CHUNK) {
        for (hash, &shingle) in hashes.iter_mut().zip(chunk) {
            *hash = remix.apply(shingle);
        }
        for &hash in &hashes[..chunk.len()] {
            let bin = bin(hash, bins);
            minima[bin] = minima[bin].min(hash);
        }
    }
}

#[inline(always)]
fn bin(hash: u64, bins: usize) -> usize {
    (((hash >> 32) * bins as u64) >> 32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_puts_the_least_hashes_into_their_bins() {
        let shingles: Vec<u64> = (0..1_000_u64).map(|n| n.wrapping_mul(n) << 20 ^ n).collect();
        let remix = Remix::new(7);
        for bins in [16, 100, 128, 1024] {
            for count in [1, 63, 64, 65, 511, 513, 1_000] {
                let shingles = &shingles[..count];
                let mut least = vec![EMPTY; bins];
                for &shingle in shingles {
                    let hash = remix.apply(shingle);
                    let bin = bin(hash, bins);
                    least[bin] = least[bin].min(hash);
                }
                for level in Level::available() {
                    let mut minima = vec![EMPTY; bins];
                    level.run(Binning { minima: &mut minima, shingles, remix });
                    assert_eq!(minima, least, "{level:?}, {bins} bins, {count} shingles");
                }
            }
        }
    }
}
