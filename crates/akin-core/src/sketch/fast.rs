//! One-permutation MinHash with densification of empty bins.
//!
//! From S. Dahlgaard, M. Knudsen, M. Thorup, "Fast similarity sketching" (2017), with a single
//! random round. Every shingle falls into a bin, and a bin keeps its minimum. A bin that is empty
//! in both sets is filled in each with the minimum under the bin's own hash function; a bin that is
//! empty in only one set differs, as it should. So each slot agrees with a probability equal to the
//! resemblance, for sets of any sizes. Filling costs a pass over the set per empty bin, but only
//! small sets have empty bins: with k·ln k shingles the expected number is 1.

use crate::simd::{Level, Loop, prefetch_all};

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
        let empty = level.run(EmptyBins(&minima));
        if !empty.is_empty() {
            self.fillers.fill(&mut minima, &empty, shingles, remix, level);
        }
        minima
    }
}

/// Finds the empty bins. In a small set they are unpredictable, so the search has no branches.
struct EmptyBins<'a>(&'a [u64]);

impl Loop for EmptyBins<'_> {
    type Output = Vec<usize>;

    #[inline(always)]
    fn run(self) -> Vec<usize> {
        let mut empty = Vec::with_capacity(self.0.len());
        for (first, minima) in (0..).step_by(MASK).zip(self.0.chunks(MASK)) {
            let bits = minima.iter().zip(0..).map(|(it, bin)| u64::from(*it == EMPTY) << bin);
            let mut left: u64 = bits.fold(0, |a, b| a | b);
            while left != 0 {
                empty.push(first + left.trailing_zeros() as usize);
                left &= left - 1;
            }
        }
        empty
    }
}

/// Bins examined together.
const MASK: usize = 64;

/// Puts each shingle's hash into its bin.
struct Binning<'a> {
    minima: &'a mut [u64],
    shingles: &'a [u64],
    remix: Remix,
}

/// Shingles hashed together.
const CHUNK: usize = 64;

/// Prefetch distance in chunks, a page of memory: the processor's own prefetcher stops at the end
/// of the page.
const AHEAD: usize = 8;

/// The usual number of bins, as a constant for the compiler.
const USUAL_BINS: usize = 128;

/// From this number of shingles, two copies of the bins are faster.
const MANY: usize = 512;

impl Loop for Binning<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { minima, shingles, remix } = self;
        let bins = minima.len();
        match <&mut [u64; USUAL_BINS]>::try_from(&mut *minima) {
            Ok(minima) if shingles.len() >= MANY => bin_alternately(minima, shingles, remix),
            Ok(minima) => each_chunk(shingles, remix, |hashes| {
                for hash in hashes {
                    lower(&mut minima[bin(*hash, USUAL_BINS)], *hash);
                }
            }),
            Err(_) => each_chunk(shingles, remix, |hashes| {
                for hash in hashes {
                    lower(&mut minima[bin(*hash, bins)], *hash);
                }
            }),
        }
    }
}

/// Puts every other hash into a second copy of the bins, so that a hash need not wait for the write
/// of the previous hash to the same bin.
#[inline(always)]
fn bin_alternately(minima: &mut [u64; USUAL_BINS], shingles: &[u64], remix: Remix) {
    let mut second = [EMPTY; USUAL_BINS];
    each_chunk(shingles, remix, |hashes| {
        let (pairs, rest) = hashes.as_chunks();
        for [a, b] in pairs {
            lower(&mut minima[bin(*a, USUAL_BINS)], *a);
            lower(&mut second[bin(*b, USUAL_BINS)], *b);
        }
        for hash in rest {
            lower(&mut minima[bin(*hash, USUAL_BINS)], *hash);
        }
    });
    for (minimum, second) in minima.iter_mut().zip(second) {
        lower(minimum, second);
    }
}

/// Hashing is separate from binning, so that it can be vectorised.
#[inline(always)]
fn each_chunk(shingles: &[u64], remix: Remix, mut visit: impl FnMut(&[u64])) {
    let (chunks, rest) = shingles.as_chunks::<CHUNK>();
    for (number, chunk) in chunks.iter().enumerate() {
        if let Some(ahead) = chunks.get(number + AHEAD) {
            prefetch_all(ahead);
        }
        visit(&chunk.map(|shingle| remix.apply(shingle)));
    }
    let mut hashes = [0; CHUNK];
    for (hash, &shingle) in hashes.iter_mut().zip(rest) {
        *hash = remix.apply(shingle);
    }
    visit(&hashes[..rest.len()]);
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
    fn every_level_puts_the_least_hashes_into_their_bins() {
        let shingles: Vec<u64> = (0..1_000_u64).map(|n| n.wrapping_mul(n) << 20 ^ n).collect();
        let remix = Remix::new(7);
        for bins in [16, 100, 128, 1024] {
            for count in [1, 63, 64, 65, MANY - 1, MANY + 1, 1_000] {
                let shingles = &shingles[..count];
                let mut least = vec![EMPTY; bins];
                for &shingle in shingles {
                    let hash = remix.apply(shingle);
                    lower(&mut least[bin(hash, bins)], hash);
                }
                for level in Level::available() {
                    let mut minima = vec![EMPTY; bins];
                    level.run(Binning { minima: &mut minima, shingles, remix });
                    assert_eq!(minima, least, "{level:?}, {bins} bins, {count} shingles");
                }
            }
        }
    }

    #[test]
    fn empty_bins_received_no_shingle() {
        for bins in [16, 64, 100, 1024] {
            let minima: Vec<u64> =
                (0..bins).map(|bin| if bin % 7 < 3 { EMPTY } else { bin }).collect();
            let empty: Vec<usize> = (0..bins as usize).filter(|bin| bin % 7 < 3).collect();
            for level in Level::available() {
                assert_eq!(level.run(EmptyBins(&minima)), empty, "{level:?}, {bins} bins");
            }
        }
    }
}
