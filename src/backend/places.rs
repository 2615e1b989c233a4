//! Who is on the way, by the keys they will be found under.
//!
//! A document has many keys and is on its way for a moment. So nothing is taken out when it
//! leaves: whoever has left is passed over, and dropped when the table is made anew.

use crate::scheme::Key;
use crate::simd::prefetch;

/// Ends a chain.
const NONE: u32 = u32::MAX;

/// Buckets of the smallest table: about two documents' keys.
const BUCKETS_MIN: usize = 64;

/// A hash table with a chain of entries, the newest first, for each bucket.
#[derive(Debug, Default)]
pub(super) struct PlacesByKey {
    /// The newest entry of each bucket, by its number in `entries`; a power of two of them.
    newest: Vec<u32>,
    entries: Vec<Entry>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    key: Key,
    place: u64,
    /// The next older entry of the bucket.
    older: u32,
}

impl PlacesByKey {
    /// Files a place under its keys. `is_there` tells who has not left.
    pub fn insert(
        &mut self,
        place: u64,
        keys: impl Iterator<Item = Key> + Clone,
        is_there: impl Fn(u64) -> bool,
    ) {
        let count = keys.clone().count();
        if self.entries.len() + count > self.newest.len() {
            self.make_anew(count, is_there);
        }
        for key in keys {
            self.link(Entry { key, place, older: NONE });
        }
    }

    /// Every place that was filed under the key, the latest first, and perhaps some that were left.
    pub fn under(&self, key: Key) -> impl Iterator<Item = u64> {
        let first = self.newest.get(self.bucket(key)).and_then(|&newest| self.entry(newest));
        let chain = std::iter::successors(first, |entry| self.entry(entry.older));
        chain.filter(move |entry| entry.key == key).map(|entry| entry.place)
    }

    /// Begins to fetch what [`under`](Self::under) reads of each key: all at once that takes a
    /// fraction of the time that it takes one after the other.
    pub fn prefetch(&self, keys: &[Key]) {
        let newest = || keys.iter().filter_map(|key| self.newest.get(self.bucket(*key)));
        newest().for_each(prefetch);
        newest().filter_map(|&newest| self.entry(newest)).for_each(prefetch);
    }

    /// Nobody is on the way any more.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Drops those who have left, and makes room for so many keys and as many as there are.
    fn make_anew(&mut self, keys: usize, is_there: impl Fn(u64) -> bool) {
        // An entry's neighbours are mostly of the same place.
        let mut last = None;
        let mut entries = std::mem::take(&mut self.entries);
        entries.retain(|entry| match last {
            Some((place, there)) if place == entry.place => there,
            _ => {
                let there = is_there(entry.place);
                last = Some((entry.place, there));
                there
            }
        });
        let buckets = (2 * (entries.len() + keys)).next_power_of_two().max(BUCKETS_MIN);
        self.newest.clear();
        self.newest.resize(buckets, NONE);
        self.entries.reserve_exact(buckets);
        for entry in entries {
            self.link(entry);
        }
    }

    fn link(&mut self, entry: Entry) {
        let bucket = self.bucket(entry.key);
        let number = self.entries.len() as u32;
        let older = std::mem::replace(&mut self.newest[bucket], number);
        self.entries.push(Entry { older, ..entry });
    }

    fn entry(&self, number: u32) -> Option<&Entry> {
        self.entries.get(number as usize)
    }

    /// Keys are hashes already; the upper bits of a product depend on all of theirs (Knuth).
    fn bucket(&self, key: Key) -> usize {
        let both = u64::from(key.table) << 32 | u64::from(key.value);
        let bits = self.newest.len().checked_ilog2().unwrap_or(0);
        (both.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32 >> (32 - bits)) as usize
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    fn keys(values: &[u32]) -> Vec<Key> {
        let key = |(table, value): (usize, &u32)| Key { table: table as u32, value: *value };
        values.iter().enumerate().map(key).collect()
    }

    #[test]
    fn nobody_is_found_in_an_empty_table() {
        let places = PlacesByKey::default();
        assert_eq!(places.under(Key { table: 1, value: 2 }).count(), 0);
    }

    #[test]
    fn what_is_left_does_not_pile_up() {
        let mut places = PlacesByKey::default();
        for place in 0..10_000 {
            let keys = keys(&[place as u32; 32]);
            places.insert(place, keys.into_iter(), |other| other + 3 > place);
        }
        assert!(places.entries.capacity() <= 512, "{}", places.entries.capacity());
    }

    proptest! {
        /// Beside a map that forgets who leaves at once.
        #[test]
        fn all_that_are_there_are_found(
            documents in prop::collection::vec((prop::collection::vec(0_u32..4, 1..40), 1_u64..60),
                1..200),
        ) {
            let mut places = PlacesByKey::default();
            let mut there: BTreeMap<u64, (Vec<Key>, u64)> = BTreeMap::new();
            for (place, (values, stay)) in documents.iter().enumerate() {
                let (place, keys) = (place as u64, keys(values));
                there.retain(|_, (_, until)| *until > place);
                for key in &keys {
                    let sharing = there.iter().filter(|(_, (keys, _))| keys.contains(key));
                    let expected: BTreeSet<u64> = sharing.map(|(place, _)| *place).collect();
                    let found = places.under(*key).filter(|place| there.contains_key(place));
                    prop_assert_eq!(found.collect::<BTreeSet<_>>(), expected);
                }
                let filed = keys.iter().copied();
                places.insert(place, filed, |place| there.contains_key(&place));
                there.insert(place, (keys, place + stay));
            }
        }
    }
}
