//! The metadata of every stored document except its content and set, by id and by ordinal.
//!
//! Two sharded maps: [`Ids`] maps ids to ordinals, and chunks of 256 listings map ordinals to the
//! rest. Both maps share the text of the id. A document with an id of 20 bytes takes about 130
//! bytes. Ordinals are assigned once, so the ordinals in use become sparse: no operation depends on
//! the distance between them.
//!
//! No operation holds two locks at once, and each lock is held only while its chunk or B-tree is
//! changed.

mod chunk;
mod ids;

use std::collections::BinaryHeap;
use std::convert::Infallible;
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use dashmap::DashMap;

use super::expiries::Expiries;
use crate::document::{DocumentId, Ordinal};
use chunk::{Chunk, ORDINALS};
use ids::Ids;

/// Shards of the chunks: at ten million documents, each has some hundred chunks.
const SHARDS: usize = 64;

/// Chunks that a thread loads the ids of at once at a start.
const CHUNKS_LOADED_AT_ONCE: usize = 64;

/// The expiry time of a document that does not expire.
const NEVER: i64 = i64::MAX;

/// The data of a document that results need and the index does not contain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Listing {
    pub id: DocumentId,
    /// The fingerprint of the document's set.
    pub fingerprint: u64,
    /// Milliseconds since the epoch.
    expires_at_ms: i64,
    pub ordinal: Ordinal,
    pub has_metadata: bool,
}

impl Listing {
    pub fn new(
        ordinal: Ordinal,
        id: DocumentId,
        fingerprint: u64,
        has_metadata: bool,
        expires_at_ms: Option<i64>,
    ) -> Self {
        let expires_at_ms = expires_at_ms.unwrap_or(NEVER);
        Self { id, fingerprint, expires_at_ms, ordinal, has_metadata }
    }

    /// Milliseconds since the epoch; `None` if the document does not expire.
    pub fn expires_at_ms(&self) -> Option<i64> {
        (self.expires_at_ms != NEVER).then_some(self.expires_at_ms)
    }

    pub fn has_expired(&self, now_ms: i64) -> bool {
        self.expires_at_ms <= now_ms
    }
}

#[derive(Debug)]
pub(super) struct Catalog {
    ids: Ids,
    /// By ordinal / [`ORDINALS`]. Empty chunks are removed.
    chunks: DashMap<u64, Chunk>,
    /// Greater than every chunk number ever used.
    chunks_end: AtomicU64,
    documents: AtomicU64,
    /// Memory of the ids' texts.
    texts_bytes: AtomicU64,
    expiries: Expiries,
}

impl Default for Catalog {
    fn default() -> Self {
        Self {
            ids: Ids::default(),
            chunks: DashMap::with_shard_amount(SHARDS),
            chunks_end: AtomicU64::new(0),
            documents: AtomicU64::new(0),
            texts_bytes: AtomicU64::new(0),
            expiries: Expiries::default(),
        }
    }
}

impl Catalog {
    /// Lists a document, in place of a listed document with the same id.
    pub fn insert(&self, listing: Listing) {
        let (id, ordinal) = (listing.id.clone(), listing.ordinal);
        let expires_at_ms = listing.expires_at_ms();
        // First, so that an ordinal found by its id has a listing.
        self.list(listing);
        if let Some(expires_at_ms) = expires_at_ms {
            self.expiries.insert(expires_at_ms, ordinal);
        }
        if let Some(replaced) = self.ids.insert(id, ordinal).filter(|old| *old != ordinal) {
            self.unlist(replaced);
        }
    }

    /// Lists a document without making it findable by its id and its expiry time, which
    /// [`Catalog::load`] does. An ordinal that is already listed is not changed.
    pub fn list(&self, listing: Listing) {
        let number = listing.ordinal.get() / ORDINALS;
        let text_bytes = text_bytes(&listing.id);
        if !self.chunks.entry(number).or_default().insert(listing) {
            return;
        }
        // Release: a thread that reads the new end finds the chunk.
        self.chunks_end.fetch_max(number + 1, Ordering::Release);
        self.documents.fetch_add(1, Ordering::Relaxed);
        self.texts_bytes.fetch_add(text_bytes, Ordering::Relaxed);
    }

