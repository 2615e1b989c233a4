//! Recently used sets of all collections, in a single cache.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quick_cache::Weighter;
use quick_cache::sync::Cache;

use akin_core::text::ShingleSet;

/// Weighs a cached set by its bytes in memory.
#[derive(Clone)]
pub(crate) struct SetBytes;

impl<K> Weighter<K, ShingleSet> for SetBytes {
    fn weight(&self, _key: &K, set: &ShingleSet) -> u64 {
        size_of_val(set.as_slice()) as u64 + 64
    }
}

/// A collection's part of a cache of sets. Collections have different seeds, so a fingerprint names
/// a set only together with its collection.
#[derive(Clone)]
pub struct SetCache {
    /// By the collection's number and the fingerprint.
    sets: Arc<Cache<(u64, u64), ShingleSet, SetBytes>>,
    collections: Arc<AtomicU64>,
    collection: u64,
}

impl SetCache {
    #[must_use]
    pub fn new(bytes: u64) -> Self {
        // The cache needs an estimate of its number of entries: pages have about a thousand
        // shingles.
        let sets_expected = usize::try_from(bytes / 8_192).unwrap_or(usize::MAX).max(16);
        let sets = Arc::new(Cache::with_weighter(sets_expected, bytes, SetBytes));
        Self { sets, collections: Arc::default(), collection: 0 }
    }

    /// The same cache for another collection. Numbers are never reused, so no lookup finds the sets
    /// of a removed collection, and they are evicted first.
    #[must_use]
    pub fn of_next_collection(&self) -> Self {
        let collection = self.collections.fetch_add(1, Ordering::Relaxed) + 1;
        Self { collection, ..self.clone() }
    }

    #[must_use]
    pub fn get(&self, fingerprint: u64) -> Option<ShingleSet> {
        self.sets.get(&(self.collection, fingerprint))
    }

    pub fn insert(&self, fingerprint: u64, set: ShingleSet) {
        self.sets.insert((self.collection, fingerprint), set);
    }
}

impl fmt::Debug for SetCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SetCache").field("capacity", &self.sets.capacity()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(first: u64) -> ShingleSet {
        ShingleSet::from_ascending((first..first + 100).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn collections_share_the_bytes_and_not_the_sets() {
        let of_all = SetCache::new(10_000);
        let (a, b) = (of_all.of_next_collection(), of_all.of_next_collection());
        a.insert(7, set(1));
        assert_eq!(b.get(7), None);
        b.insert(7, set(2));
        assert_eq!((a.get(7), b.get(7)), (Some(set(1)), Some(set(2))));
        for fingerprint in 0..1_000 {
            a.insert(fingerprint, set(fingerprint));
            b.insert(fingerprint, set(fingerprint));
        }
        assert!(of_all.sets.weight() <= 10_000, "{}", of_all.sets.weight());
    }
}
