//! What is known of every stored document besides its set: by id, and by ordinal.
//!
//! Ordinals come in chunks, each of which holds the ids of its documents; the table from ids to
//! ordinals holds hashes alone and looks there whose they are. So a document takes about 35 bytes
//! and those of its id. Locks: the table's, then a chunk's; of each at most one at a time.

mod by_id;
mod chunk;
mod page;

use std::collections::BinaryHeap;
use std::convert::Infallible;
use std::hash::{BuildHasher, RandomState};
use std::mem::size_of;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use super::expiries::Expiries;
use crate::document::{DocumentId, Ordinal};
use by_id::ById;
use chunk::{Chunk, ORDINALS};

pub(super) use by_id::Noted;
pub(super) use chunk::Listed;

/// Chunks that follow each other are in different shards, so that whoever reads old documents is
/// not in the way of who stores new ones.
const SHARDS: usize = 64;

/// What answers need of a document and the index does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Listing {
    pub id: DocumentId,
    pub fingerprint: u64,
    pub has_metadata: bool,
}

#[cfg(test)]
impl Listing {
    fn listed(&self) -> Listed<'_> {
        let Self { id, fingerprint, has_metadata } = self;
        Listed { id: id.as_str(), fingerprint: *fingerprint, has_metadata: *has_metadata }
    }
}

/// Chunk `n` is the one at `n / SHARDS` of shard `n % SHARDS`. One without listings is not there.
type Shard = Vec<Option<Box<Chunk>>>;

#[derive(Debug)]
pub(super) struct Catalog {
    by_id: ById,
    shards: Box<[RwLock<Shard>]>,
    documents: AtomicU64,
    /// Of those listed, and of those about to be.
    pub expiries: Expiries,
}

impl Default for Catalog {
    fn default() -> Self {
        Self {
            by_id: ById::default(),
            shards: (0..SHARDS).map(|_| RwLock::default()).collect(),
            documents: AtomicU64::new(0),
            expiries: Expiries::default(),
        }
    }
}

impl Catalog {
    /// Lists a document; what its id stood for before goes.
    pub fn insert(&self, ordinal: Ordinal, listed: &Listed<'_>) {
        let id = listed.id;
        // Whoever finds the ordinal by the id is to find the listing, too.
        self.fill(ordinal, listed);
        let replaced = self.by_id.insert(id, ordinal, |other| self.has_id(other, id));
        if let Some(old) = replaced.filter(|old| *old != ordinal) {
            self.clear(old);
        }
    }

    /// Lists a document, which is found by its id only after [`Catalog::file_ids`]. It may come
    /// several times.
    pub fn list(&self, ordinal: Ordinal, listed: &Listed<'_>, noted: &mut Noted) {
        self.fill(ordinal, listed);
        self.by_id.note(listed.id, ordinal, noted);
    }

    /// Files the ids of all that was listed.
    pub fn file_ids(&self, noted: &[Noted]) {
        let have_one_id = |a: Ordinal, b: Ordinal| match self.listing(a) {
            Some(listing) => self.has_id(b, listing.id.as_str()),
            None => false,
        };
        let mut replaced = Vec::new();
        self.by_id.file(noted, have_one_id, |ordinal| replaced.push(ordinal));
        for ordinal in replaced {
            self.clear(ordinal);
        }
    }

    pub fn remove(&self, id: &DocumentId) {
        let id = id.as_str();
        if let Some(ordinal) = self.by_id.remove(id, |other| self.has_id(other, id)) {
            self.clear(ordinal);
        }
    }

    pub fn ordinal(&self, id: &DocumentId) -> Option<Ordinal> {
        let id = id.as_str();
        self.by_id.get(id, |other| self.has_id(other, id))
    }

    /// The document with this id, unless it has expired.
    pub fn alive(&self, id: &DocumentId, now_ms: i64) -> Option<Ordinal> {
        self.ordinal(id).filter(|ordinal| !self.expiries.has_expired(*ordinal, now_ms))
    }

    pub fn listing(&self, ordinal: Ordinal) -> Option<Listing> {
        self.read(ordinal, |listed| Listing {
            id: document_id(listed.id),
            fingerprint: listed.fingerprint,
            has_metadata: listed.has_metadata,
        })
    }

    /// Of the document's set.
    pub fn fingerprint(&self, ordinal: Ordinal) -> Option<u64> {
        self.read(ordinal, |listed| listed.fingerprint)
    }

    /// Also those that have expired and are still to be removed.
    pub fn documents(&self) -> u64 {
        self.documents.load(Ordering::Relaxed)
    }

