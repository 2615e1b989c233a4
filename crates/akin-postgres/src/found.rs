//! The sets that calls find by keys.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tokio_postgres::Row;

use crate::coalescing::{ReadRequest, Weight};

/// The keys of a lookup, and its own set.
pub(crate) struct ProbeKeys {
    pub keys: Vec<i64>,
    pub equal: Option<i64>,
    /// Sets of each key that are compared, at most. A further set is read, to know whether there are
    /// more.
    pub of_key: usize,
}

/// A stored set.
pub(crate) struct NearSet {
    pub entry: i64,
    pub shingles: u32,
    pub sketch: Vec<u8>,
    /// The keys that led to it.
    pub keys: Vec<i64>,
}

/// The sets that calls have found, by key and by number.
#[derive(Default)]
pub(crate) struct FoundSets {
    by_key: HashMap<i64, Vec<Arc<NearSet>>>,
    by_entry: HashMap<i64, Arc<NearSet>>,
}

impl ProbeKeys {
    /// Adds keys of which so many sets are read. `false`: one call would read too many rows, so none
    /// is added.
    pub fn add_keys(&mut self, keys: &[i64], of_key: usize) -> bool {
        let added = Weight { keys: keys.len(), of_key, others: 0 };
        let Some(with) = self.weight().with_next(added) else {
            return false;
        };
        self.keys.extend_from_slice(keys);
        self.of_key = with.of_key;
        true
    }
}

impl NearSet {
    /// Of a row of `candidates`, whose columns begin with `first`.
    pub fn of(row: &Row, first: usize) -> Self {
        Self {
            entry: row.get(first),
            shingles: row.get::<_, i32>(first + 1) as u32,
            sketch: row.get(first + 2),
            keys: row.get(first + 3),
        }
    }
}

impl FoundSets {
    pub fn len(&self) -> usize {
        self.by_entry.len()
    }

    /// Adds the sets of these keys, and none that a call returned for other requests.
    pub fn add_of_keys(&mut self, keys: &HashSet<i64>, further: &Self) {
        let has_one = |near: &&Arc<NearSet>| near.keys.iter().any(|key| keys.contains(key));
        let sets = further.by_entry.values().filter(has_one);
        sets.for_each(|near| self.add(Arc::clone(near)));
    }

    /// Whether a key has more sets.
    pub fn has_more(&self, key: i64, sets: usize) -> bool {
        self.by_key.get(&key).is_some_and(|of| of.len() > sets)
    }

    /// In the place of earlier data of the same set.
    pub fn add(&mut self, near: Arc<NearSet>) {
        for key in &near.keys {
            let sets = self.by_key.entry(*key).or_default();
            match sets.binary_search_by_key(&near.entry, |of| of.entry) {
                Ok(at) => sets[at] = Arc::clone(&near),
                Err(at) => sets.insert(at, Arc::clone(&near)),
            }
        }
        self.by_entry.insert(near.entry, near);
    }

    /// The sets of a probe, so many of each key, each with the number of its keys, and whether a key
    /// has more.
    pub fn of(&self, probe: &ProbeKeys, of_key: usize) -> (Vec<(Arc<NearSet>, u32)>, bool) {
        let (mut shared, mut are_more) = (HashMap::<i64, u32>::new(), false);
        for key in &probe.keys {
            let sets = self.by_key.get(key).map_or(&[][..], Vec::as_slice);
            are_more |= sets.len() > of_key;
            for near in sets.iter().take(of_key) {
                *shared.entry(near.entry).or_default() += 1;
            }
        }
        if let Some(equal) = probe.equal.filter(|equal| self.by_entry.contains_key(equal)) {
            shared.insert(equal, probe.keys.len() as u32);
        }
        let set = |(entry, shared)| Some((Arc::clone(self.by_entry.get(&entry)?), shared));
        (shared.into_iter().filter_map(set).collect(), are_more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Also if the document that is added last reads more of each key than those before it.
    #[test]
    fn the_rows_that_a_call_reads_further_are_limited() {
        let mut asked = ProbeKeys { keys: Vec::new(), equal: None, of_key: 0 };
        for document in 0..10_i64 {
            let keys: Vec<i64> = (0..32).map(|key| 32 * document + key).collect();
            assert!(asked.add_keys(&keys, 200));
        }
        assert!(!asked.add_keys(&[-1], 1_000), "321,000 rows");
        assert!(!asked.add_keys(&[-1; 8], 200), "65,600 rows");
        assert!(asked.add_keys(&[-1], 200));
        assert_eq!((asked.keys.len(), asked.of_key), (321, 200));
    }

    /// A call answers requests of other collections, too.
    #[test]
    fn of_a_shared_call_the_sets_of_asked_keys_are_added() {
        let mut shared = FoundSets::default();
        for (entry, keys) in [(1, vec![10]), (2, vec![10, 20]), (3, vec![20]), (4, vec![])] {
            shared.add(Arc::new(NearSet { entry, shingles: 1, sketch: Vec::new(), keys }));
        }
        let mut found = FoundSets::default();
        found.add_of_keys(&HashSet::from([10, 30]), &shared);
        let mut entries: Vec<i64> = found.by_entry.into_keys().collect();
        entries.sort_unstable();
        assert_eq!(entries, [1, 2]);
    }
}
