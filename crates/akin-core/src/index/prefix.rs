//! The prefix index: element → the sets with this element in their prefix, with its position.
//!
//! Elements are ordered by hash until there are enough sets to distinguish rare elements from
//! common elements. Then these sets are indexed again in the final order, in a second table that
//! replaces the first atomically: each lookup uses one of the two tables.

use std::collections::HashMap;
use std::sync::Arc;

use super::postings::{Postings, PostingsSize};
use super::shards::{Multiplicative, Mutex, MutexGuard, PoisonError, RwLock};
use crate::scheme::{ElementOrder, FrequencySample, Key, SizeReach, Threshold, prefix_len};
use crate::text::ShingleSet;

/// Bits of an element that select its page.
const PAGE_BITS: u32 = 8;

/// Sets indexed in the same order of elements.
#[derive(Debug)]
struct PrefixTable {
    order: ElementOrder,
    is_final: bool,
    postings: Postings<SizeReach>,
}

/// The sets from which the order will be computed.
#[derive(Debug, Default)]
struct Sampling {
    sample: FrequencySample,
    sets: Vec<(u32, ShingleSet)>,
}

#[derive(Debug)]
pub(super) struct PrefixIndex {
    /// The lowest threshold that the index serves.
    from: Threshold,
    table: RwLock<Arc<PrefixTable>>,
    /// `None` once the order is final. Until then it is held while sets are inserted or removed,
    /// and acquired before the other locks.
    sampling: Mutex<Option<Sampling>>,
}

/// Entries that share elements at positions that admit the threshold, with the number of these
/// elements.
pub(super) type Sharing = HashMap<u32, u32, Multiplicative>;

impl PrefixIndex {
    pub fn new(from: Threshold) -> Self {
        Self {
            from,
            table: RwLock::new(Arc::new(PrefixTable::new(ElementOrder::default(), false))),
            sampling: Mutex::new(Some(Sampling::default())),
        }
    }

    pub fn serves(&self, threshold: Threshold) -> bool {
        threshold >= self.from
    }

    /// Inserts a new set.
    pub fn insert(&self, entry: u32, set: &ShingleSet) {
        let mut sampling = self.sampling();
        self.table().insert(entry, set, self.from);
        if let Some(sampled) = sampling.as_deref_mut().and_then(Option::as_mut) {
            sampled.sample.add(set.as_slice());
            sampled.sets.push((entry, set.clone()));
            if sampled.sample.is_whole() {
                let sampled = sampling.as_deref_mut().and_then(Option::take);
                self.finish(sampled.unwrap_or_default());
            }
        }
    }

    /// Removes a set. Without `set` its postings stay: they cost lookup time, as the number may be
    /// reused for another set, but cause no misses.
    pub fn remove(&self, entry: u32, set: Option<&ShingleSet>) {
        let mut sampling = self.sampling();
        if let Some(sampled) = sampling.as_deref_mut().and_then(Option::as_mut) {
            sampled.sets.retain(|(sampled, _)| *sampled != entry);
        }
        if let Some(set) = set {
            self.table().remove(entry, set, self.from);
        }
    }

    /// A superset of the sets that reach the threshold of resemblance to this set. The index must
    /// [serve](Self::serves) the threshold. `None` if there are more than `postings_max` postings.
    pub fn sharing(
        &self,
        set: &ShingleSet,
        threshold: Threshold,
        postings_max: usize,
    ) -> Option<Sharing> {
        let table = self.table();
        let mut sharing = Sharing::default();
        let mut left = postings_max;
        let elements = table.prefix(set, threshold);
        table.prefetch(&elements);
        for (at, element) in elements.into_iter().enumerate() {
            let own = SizeReach::at(threshold, set.count() as u32, at as u32);
            let count = table.postings.read(key(element), left, |entry, place| {
                if own.admits(place) {
                    *sharing.entry(entry).or_default() += 1;
                }
            });
            left = left.checked_sub(count)?;
        }
        Some(sharing)
    }

    #[cfg(test)]
    pub fn is_final(&self) -> bool {
        self.table().is_final
    }

    pub fn size(&self) -> PostingsSize {
        let table = self.table();
        let mut size = table.postings.size();
        size.bytes += table.order.bytes() as u64;
        size
    }

    /// Indexes the sampled sets in the final order. Running lookups continue with the old table,
    /// which lacks only the sets inserted later.
    fn finish(&self, Sampling { sample, sets }: Sampling) {
        let table = PrefixTable::new(sample.order(), true);
        for (entry, set) in &sets {
            table.insert(*entry, set, self.from);
        }
        *self.table.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(table);
    }

    fn table(&self) -> Arc<PrefixTable> {
        Arc::clone(&self.table.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// `None` once the order is final.
    fn sampling(&self) -> Option<MutexGuard<'_, Option<Sampling>>> {
        if self.table().is_final {
            return None;
        }
        let sampling = self.sampling.lock().unwrap_or_else(PoisonError::into_inner);
        sampling.is_some().then_some(sampling)
    }
}

impl PrefixTable {
    fn new(order: ElementOrder, is_final: bool) -> Self {
        Self { order, is_final, postings: Postings::new(PAGE_BITS) }
    }

    fn insert(&self, entry: u32, set: &ShingleSet, from: Threshold) {
        let elements = self.prefix(set, from);
        self.prefetch(&elements);
        let reach = |at| SizeReach::at(from, set.count() as u32, at as u32);
        let keys = elements.into_iter().enumerate().map(|(at, element)| (key(element), reach(at)));
        self.postings.insert(entry, keys);
    }

    fn prefetch(&self, elements: &[u64]) {
        for element in elements {
            self.postings.prefetch(key(*element));
        }
    }

    fn remove(&self, entry: u32, set: &ShingleSet, from: Threshold) {
        self.postings.remove(entry, self.prefix(set, from).into_iter().map(key));
    }

    fn prefix(&self, set: &ShingleSet, threshold: Threshold) -> Vec<u64> {
        self.order.prefix(set.as_slice(), prefix_len(threshold, set.count()))
    }
}

/// Elements are hashes, so half an element is almost as good a key: a collision only adds a
/// candidate.
fn key(element: u64) -> Key {
    Key { table: 0, value: (element >> 32) as u32 }
}