    /// So many ids drawn at random, in random order: those whose ordinals have the least hashes.
    pub fn sample(&self, documents: usize, now_ms: i64) -> Vec<DocumentId> {
        let random = RandomState::new();
        let room = documents.min(self.documents() as usize) + 1;
        let mut least = BinaryHeap::with_capacity(room);
        let visited = self.visit(|ordinal, listed| {
            let hash = random.hash_one(ordinal);
            // Most are over the greatest: then the id need not be copied.
            let is_low =
                least.len() < documents || least.peek().is_some_and(|(most, _)| hash < *most);
            if is_low && !self.expiries.has_expired(ordinal, now_ms) {
                least.push((hash, document_id(listed.id)));
            }
            if least.len() > documents {
                least.pop();
            }
            Ok::<_, Infallible>(())
        });
        let Ok(()) = visited;
        least.into_sorted_vec().into_iter().map(|(_, id)| id).collect()
    }

    /// Memory of the table, and of the chunks with their ids.
    pub fn bytes(&self) -> u64 {
        let chunks: usize = self.shards.iter().map(|shard| shard_bytes(&read(shard))).sum();
        (self.by_id.bytes() + chunks) as u64 + self.expiries.bytes()
    }

    /// Visits every listing that is there throughout, by ordinal, until a visit fails. Each chunk
    /// is copied under one short lock, which nobody holds while a listing is visited. Of an id that
    /// is there throughout, but replaced meanwhile, a listing is visited, too: the new one has a
    /// higher ordinal and is there before the old one goes, so whoever misses the old one comes to
    /// the new.
    pub fn visit<E>(
        &self,
        mut visit: impl FnMut(Ordinal, Listed<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut visited = 0;
        while let end = self.chunks_end()
            && visited < end
        {
            for number in visited..end {
                let shard = read(&self.shards[number % SHARDS]);
                let copy = shard.get(number / SHARDS).cloned().flatten();
                drop(shard);
                for (within, listed) in copy.iter().flat_map(|chunk| chunk.iter()) {
                    visit(Ordinal(number as u32 * ORDINALS + within), listed)?;
                }
            }
            visited = end;
        }
        Ok(())
    }

    /// Above the number of every chunk that ever was.
    fn chunks_end(&self) -> usize {
        let end = |(number, shard): (usize, &RwLock<Shard>)| match read(shard).len() {
            0 => 0,
            chunks => (chunks - 1) * SHARDS + number + 1,
        };
        self.shards.iter().enumerate().map(end).max().unwrap_or(0)
    }

    fn has_id(&self, ordinal: Ordinal, id: &str) -> bool {
        self.read(ordinal, |listed| listed.id == id) == Some(true)
    }

    fn read<R>(&self, ordinal: Ordinal, read_it: impl FnOnce(Listed<'_>) -> R) -> Option<R> {
        let (shard, position) = self.place(ordinal);
        let shard = read(shard);
        let chunk = shard.get(position)?.as_ref()?;
        chunk.get(ordinal.0 % ORDINALS).map(read_it)
    }

    fn fill(&self, ordinal: Ordinal, listed: &Listed<'_>) {
        let (shard, position) = self.place(ordinal);
        let mut shard = shard.write().unwrap_or_else(PoisonError::into_inner);
        if shard.len() <= position {
            shard.resize_with(position + 1, || None);
        }
        let chunk = shard[position].get_or_insert_default();
        if chunk.insert(ordinal.0 % ORDINALS, listed) {
            self.documents.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn clear(&self, ordinal: Ordinal) {
        let (shard, position) = self.place(ordinal);
        let mut shard = shard.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(place @ Some(_)) = shard.get_mut(position)
            && let Some(chunk) = place
            && chunk.remove(ordinal.0 % ORDINALS)
        {
            if chunk.len() == 0 {
                *place = None;
            }
            self.documents.fetch_sub(1, Ordering::Relaxed);
        }
        drop(shard);
        self.expiries.remove(ordinal);
    }

    fn place(&self, ordinal: Ordinal) -> (&RwLock<Shard>, usize) {
        let number = (ordinal.0 / ORDINALS) as usize;
        (&self.shards[number % SHARDS], number / SHARDS)
    }
}

fn read(shard: &RwLock<Shard>) -> RwLockReadGuard<'_, Shard> {
    // A chunk changes by steps that do not panic.
    shard.read().unwrap_or_else(PoisonError::into_inner)
}

fn shard_bytes(shard: &Shard) -> usize {
    let chunks: usize = shard.iter().flatten().map(|chunk| chunk.bytes()).sum();
    chunks + shard.capacity() * size_of::<Option<Box<Chunk>>>()
}

fn document_id(id: &str) -> DocumentId {
    DocumentId::new(id).expect("it was one when it was listed")
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
            catalog.insert(Ordinal(number * 100), &listing(&format!("{number:03}")).listed());
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
        catalog.insert(Ordinal(1), &listing("a").listed());
        catalog.insert(Ordinal(2), &listing("a").listed());
        let id = listing("a").id;
        assert_eq!((catalog.ordinal(&id), catalog.documents()), (Some(Ordinal(2)), 1));
        assert!(catalog.listing(Ordinal(1)).is_none() && catalog.expiries.of(Ordinal(1)).is_none());
        catalog.remove(&id);
        catalog.remove(&id);
        assert_eq!((catalog.ordinal(&id), catalog.documents()), (None, 0));
        assert!(catalog.listing(Ordinal(2)).is_none() && catalog.fingerprint(Ordinal(2)).is_none());
        assert!(catalog.bytes() < empty + 256, "{} after {empty}", catalog.bytes());
    }

    #[test]
    fn a_document_takes_under_60_bytes_and_gives_them_back() {
        let catalog = Catalog::default();
        let id = |number: u32| listing(&format!("{number:020}")).id;
        let empty = catalog.bytes();
        for number in 0..100_000 {
            let listing = Listing { id: id(number), fingerprint: 7, has_metadata: true };
            catalog.insert(Ordinal(number), &listing.listed());
            if number % 5_000 == 4_999 {
                let each = (catalog.bytes() - empty) / u64::from(number);
                assert!(each < 60, "{each} at {number}");
            }
        }
        let full = catalog.bytes() - empty;
        for number in (0..100_000).filter(|number| number % 10 != 0) {
            catalog.remove(&id(number));
        }
        let left = catalog.bytes() - empty;
        assert!(left * 4 < full, "{left} of {full}");
        assert_eq!(catalog.documents(), 10_000);
        for number in 0..100_000 {
            let expected = (number % 10 == 0).then_some(Ordinal(number));
            assert_eq!(catalog.ordinal(&id(number)), expected);
        }
    }

    #[test]
    fn what_is_listed_by_several_and_filed_at_once_is_found_by_its_ids() {
        let catalog = Catalog::default();
        let mut noted = [Noted::default(), Noted::default()];
        let id = |number: u32| format!("{number:05}");
        let mut list = |thread: usize, ordinal, id: &str| {
            let listed = Listed { id, fingerprint: 7, has_metadata: false };
            catalog.list(Ordinal(ordinal), &listed, &mut noted[thread]);
        };
        (0..20_000).for_each(|number| list(number as usize % 2, number, &id(number)));
        // Once more by another thread; and ids that stood for others before, in either order.
        (0..1_000).for_each(|number| list(0, number, &id(number)));
        (0..1_000).for_each(|number| list(1, 20_000 + number * 2, &id(19_000 + number)));
        (0..1_000).for_each(|number| list(0, 20_001 + number * 2, &id(19_000 + number)));
        catalog.file_ids(&noted);
        assert_eq!(catalog.documents(), 20_000);
        for number in 0..20_000 {
            let expected = if number < 19_000 { number } else { number * 2 - 17_999 };
            let id = DocumentId::new(id(number)).unwrap();
            assert_eq!(catalog.ordinal(&id), Some(Ordinal(expected)));
            assert_eq!(catalog.listing(Ordinal(expected)).map(|listing| listing.id), Some(id));
        }
        assert!(catalog.listing(Ordinal(19_500)).is_none());
    }

    #[test]
    fn ids_that_come_and_go_at_once_are_each_one_document() {
        let catalog = Catalog::default();
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let catalog = &catalog;
                scope.spawn(move || {
                    for round in 0..2_000 {
                        let listing = listing(&format!("{writer}/{}", round % 100));
                        catalog.insert(Ordinal(round * 4 + writer), &listing.listed());
                        assert_eq!(
                            catalog.ordinal(&listing.id).and_then(|found| catalog.listing(found)),
                            Some(listing.clone())
                        );
                        if round % 3 == 0 {
                            catalog.remove(&listing.id);
                        }
                    }
                });
            }
        });
        let mut listed = Vec::new();
        let visited = catalog.visit(|ordinal, found| {
            listed.push((ordinal, document_id(found.id)));
            Ok::<_, Infallible>(())
        });
        assert_eq!(visited, Ok(()));
        assert_eq!(catalog.documents(), listed.len() as u64);
        for (ordinal, id) in listed {
            assert_eq!(catalog.ordinal(&id), Some(ordinal));
        }
    }
}
