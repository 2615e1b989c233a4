//! The set of a document.

use std::sync::Arc;

use xxhash_rust::xxh3::Xxh3Default;

use crate::simd::{Level, distinct};

/// Shingles handed to the streaming hash at a time.
const CHUNK: usize = 128;

/// Distinct hashed shingles, ascending; never empty. Clones share the allocation.
///
/// ```
/// use akin_core::ShingleSet;
///
/// let set = ShingleSet::from_shingles(vec![30, 10, 30]).unwrap();
/// assert_eq!(set.as_slice(), [10, 30]);
/// assert_eq!(ShingleSet::from_shingles(vec![]), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShingleSet(Arc<[u64]>);

impl ShingleSet {
    /// Sorts and removes repetitions. `None` for no shingles at all.
    pub fn from_shingles(shingles: Vec<u64>) -> Option<Self> {
        Self::of(shingles, Level::best())
    }

    pub(super) fn of(shingles: Vec<u64>, level: Level) -> Option<Self> {
        (!shingles.is_empty()).then(|| Self(distinct(level, shingles).into()))
    }

    /// Takes a set's shingles back as [`Self::as_slice`] gave them. `None` if there are none or
    /// they do not strictly ascend: they were never a set.
    pub fn from_ascending(shingles: impl Into<Arc<[u64]>>) -> Option<Self> {
        let shingles = shingles.into();
        let ascending = shingles.is_sorted_by(|a, b| a < b);
        (ascending && !shingles.is_empty()).then_some(Self(shingles))
    }

    /// The shingles, ascending.
    #[inline]
    pub fn as_slice(&self) -> &[u64] {
        &self.0
    }

    /// The number of distinct shingles, at least 1.
    #[inline]
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// A number for the whole set: equal for equal sets, and equal for two different sets with a
    /// probability of 2⁻⁶⁴. It is the XXH3 of the shingles as little-endian bytes.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = Xxh3Default::new();
        let mut bytes = [0; CHUNK * 8];
        for chunk in self.0.chunks(CHUNK) {
            for (place, shingle) in bytes.chunks_exact_mut(8).zip(chunk) {
                place.copy_from_slice(&shingle.to_le_bytes());
            }
            hasher.update(&bytes[..chunk.len() * 8]);
        }
        hasher.digest()
    }
}

#[cfg(test)]
mod tests {
    use xxhash_rust::xxh3::xxh3_64;

    use super::*;

    #[test]
    fn a_set_is_sorted_distinct_and_not_empty() {
        assert_eq!(ShingleSet::from_shingles(vec![]), None);
        let set = ShingleSet::from_shingles(vec![3, 1, u64::MAX, 3, 1]).unwrap();
        assert_eq!(set.as_slice(), [1, 3, u64::MAX]);
        assert_eq!(set.count(), 3);
    }

    #[test]
    fn only_strictly_ascending_shingles_are_taken_back() {
        assert_eq!(ShingleSet::from_ascending([]), None);
        assert_eq!(ShingleSet::from_ascending([1, 1]), None);
        assert_eq!(ShingleSet::from_ascending([2, 1]), None);
        let set = ShingleSet::from_shingles(vec![2, 1]);
        assert_eq!(ShingleSet::from_ascending([1, 2]), set);
    }

    #[test]
    fn the_fingerprint_is_the_hash_of_all_bytes() {
        for count in [1, 2, 30, 31, CHUNK, CHUNK + 1, 1000] {
            let set = ShingleSet::from_shingles((0..count as u64).collect()).unwrap();
            let bytes: Vec<u8> =
                set.as_slice().iter().flat_map(|shingle| shingle.to_le_bytes()).collect();
            assert_eq!(set.fingerprint(), xxh3_64(&bytes), "{count} shingles");
        }
    }
}
