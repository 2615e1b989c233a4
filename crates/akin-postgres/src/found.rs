//! The sets that calls find by keys.

use std::collections::HashMap;
use std::sync::Arc;

use quick_cache::Weighter;
use quick_cache::sync::Cache;
use tokio_postgres::Row;

use crate::coalescing::{ReadRequest, Weight};
use crate::rows::list;

/// Bytes of the sketches that a process keeps.
const SKETCH_BYTES: u64 = 16 << 20;

/// Bytes of a kept sketch of 128 slots.
const SKETCH_BYTES_USUAL: usize = 256;

/// The keys of a lookup, and its own set.
pub(crate) struct ProbeKeys {
    pub keys: Vec<i64>,
    pub equal: Option<i64>,
    /// Sets of each key that are compared, at most. A further set is read, to know whether there
    /// are more.
    pub of_key: usize,
}

/// A stored set.
pub(crate) struct NearSet {
    pub entry: i64,
    pub shingles: u32,
    pub sketch: Box<[u8]>,
}

/// The sketches of sets that were written or found, by the time at which their collection was
/// created, and their numbers: the sets of a crowd are found again and again.
pub(crate) type SketchCache = Cache<(i64, i64), Arc<NearSet>, SketchBytes>;

#[derive(Clone)]
pub(crate) struct SketchBytes;

impl Weighter<(i64, i64), Arc<NearSet>> for SketchBytes {
    fn weight(&self, _: &(i64, i64), set: &Arc<NearSet>) -> u64 {
        (set.sketch.len() + SKETCH_BYTES_USUAL / 2) as u64
    }
}

pub(crate) fn sketch_cache() -> SketchCache {
    Cache::with_weighter(SKETCH_BYTES as usize / SKETCH_BYTES_USUAL, SKETCH_BYTES, SketchBytes)
}

/// The sets that calls have found, by key and by number.
#[derive(Default)]
pub(crate) struct FoundSets {
    /// Ascending.
    by_key: HashMap<i64, Vec<i64>>,
    /// `None` until its sketch is known.
    by_entry: HashMap<i64, Option<Arc<NearSet>>>,
}

impl ProbeKeys {
    /// Adds keys of which so many sets are read. `false`: one call would read too many rows, so
    /// none is added.
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
    /// Of a row of `akin.sketches`, whose columns begin with `first`.
    pub fn of(row: &Row, first: usize) -> impl Iterator<Item = Arc<Self>> {
        let (entries, sizes) = (list(row, first), list::<i32>(row, first + 1));
        let sketches = list::<&[u8]>(row, first + 2);
        entries.into_iter().zip(sizes).zip(sketches).map(|((entry, shingles), sketch)| {
            Arc::new(Self { entry, shingles: shingles as u32, sketch: sketch.into() })
        })
    }
}

impl FoundSets {
    pub fn len(&self) -> usize {
        self.by_entry.len()
    }

    /// Adds the sets of a row of `akin.candidates`, whose columns begin with `first`.
    pub fn add(&mut self, row: &Row, first: usize) {
        for (key, entry) in list::<Option<i64>>(row, first).into_iter().zip(list(row, first + 1)) {
            self.by_entry.entry(entry).or_default();
            let Some(key) = key else { continue };
            let sets = self.by_key.entry(key).or_default();
            if let Err(at) = sets.binary_search(&entry) {
                sets.insert(at, entry);
            }
        }
    }

    pub fn know(&mut self, set: Arc<NearSet>) {
        self.by_entry.insert(set.entry, Some(set));
    }

    /// Takes sketches from a cache, and returns the sets without a sketch.
    pub fn know_of(&mut self, known: impl Fn(i64) -> Option<Arc<NearSet>>) -> Vec<i64> {
        let mut missing = Vec::new();
        for (entry, set) in self.by_entry.iter_mut().filter(|(_, set)| set.is_none()) {
            *set = known(*entry);
            missing.extend(set.is_none().then_some(*entry));
        }
        missing
    }

    /// Whether a key has more sets.
    pub fn has_more(&self, key: i64, sets: usize) -> bool {
        self.by_key.get(&key).is_some_and(|of| of.len() > sets)
    }

    /// The sets of a probe, so many of each key, each with the number of its keys, and whether a
    /// key has more.
    pub fn of(&self, probe: &ProbeKeys, of_key: usize) -> (Vec<(Arc<NearSet>, u32)>, bool) {
        let (mut shared, mut are_more) = (Vec::new(), false);
        for key in &probe.keys {
            let sets = self.by_key.get(key).map_or(&[][..], Vec::as_slice);
            are_more |= sets.len() > of_key;
            shared.extend(sets.iter().take(of_key).filter(|set| Some(**set) != probe.equal));
        }
        shared.sort_unstable();
        let counted = shared.chunk_by(i64::eq).map(|of| (of[0], of.len()));
        let sets = counted.chain(probe.equal.map(|equal| (equal, probe.keys.len())));
        let known = |(entry, keys): (i64, usize)| {
            Some((Arc::clone(self.by_entry.get(&entry)?.as_ref()?), keys as u32))
        };
        (sets.filter_map(known).collect(), are_more)
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

    #[test]
    fn the_bytes_of_the_sketches_that_are_kept_are_limited() {
        let cache = sketch_cache();
        let sketch = vec![0; 64 << 10].into_boxed_slice();
        for entry in 0..2 * SKETCH_BYTES.cast_signed() / (64 << 10) {
            cache.insert(
                (0, entry),
                Arc::new(NearSet { entry, shingles: 1, sketch: sketch.clone() }),
            );
        }
        assert!(cache.weight() <= SKETCH_BYTES, "{}", cache.weight());
        assert!(cache.len() > 100, "{}", cache.len());
    }
}
