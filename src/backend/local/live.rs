//! What lookups see: the index, the ids, and sets that were used lately.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::catalog::{Catalog, Listing};
use crate::backend::{Candidate, Candidates, Filing, Known, Member, Sketched};
use crate::document::{DocumentId, Ordinal};
use crate::index::{self, ExactSearch, Index, Search, Unanswered};
use crate::scheme::Scheme;
use crate::text::ShingleSet;

/// A cached set weighs its bytes in memory.
#[derive(Clone)]
pub(super) struct SetBytes;

impl Weighter<u64, ShingleSet> for SetBytes {
    fn weight(&self, _fingerprint: &u64, set: &ShingleSet) -> u64 {
        size_of_val(set.as_slice()) as u64 + 64
    }
}

/// A document that is durable, or about to be.
pub(super) struct Filed {
    pub ordinal: Ordinal,
    pub filing: Arc<Filing>,
    pub expires_at_ms: Option<i64>,
}

pub(super) struct Live {
    pub index: Index,
    pub catalog: Catalog,
    /// Sets by fingerprint.
    pub sets: Cache<u64, ShingleSet, SetBytes>,
    scheme: Scheme,
    /// Held by a lookup while it goes from keys to names, and by whoever lets a document die: or a
    /// document replaced meanwhile would be seen neither as it was nor as it is. Taken before any
    /// lock of the index or the catalog.
    deaths: RwLock<()>,
}

impl Live {
    pub fn new(index: Index, catalog: Catalog, scheme: Scheme, cache_bytes: u64) -> Self {
        // The cache wants a guess at how many sets it will hold: pages have about a thousand
        // shingles.
        let sets_expected = usize::try_from(cache_bytes / 8_192).unwrap_or(usize::MAX).max(16);
        let sets = Cache::with_weighter(sets_expected, cache_bytes, SetBytes);
        Self { index, catalog, sets, scheme, deaths: RwLock::default() }
    }

    /// A document has become durable, in place of what its id stood for.
    pub fn put(&self, filed: &Filed) {
        let id = &filed.filing.document.id;
        let replaced =
            self.catalog.ordinal(id).and_then(|old| Some((old, self.catalog.fingerprint(old)?)));
        let deaths = replaced.is_some().then(|| self.dying());
        self.put_new(std::slice::from_ref(filed));
        if let Some((old, fingerprint)) = replaced {
            self.take_out(old, fingerprint);
            drop(deaths);
            self.index.compact(|sketch| self.scheme.all_keys(sketch).collect());
        }
    }

    /// Documents have become durable whose ids stood for nothing.
    pub fn put_new(&self, filed: &[Filed]) {
        // Listed first, so that what is found has a name, and is known to expire before that.
        for Filed { ordinal, filing, expires_at_ms } in filed {
            self.sets.insert(filing.fingerprint, filing.set.clone());
            let id = filing.document.id.clone();
            let has_metadata = filing.document.metadata.is_some();
            let (fingerprint, expires_at_ms) = (filing.fingerprint, *expires_at_ms);
            let listing = Listing::new(*ordinal, id, fingerprint, has_metadata, expires_at_ms);
            self.catalog.insert(listing);
        }
        self.index.insert_all(filed.iter().map(|filed| (filed.ordinal, self.in_index(filed))));
    }