    /// Makes all listed documents findable by id, on all cores, and by their expiry times. The
    /// catalog must not be changed concurrently.
    pub fn load(&self) {
        let chunks = self.chunks();
        let pieces: Vec<&[u64]> = chunks.chunks(CHUNKS_LOADED_AT_ONCE).collect();
        let piece = |number: usize| {
            let mut ids = Vec::new();
            for chunk in pieces[number].iter().filter_map(|chunk| self.chunks.get(chunk)) {
                ids.extend(chunk.iter().map(|listing| (listing.id.clone(), listing.ordinal)));
            }
            ids
        };
        for ordinal in self.ids.load(pieces.len(), piece) {
            self.unlist(ordinal);
        }
        let mut expiring = Vec::new();
        for chunk in &self.chunks {
            let times = chunk.iter().map(|listing| (listing.expires_at_ms, listing.ordinal));
            expiring.extend(times.filter(|(expires_at_ms, _)| *expires_at_ms != NEVER));
        }
        self.expiries.load(expiring);
    }

    pub fn remove(&self, id: &DocumentId) {
        if let Some(ordinal) = self.ids.remove(id) {
            self.unlist(ordinal);
        }
    }

    pub fn ordinal(&self, id: &DocumentId) -> Option<Ordinal> {
        self.ids.get(id)
    }

    /// The document with this id, unless it has expired.
    pub fn alive(&self, id: &DocumentId, now_ms: i64) -> Option<Listing> {
        loop {
            // If there is no listing, the document was just replaced, and its id maps to another
            // ordinal.
            if let Some(listing) = self.listing(self.ordinal(id)?) {
                return (!listing.has_expired(now_ms)).then_some(listing);
            }
        }
    }

    pub fn listing(&self, ordinal: Ordinal) -> Option<Listing> {
        self.read(ordinal, Listing::clone)
    }

    /// The fingerprint of the document's set.
    pub fn fingerprint(&self, ordinal: Ordinal) -> Option<u64> {
        self.read(ordinal, |listing| listing.fingerprint)
    }

    /// The number of documents, including expired documents that are not removed yet.
    pub fn documents(&self) -> u64 {
        self.documents.load(Ordering::Relaxed)
    }

    /// The number of expired documents that are not removed yet.
    pub fn expired(&self, now_ms: i64) -> u64 {
        self.expiries.due_count(now_ms)
    }

    /// At most `max` expired documents, soonest first.
    pub fn due(&self, now_ms: i64, max: usize) -> Vec<Ordinal> {
        self.expiries.due(now_ms, max)
    }

    /// The lowest `limit` ids above `after`, in byte order, of the documents alive at `now_ms`. The
    /// cost does not depend on the number of documents.
    pub fn ids_after(
        &self,
        after: Option<&DocumentId>,
        limit: usize,
        now_ms: i64,
    ) -> Vec<DocumentId> {
        let mut found = Vec::new();
        let mut after = after.cloned();
        while found.len() < limit {
            let page = self.ids.page(after.as_ref(), limit - found.len());
            let Some((last, _)) = page.last() else { break };
            after = Some(last.clone());
            let expired = |listing: &Listing| listing.has_expired(now_ms);
            // A document that is no longer listed was replaced, removed or expired.
            let is_alive = |(id, at): &(DocumentId, Ordinal)| match self.read(*at, expired) {
                Some(expired) => !expired,
                None => self.alive(id, now_ms).is_some(),
            };
            found.extend(page.into_iter().filter(is_alive).map(|(id, _)| id));
        }
        found
    }

    /// Selects at most `documents` random ids, in random order: the documents with the lowest
    /// hashes of their ordinals.
    pub fn sample(&self, documents: usize, now_ms: i64) -> Vec<DocumentId> {
        let random = RandomState::new();
        let room = documents.min(self.documents() as usize) + 1;
        let mut lowest = BinaryHeap::with_capacity(room);
        let visited = self.visit(|listing| {
            let hash = random.hash_one(listing.ordinal);
            let is_low =
                lowest.len() < documents || lowest.peek().is_some_and(|(most, _)| hash < *most);
            if is_low && !listing.has_expired(now_ms) {
                lowest.push((hash, listing.id.clone()));
            }
            if lowest.len() > documents {
                lowest.pop();
            }
            Ok::<_, Infallible>(())
        });
        let Ok(()) = visited;
        lowest.into_sorted_vec().into_iter().map(|(_, id)| id).collect()
    }

