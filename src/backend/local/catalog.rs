//! Ids by ordinal, and ordinals by id, of every stored document.

use std::collections::BinaryHeap;
use std::hash::{BuildHasher, RandomState};
use std::mem::size_of;
use std::sync::atomic::{AtomicU64, Ordering};

use dashmap::DashMap;

use super::expiries::Expiries;
use crate::document::{DocumentId, Ordinal};

/// What answers need of a document and the index does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Listing {
    pub id: DocumentId,
    pub fingerprint: u64,
    pub has_metadata: bool,
}

#[derive(Debug, Default)]
pub(super) struct Catalog {
    by_id: DashMap<DocumentId, Ordinal>,
    by_ordinal: DashMap<Ordinal, Listing>,
    id_bytes: AtomicU64,
    /// Of those listed, and of those about to be.
    pub expiries: Expiries,
}

impl Catalog {
    pub fn with_capacity(documents: usize) -> Self {
        Self {
            by_id: DashMap::with_capacity(documents),
            by_ordinal: DashMap::with_capacity(documents),
            id_bytes: AtomicU64::new(0),
            expiries: Expiries::default(),
        }
    }

    /// Lists a document; what its id stood for before goes.
    pub fn insert(&self, ordinal: Ordinal, mut listing: Listing) {
        // A map keeps the key it has: take that one, so that an id is held in memory once.
        if let Some(listed) = self.by_id.get(&listing.id) {
            listing.id = listed.key().clone();
        } else {
            self.id_bytes.fetch_add(heap_bytes(&listing.id), Ordering::Relaxed);
        }
        let id = listing.id.clone();
        self.by_ordinal.insert(ordinal, listing);
        if let Some(old) = self.by_id.insert(id, ordinal).filter(|old| *old != ordinal) {
            self.by_ordinal.remove(&old);
            self.expiries.remove(old);
        }
    }

    pub fn remove(&self, id: &DocumentId) {
        if let Some((id, ordinal)) = self.by_id.remove(id) {
            self.id_bytes.fetch_sub(heap_bytes(&id), Ordering::Relaxed);
            self.by_ordinal.remove(&ordinal);
            self.expiries.remove(ordinal);
        }
    }

    pub fn ordinal(&self, id: &DocumentId) -> Option<Ordinal> {
        self.by_id.get(id).map(|ordinal| *ordinal)
    }

    /// The document with this id, unless it has expired.
    pub fn alive(&self, id: &DocumentId, now_ms: i64) -> Option<Ordinal> {
        self.ordinal(id).filter(|ordinal| !self.expiries.has_expired(*ordinal, now_ms))
    }

    pub fn listing(&self, ordinal: Ordinal) -> Option<Listing> {
        self.by_ordinal.get(&ordinal).map(|listing| listing.clone())
    }

    /// Also those that have expired and are still to be removed.
    pub fn documents(&self) -> u64 {
        self.by_ordinal.len() as u64
    }

    /// So many ids drawn at random, in random order: those whose ordinals have the least hashes.
    pub fn sample(&self, documents: usize, now_ms: i64) -> Vec<DocumentId> {
        let random = RandomState::new();
        let mut least = BinaryHeap::with_capacity(documents.min(self.by_ordinal.len()) + 1);
        for listing in &self.by_ordinal {
            let hash = random.hash_one(listing.key());
            // Most are over the greatest: then the id need not be copied.
            let is_low =
                least.len() < documents || least.peek().is_some_and(|(most, _)| hash < *most);
            if is_low && !self.expiries.has_expired(*listing.key(), now_ms) {
                least.push((hash, listing.id.clone()));
            }
            if least.len() > documents {
                least.pop();
            }
        }
        least.into_sorted_vec().into_iter().map(|(_, id)| id).collect()
    }

    /// Memory of the maps and of the ids, which they share.
    pub fn bytes(&self) -> u64 {
        let by_id = self.by_id.capacity() * (size_of::<(DocumentId, Ordinal)>() + 1);
        let by_ordinal = self.by_ordinal.capacity() * (size_of::<(Ordinal, Listing)>() + 1);
        let ids = self.id_bytes.load(Ordering::Relaxed);
        (by_id + by_ordinal) as u64 * 8 / 7 + ids + self.expiries.bytes()
    }
}

/// An id's text with the two counters of its `Arc`.
fn heap_bytes(id: &DocumentId) -> u64 {
    (id.as_str().len() + 2 * size_of::<usize>()) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing(id: &str) -> Listing {
        Listing { id: DocumentId::new(id).unwrap(), fingerprint: 7, has_metadata: false }
    }

    #[test]
    fn a_sample_is_drawn_from_all_and_each_time_anew() {
        let catalog = Catalog::default();
        for number in 0..100 {
            catalog.insert(Ordinal(number), listing(&format!("{number:03}")));
        }
        let all: Vec<_> = {
            let mut all = catalog.sample(1_000, 0);
            all.sort();
            all.iter().map(ToString::to_string).collect()
        };
        assert_eq!(all, (0..100).map(|number| format!("{number:03}")).collect::<Vec<_>>());
        let mut drawn = std::collections::HashSet::new();
        for _ in 0..100 {
            let sample = catalog.sample(10, 0);
            assert_eq!(sample.len(), 10);
            drawn.extend(sample);
        }
        // That one is never drawn has a chance of 0.9¹⁰⁰.
        assert!(drawn.len() > 95, "{} of 100 were drawn", drawn.len());
        assert!(catalog.sample(0, 0).is_empty());
    }

    #[test]
    fn a_replacement_leaves_nothing_of_the_old() {
        let catalog = Catalog::default();
        let empty = catalog.bytes();
        catalog.expiries.insert(Ordinal(1), 10);
        catalog.insert(Ordinal(1), listing("a"));
        catalog.insert(Ordinal(2), listing("a"));
        let id = listing("a").id;
        assert_eq!((catalog.ordinal(&id), catalog.documents()), (Some(Ordinal(2)), 1));
        assert!(catalog.listing(Ordinal(1)).is_none() && catalog.expiries.of(Ordinal(1)).is_none());
        catalog.remove(&id);
        catalog.remove(&id);
        assert_eq!((catalog.ordinal(&id), catalog.documents()), (None, 0));
        assert_eq!(catalog.id_bytes.load(Ordering::Relaxed), 0);
        assert!(catalog.bytes() >= empty);
    }
}