    fn in_index<'a>(&self, filed: &'a Filed) -> index::Filing<'a> {
        let filing = &filed.filing;
        // Where the scheme has no tables, its keys are for arrivals alone.
        let tables = filing.keys.len().min(self.scheme.tables() as usize);
        index::Filing {
            fingerprint: filing.fingerprint,
            shingles: filing.set.count() as u32,
            sketch: &filing.sketch,
            keys: &filing.keys[..tables],
            set: Some(&filing.set),
        }
    }

    /// A document's removal has become durable.
    pub fn remove(&self, id: &DocumentId, ordinal: Ordinal) {
        let fingerprint = self.catalog.fingerprint(ordinal);
        let deaths = self.dying();
        self.catalog.remove(id);
        if let Some(fingerprint) = fingerprint {
            self.take_out(ordinal, fingerprint);
        }
        drop(deaths);
        self.index.compact(|sketch| self.scheme.all_keys(sketch).collect());
    }

    fn dying(&self) -> RwLockWriteGuard<'_, ()> {
        self.deaths.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn nobody_dies(&self) -> RwLockReadGuard<'_, ()> {
        self.deaths.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Only documents that have not expired at `now_ms`.
    pub fn candidates(&self, search: &Search<'_>, now_ms: i64) -> Candidates {
        let _alive = self.nobody_dies();
        self.named(&self.index.candidates(search), now_ms)
    }

    /// The same of many.
    pub fn candidates_of_all(&self, searches: &[Search<'_>], now_ms: i64) -> Vec<Candidates> {
        let _alive = self.nobody_dies();
        let found = self.index.candidates_of_all(searches);
        found.iter().map(|candidates| self.named(candidates, now_ms)).collect()
    }

    /// As [`Index::exact_candidates`] has it.
    pub fn exact_candidates(
        &self,
        search: &ExactSearch<'_>,
        postings_max: usize,
        now_ms: i64,
    ) -> Result<Candidates, Unanswered> {
        let _alive = self.nobody_dies();
        Ok(self.named(&self.index.exact_candidates(search, postings_max)?, now_ms))
    }

    fn named(&self, candidates: &index::Candidates, now_ms: i64) -> Candidates {
        Candidates {
            found: candidates.found.iter().filter_map(|found| self.name(found, now_ms)).collect(),
            seen: candidates.seen,
            truncated: candidates.truncated,
        }
    }

    /// What lookups need of a document, if its set is in the cache.
    pub fn known(&self, ordinal: Ordinal) -> Option<Known> {
        let fingerprint = self.catalog.fingerprint(ordinal)?;
        let set = self.sets.get(&fingerprint)?;
        let sketch = self.index.sketch_of(fingerprint)?;
        Some(Known { set, fingerprint, sketch })
    }

    pub fn sketched(&self, id: &DocumentId, now_ms: i64) -> Option<Sketched> {
        let _alive = self.nobody_dies();
        let listing = self.catalog.alive(id, now_ms)?;
        let Listing { ordinal, id, fingerprint, has_metadata, .. } = listing;
        let (shingles, sketch) = self.index.size_and_sketch_of(fingerprint)?;
        let members = smallvec::smallvec![Member { ordinal, id, has_metadata }];
        let candidate = Candidate { fingerprint, shingles, agreeing: 0, keys_shared: 0, members };
        Some(Sketched { candidate, sketch })
    }

    /// The candidate with its members' ids; `None` if none of them is listed and alive.
    fn name(&self, candidate: &index::Candidate, now_ms: i64) -> Option<Candidate> {
        let member = |&ordinal: &Ordinal| {
            let listing = self.catalog.listing(ordinal)?;
            if listing.has_expired(now_ms) {
                return None;
            }
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
        let keys: Vec<_> = self.scheme.all_keys(sketch.as_bytes()).collect();
        self.index.remove(ordinal, fingerprint, &keys);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use super::*;
    use crate::backend::testing::filing;
    use crate::scheme::SchemeSettings;
    use crate::sketch::{Estimator, SketchSettings};

    fn live() -> Live {
        let sketch = SketchSettings::default();
        let scheme = Scheme::new(&SchemeSettings::default(), &sketch);
        let estimator = Estimator::new(&sketch);
        let index = Index::new(scheme.tables(), sketch.sketch_bytes(), estimator);
        Live::new(index, Catalog::default(), scheme, 1 << 20)
    }

    fn keyed(live: &Live, text: &str) -> Arc<Filing> {
        let mut filing = filing("a", text);
        filing.keys = live.scheme.all_keys(filing.sketch.as_bytes()).collect();
        Arc::new(filing)
    }

    fn filed(ordinal: u32, filing: &Arc<Filing>) -> Filed {
        Filed { ordinal: Ordinal(ordinal), filing: Arc::clone(filing), expires_at_ms: None }
    }

    /// The text stays, so that there is one at any time; or it changes to one nearly the same.
    fn a_document_is_found_while_it_is_replaced(texts: [&str; 2]) {
        let live = live();
        let versions = texts.map(|text| keyed(&live, text));
        let probe = &versions[0];
        let search = Search {
            keys: &probe.keys,
            sketch: &probe.sketch,
            fingerprint: probe.fingerprint,
            agreeing_min: 0,
            postings_max: 100,
            found_max: 10,
            members_max: 10,
        };
        live.put(&filed(0, &versions[0]));
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                let versions = versions.iter().cycle().zip(1..);
                for (version, ordinal) in versions.take_while(|_| !stop.load(Ordering::Relaxed)) {
                    live.put(&filed(ordinal, version));
                }
            });
            let lost = (0..5_000).filter(|_| live.candidates(&search, 0).found.is_empty()).count();
            stop.store(true, Ordering::Relaxed);
            assert_eq!(lost, 0, "lookups that found neither the old nor the new");
        });
    }

    #[test]
    fn a_document_with_new_metadata_is_found_at_any_time() {
        a_document_is_found_while_it_is_replaced(["one two three four five"; 2]);
    }

    #[test]
    fn a_document_with_another_text_is_found_at_any_time() {
        let long = "a b c d e f g h i j k l m n o p q r s t u v w x y z";
        a_document_is_found_while_it_is_replaced([long, &long[..long.len() - 2]]);
    }
}
