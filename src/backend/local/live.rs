//! What lookups see: the index, the ids, and sets that were used lately.

use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::catalog::{Catalog, Listing};
use crate::backend::{Candidate, Candidates, Filing, Known, Member, Search};
use crate::document::{DocumentId, Ordinal};
use crate::index::{self, Index};
use crate::scheme::Bands;
use crate::text::ShingleSet;

/// A cached set weighs its bytes in memory.
#[derive(Clone)]
pub(super) struct SetBytes;

impl Weighter<u64, ShingleSet> for SetBytes {
    fn weight(&self, _fingerprint: &u64, set: &ShingleSet) -> u64 {
        size_of_val(set.as_slice()) as u64 + 64
    }
}

pub(super) struct Live {
    pub index: Index,
    pub catalog: Catalog,
    /// Sets by fingerprint.
    pub sets: Cache<u64, ShingleSet, SetBytes>,
    bands: Bands,
}

impl Live {
    pub fn new(index: Index, catalog: Catalog, bands: Bands, cache_bytes: u64) -> Self {
        // The cache wants a guess at how many sets it will hold: pages have about a thousand
        // shingles.
        let sets_expected = usize::try_from(cache_bytes / 8_192).unwrap_or(usize::MAX).max(16);
        let sets = Cache::with_weighter(sets_expected, cache_bytes, SetBytes);
        Self { index, catalog, sets, bands }
    }

    /// A document has become durable, in place of what its id stood for.
    pub fn put(&self, ordinal: Ordinal, filing: &Filing) {
        let id = &filing.document.id;
        let replaced =
            self.catalog.ordinal(id).and_then(|old| Some((old, self.catalog.listing(old)?)));
        self.index.insert(
            ordinal,
            &index::Filing {
                fingerprint: filing.fingerprint,
                shingles: filing.set.count() as u32,
                sketch: &filing.sketch,
                keys: &filing.keys,
            },
        );
        self.sets.insert(filing.fingerprint, filing.set.clone());
        let has_metadata = filing.document.metadata.is_some();
        let listing = Listing { id: id.clone(), fingerprint: filing.fingerprint, has_metadata };
        self.catalog.insert(ordinal, listing);
        if let Some((old, listing)) = replaced {
            self.take_out(old, listing.fingerprint);
        }
    }

    /// A document's removal has become durable.
    pub fn remove(&self, id: &DocumentId, ordinal: Ordinal) {
        let listing = self.catalog.listing(ordinal);
        self.catalog.remove(id);
        if let Some(listing) = listing {
            self.take_out(ordinal, listing.fingerprint);
        }
    }

    pub fn candidates(&self, search: &Search) -> Candidates {
        let found = self.index.candidates(&index::Search {
            keys: &search.keys,
            sketch: &search.sketch,
            agreeing_min: search.agreeing_min,
            postings_max: search.postings_max,
            members_max: search.members_max,
        });
        Candidates {
            found: found.found.iter().filter_map(|candidate| self.name(candidate)).collect(),
            seen: found.seen,
            truncated: found.truncated,
        }
    }

    /// What lookups need of a document, if its set is in the cache.
    pub fn known(&self, id: &DocumentId) -> Option<Known> {
        let listing = self.catalog.listing(self.catalog.ordinal(id)?)?;
        let set = self.sets.get(&listing.fingerprint)?;
        let sketch = self.index.sketch_of(listing.fingerprint)?;
        Some(Known { set, sketch })
    }

    /// The candidate with its members' ids; `None` if all of them are gone meanwhile.
    fn name(&self, candidate: &index::Candidate) -> Option<Candidate> {
        let member = |&ordinal: &Ordinal| {
            let listing = self.catalog.listing(ordinal)?;
            Some(Member { ordinal, id: listing.id, has_metadata: listing.has_metadata })
        };
        let members: smallvec::SmallVec<[Member; 1]> =
            candidate.members.iter().filter_map(member).collect();
        (!members.is_empty()).then(|| Candidate {
            fingerprint: candidate.fingerprint,
            shingles: candidate.shingles,
            agreeing: candidate.agreeing,
            keys_shared: candidate.keys_shared,
            members,
        })
    }

    fn take_out(&self, ordinal: Ordinal, fingerprint: u64) {
        let Some(sketch) = self.index.sketch_of(fingerprint) else { return };
        let keys: Vec<_> = self.bands.keys(sketch.as_bytes(), self.bands.bands).collect();
        self.index.remove(ordinal, fingerprint, &keys);
    }
}
