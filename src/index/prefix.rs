//! The prefix index: element → the sets that have it among their first ones, with its place.
//!
//! Sets stand in it by their entry numbers. Taking the postings of a set out one by one would take
//! the set itself, which is on disk: so a dead entry's number is *parked*, to be given out again
//! only once a pass over all postings has dropped those of the parked. That happens when more are
//! parked than live.
//!
//! The order of elements is that of their hashes until enough sets are filed to tell rare elements
//! from common ones. Then those sets are filed anew in the order that stays, beside the old ones,
//! and take their place at once: a lookup works with the ones or with the others.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use super::postings::{Posting, Postings, PostingsSize, Spreading};
use crate::scheme::{Order, Place, Sample, Threshold, prefix_len};
use crate::text::ShingleSet;

/// Parts of the postings, each of which is locked by itself while the parked are dropped.
const PARTS: usize = 64;

/// So many numbers may be parked whatever lives.
const PARKED_SURE: usize = 1_024;

/// A set that has an element at this place.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Placed {
    entry: u32,
    place: Place,
}

impl Posting for Placed {
    const CROWDED: Self = Self { entry: u32::MAX, place: Place { position: 0, suffix: 0 } };
}

/// Sets in one order of elements.
#[derive(Debug)]
struct Filed {
    order: Order,
    postings: Postings<Placed>,
}

/// The sets that the order will be made from.
#[derive(Debug, Default)]
struct Sampling {
    sample: Sample,
    sets: Vec<(u32, ShingleSet)>,
}

#[derive(Debug)]
pub(super) struct PrefixIndex {
    /// The lowest threshold that sets are filed for.
    from: Threshold,
    filed: RwLock<Arc<Filed>>,
    /// `None` once the order is frozen. Held while sets are filed before that, and while the
    /// postings of the parked are dropped; taken before every other lock here.
    sampling: Mutex<Option<Sampling>>,
    parked: Mutex<Vec<u32>>,
}

/// Entries that share elements of the prefix at places that admit the threshold, and how many.
pub(super) type Sharing = HashMap<u32, u32, Spreading>;

impl PrefixIndex {
    pub fn new(from: Threshold) -> Self {
        Self {
            from,
            filed: RwLock::new(Arc::new(Filed::new(Order::default()))),
            sampling: Mutex::new(Some(Sampling::default())),
            parked: Mutex::default(),
        }
    }

    pub fn serves(&self, threshold: Threshold) -> bool {
        threshold >= self.from
    }

    /// Files a set that is not there yet.
    pub fn insert(&self, entry: u32, set: &ShingleSet) {
        let mut sampling = self.sampling();
        let Some(sampled) = sampling.as_mut() else {
            drop(sampling);
            self.filed().insert(entry, set, self.from);
            return;
        };
        self.filed().insert(entry, set, self.from);
        sampled.sample.add(set.as_slice());
        sampled.sets.push((entry, set.clone()));
        if sampled.sample.is_whole() {
            self.freeze(sampling.take().unwrap_or_default());
        }
    }

    /// The number of a set that died: it must not be given out again before [`Self::unpark`] gives
    /// it back.
    pub fn park(&self, entry: u32) {
        self.parked().push(entry);
    }

    pub fn parked_count(&self) -> usize {
        self.parked().len()
    }

    /// Drops the postings of parked numbers if there are more of them than of the `living`, and
    /// gives those numbers back.
    pub fn unpark(&self, living: u64) -> Vec<u32> {
        let due = |parked: usize| parked > PARKED_SURE && parked as u64 > living;
        if !due(self.parked_count()) {
            return Vec::new();
        }
        let mut sampling = self.sampling();
        let parked = std::mem::take(&mut *self.parked());
        let dead: HashSet<u32, Spreading> = parked.iter().copied().collect();
        if let Some(sampled) = sampling.as_mut() {
            sampled.sets.retain(|(entry, _)| !dead.contains(entry));
        }
        self.filed().postings.retain(|placed| !dead.contains(&placed.entry));
        parked
    }

    /// The sets that may resemble this one as much as the threshold, for which the index must
    /// [serve](Self::serves): each of those that do is among them. `None` if there are more
    /// postings than `postings_max`.
    pub fn sharing(
        &self,
        set: &ShingleSet,
        threshold: Threshold,
        postings_max: usize,
    ) -> Option<Sharing> {
        let filed = self.filed();
        let mut sharing = Sharing::default();
        let mut left = postings_max;
        for (at, element) in filed.prefix(set, threshold).into_iter().enumerate() {
            let own = Place::new(at, set.count());
            let read = filed.postings.read(key(element), |postings| {
                left = left.checked_sub(postings.len())?;
                for placed in postings.iter().filter(|placed| own.admits(placed.place, threshold)) {
                    *sharing.entry(placed.entry).or_default() += 1;
                }
                Some(())
            });
            if read == Some(None) {
                return None;
            }
        }
        Some(sharing)
    }

    #[cfg(test)]
    pub fn is_frozen(&self) -> bool {
        self.sampling().is_none()
    }

    pub fn size(&self) -> PostingsSize {
        let filed = self.filed();
        let mut size = filed.postings.size();
        size.bytes += filed.order.bytes() as u64;
        size
    }

    /// Files the sampled sets in the order that stays. Who has got hold of the old ones goes on
    /// with them: they lack only what is filed later.
    fn freeze(&self, sampling: Sampling) {
        let filed = Filed::new(sampling.sample.order());
        for (entry, set) in &sampling.sets {
            filed.insert(*entry, set, self.from);
        }
        *self.filed.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(filed);
    }

    fn filed(&self) -> Arc<Filed> {
        Arc::clone(&self.filed.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn sampling(&self) -> MutexGuard<'_, Option<Sampling>> {
        self.sampling.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn parked(&self) -> MutexGuard<'_, Vec<u32>> {
        self.parked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Filed {
    fn new(order: Order) -> Self {
        Self { order, postings: Postings::in_parts(PARTS) }
    }

    fn insert(&self, entry: u32, set: &ShingleSet, from: Threshold) {
        for (at, element) in self.prefix(set, from).into_iter().enumerate() {
            let place = Place::new(at, set.count());
            self.postings.insert(key(element), Placed { entry, place });
        }
    }

    fn prefix(&self, set: &ShingleSet, threshold: Threshold) -> Vec<u64> {
        self.order.prefix(set.as_slice(), prefix_len(threshold, set.count()))
    }
}

/// Elements are hashes, so half of one is nearly as good a key: two that share it only make sets
/// candidates that need not be.
fn key(element: u64) -> u32 {
    (element >> 32) as u32
}