    /// Memory of the ids' texts.
    pub fn texts_bytes(&self) -> u64 {
        self.texts_bytes.load(Ordering::Relaxed)
    }

    /// Memory of the whole catalog.
    pub fn bytes(&self) -> u64 {
        let chunks: usize =
            self.chunks.iter().map(|chunk| chunk.bytes() + size_of::<(u64, Chunk)>()).sum();
        chunks as u64
            + self.texts_bytes()
            + self.ids.bytes(self.documents())
            + self.expiries.bytes()
    }

    /// Visits every listing that exists throughout, by ordinal, until a visit fails. Each chunk is
    /// copied under a short lock and visited after the lock is released. If a document is replaced
    /// during the visit, its old listing, its new listing or both are visited: the new listing has
    /// a higher ordinal and is inserted before the old listing is removed.
    pub fn visit<E>(&self, mut visit: impl FnMut(&Listing) -> Result<(), E>) -> Result<(), E> {
        let mut visited = 0;
        loop {
            let end = self.chunks_end.load(Ordering::Acquire);
            if visited == end {
                return Ok(());
            }
            for number in self.chunks_in(visited..end) {
                let copy = self.chunks.get(&number).map(|chunk| Chunk::clone(&chunk));
                copy.iter().flat_map(Chunk::iter).try_for_each(&mut visit)?;
            }
            visited = end;
        }
    }

    /// The numbers of all chunks, ascending.
    pub fn chunks(&self) -> Vec<u64> {
        self.chunks_in(0..u64::MAX)
    }

    /// The ordinals in a chunk.
    pub fn ordinals_in(&self, chunk: u64) -> Vec<Ordinal> {
        let chunk = self.chunks.get(&chunk);
        chunk.map_or_else(Vec::new, |of| of.iter().map(|listing| listing.ordinal).collect())
    }

    /// The ordinals in use from a number on, ascending: at least `count` of them (whole chunks),
    /// unless there are no more, and the number from which the next follow, if there are more. Each
    /// document that is listed throughout is among the ordinals of successive calls.
    pub fn ordinals_from(&self, from: u64, count: usize) -> (Vec<Ordinal>, Option<u64>) {
        let mut ordinals = Vec::new();
        for chunk in self.chunks_in(from.div_ceil(ORDINALS)..u64::MAX) {
            if ordinals.len() >= count {
                return (ordinals, Some(chunk * ORDINALS));
            }
            ordinals.extend(self.ordinals_in(chunk));
        }
        (ordinals, None)
    }

    /// The numbers of the chunks that exist in a range, ascending.
    fn chunks_in(&self, range: Range<u64>) -> Vec<u64> {
        let numbers = self.chunks.iter().map(|chunk| *chunk.key());
        let mut numbers: Vec<u64> = numbers.filter(|number| range.contains(number)).collect();
        numbers.sort_unstable();
        numbers
    }

    fn read<R>(&self, ordinal: Ordinal, read: impl FnOnce(&Listing) -> R) -> Option<R> {
        let chunk = self.chunks.get(&(ordinal.get() / ORDINALS))?;
        chunk.get(ordinal).map(read)
    }

    fn unlist(&self, ordinal: Ordinal) {
        let number = ordinal.get() / ORDINALS;
        let Some(mut chunk) = self.chunks.get_mut(&number) else { return };
        let removed = chunk.remove(ordinal);
        let is_empty = chunk.is_empty();
        drop(chunk);
        if is_empty {
            self.chunks.remove_if(&number, |_, chunk| chunk.is_empty());
        }
        let Some(listing) = removed else { return };
        self.documents.fetch_sub(1, Ordering::Relaxed);
        self.texts_bytes.fetch_sub(text_bytes(&listing.id), Ordering::Relaxed);
        if let Some(expires_at_ms) = listing.expires_at_ms() {
            self.expiries.remove(expires_at_ms, ordinal);
        }
    }
}

/// Memory of an id's text with its two reference counts, rounded up to the allocator's sizes.
fn text_bytes(id: &DocumentId) -> u64 {
    (id.as_str().len() as u64 + 16).next_multiple_of(16)
}

#[cfg(test)]
mod tests;
