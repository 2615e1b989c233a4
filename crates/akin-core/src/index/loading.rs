//! Bulk loading, which is many times as fast as single insertions: the sets of a batch are inserted
//! table by table, in memory order.

use smallvec::SmallVec;

use super::Index;
use super::insertion::fold;
use super::postings::Postings;
use crate::document::Ordinal;

/// Sets per batch.
const BATCH: usize = 1 << 15;

/// Collects sets and inserts them in batches. Each thread uses a loader of its own. Lookups find
/// the last sets once the loader is dropped.
pub struct Loader<'a> {
    index: &'a Index,
    /// The value of a sketch's key in a table; `None` for a sketch without a key there.
    value: &'a (dyn Fn(&[u8], u32) -> Option<u32> + Sync),
    sets: Vec<Loaded>,
    /// The concatenated sketches of all sets.
    sketches: Vec<u8>,
    sketch_bytes: usize,
}

struct Loaded {
    fingerprint: u64,
    shingles: u32,
    members: SmallVec<[Ordinal; 2]>,
}

impl Index {
    /// `value`: the value of a sketch's key in a table; `None` for a sketch without a key there.
    pub fn loader<'a>(
        &'a self,
        value: &'a (dyn Fn(&[u8], u32) -> Option<u32> + Sync),
    ) -> Loader<'a> {
        Loader { index: self, value, sets: Vec::new(), sketches: Vec::new(), sketch_bytes: 0 }
    }
}

impl Loader<'_> {
    /// Adds a set with some of its members. A set may be added repeatedly, also to other loaders,
    /// with the same or other members.
    pub fn add(
        &mut self,
        fingerprint: u64,
        shingles: u32,
        sketch: &[u8],
        members: impl IntoIterator<Item = Ordinal>,
    ) {
        let members: SmallVec<_> = members.into_iter().collect();
        if members.is_empty() {
            return;
        }
        self.sets.push(Loaded { fingerprint, shingles, members });
        self.sketch_bytes = sketch.len();
        self.sketches.extend_from_slice(sketch);
        if self.sets.len() == BATCH {
            self.insert_batch();
        }
    }

    fn insert_batch(&mut self) {
        let new = self.insert_sets();
        let (mut postings, mut crowded) = (Vec::with_capacity(new.len()), Vec::new());
        let crowd_min = self.index.crowd_min();
        for table in 0..self.index.tables {
            postings.clear();
            let posting = |&(at, entry): &(u32, u32)| {
                let value = (self.value)(self.sketch(at as usize), table)?;
                Some((Postings::<()>::order(value), entry))
            };
            postings.extend(new.iter().filter_map(posting));
            postings.sort_unstable_by_key(|(order, _)| *order);
            crowded.extend(self.index.postings.insert_ordered(table, &postings, crowd_min));
        }
        self.index.index_pairs(crowded);
        self.sets.clear();
        self.sketches.clear();
    }

    /// The new sets, by their numbers in the batch and their entries.
    fn insert_sets(&self) -> Vec<(u32, u32)> {
        let index = self.index;
        let place = |set: &Loaded| Postings::<()>::order(fold(set.fingerprint).value);
        let mut order: Vec<(u32, u32)> = self.sets.iter().map(place).zip(0..).collect();
        order.sort_unstable();
        let mut new = Vec::with_capacity(order.len());
        for (_, at) in order {
            let Loaded { fingerprint, shingles, members } = &self.sets[at as usize];
            let _alone = index.alone_with(*fingerprint);
            let mut rest = members.iter();
            let entry = index.entry_of(*fingerprint).unwrap_or_else(|| {
                let first = *rest.next().expect("a set without members is not added");
                let sketch = self.sketch(at as usize);
                let entry = index.sets.add(*fingerprint, *shingles, sketch, first);
                index.fingerprints.insert(entry, [(fold(*fingerprint), ())]);
                new.push((at, entry));
                entry
            });
            rest.for_each(|ordinal| index.sets.add_member(entry, *ordinal));
        }
        // Sorted in the order of the sketches, which are read for each table.
        new.sort_unstable();
        new
    }

    fn sketch(&self, at: usize) -> &[u8] {
        &self.sketches[at * self.sketch_bytes..][..self.sketch_bytes]
    }
}

impl Drop for Loader<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.insert_batch();
        }
    }
}
