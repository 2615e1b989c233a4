//! One-permutation minhash with its empty bins filled.
//!
//! From S. Dahlgaard, M. Knudsen, M. Thorup, "Fast similarity sketching" (2017), cut to one
//! random round. Every shingle falls into one bin, and a bin keeps the least. Where a bin is
//! empty in both of two sets, each fills it with its own minimum under the hash function of that
//! bin; where it is empty in one of them only, the slots differ, as they should. So each slot
//! agrees with a chance of just the resemblance, whatever the sizes of the sets are. Filling
//! costs a pass over the set for each empty bin, but only small sets leave any: at k·ln k
//! shingles one bin in k is empty.

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
    pub(super) fn minima(&self, shingles: &[u64], remix: Remix) -> Vec<u64> {
        let mut minima = vec![EMPTY; self.fillers.as_slice().len()];
        let bins = minima.len() as u64;
        for &shingle in shingles {
            let hash = remix.apply(shingle);
            let bin = ((hash >> 32) * bins) >> 32;
            let minimum = &mut minima[bin as usize];
            *minimum = hash.min(*minimum);
        }
        if minima.contains(&EMPTY) {
            self.fill(&mut minima, shingles, remix);
        }
        minima
    }

    /// A filled bin and one that a shingle fell into hold different shingles, if any; their
    /// values can only agree by accident.
    fn fill(&self, minima: &mut [u64], shingles: &[u64], remix: Remix) {
        let hashes: Vec<u64> = shingles.iter().map(|&shingle| remix.apply(shingle)).collect();
        let slots = minima.iter_mut().zip(self.fillers.as_slice());
        for (minimum, filler) in slots.filter(|(minimum, _)| **minimum == EMPTY) {
            *minimum = filler.minimum(&hashes);
        }
    }
}
