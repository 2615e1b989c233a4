//! The state that lookups read: the index, the ids and a cache of sets; and the changes applied to
//! it when a write is durable.

use std::sync::Arc;

use smallvec::smallvec;

use super::catalog::{Catalog, Listing};
use super::passages::CollectionPassages;
use super::replacements::Replacements;
use crate::backend::{Candidate, Clusters, Member, PreparedDocument, SetCache, Sketched, Stamp};
use crate::document::{DocumentId, Ordinal};
use akin_core::index::{Index, NewSet};
use akin_core::passages::TextBlocks;
use akin_core::scheme::Scheme;
use akin_core::text::ShingleSet;

/// A document that is durable, or about to be.
pub(super) struct DurableDocument {
    /// Assigned when it is written.
    pub ordinal: Ordinal,
    pub prepared: Arc<PreparedDocument>,
    pub stamp: Stamp,
    /// It is copied from another collection.
    pub is_copy: bool,
    /// The stored version that it replaces, if there is one, which may have expired.
    pub replaces: Option<(Ordinal, RemovalData)>,
}

/// The data with which the indexes remove a document: nothing if they do not need it.
#[derive(Default)]
pub(super) struct RemovalData {
    pub set: Option<ShingleSet>,
    pub blocks: Option<TextBlocks>,
}

pub(super) struct MemoryState {
    pub index: Index,
    pub catalog: Catalog,
    pub sets: SetCache,
    pub scheme: Scheme,
    pub replacements: Replacements,
    /// `None` if they are not kept.
    pub clusters: Option<Clusters>,
    /// `None` without an index of passages.
    pub passages: Option<CollectionPassages>,
}

impl MemoryState {
    pub fn new(index: Index, catalog: Catalog, scheme: Scheme, sets: SetCache) -> Self {
        let replacements = Replacements::default();
        Self { index, catalog, sets, scheme, replacements, clusters: None, passages: None }
    }

    /// Applies a durable document, in place of the stored document with its id, which leaves.
    fn replace(&self, durable: &DurableDocument, removal: &RemovalData) {
        let id = &durable.prepared.document.id;
        let replaced = self.catalog.ordinal(id);
        let Some((old, fingerprint)) =
            replaced.and_then(|old| Some((old, self.catalog.fingerprint(old)?)))
        else {
            return self.put_new(&[durable]);
        };
        self.keep_set(durable);
        self.index.insert(durable.ordinal, &self.in_index(durable));
        self.add_passages(durable);
        // In this order: a lookup that misses both finds the new document among the replacements.
        self.replacements.note(durable.ordinal);
        self.list(durable);
        self.take_out(old, fingerprint, removal);
        match &self.clusters {
            Some(clusters) if fingerprint == durable.prepared.analysis.fingerprint => {
                clusters.replaced(old, durable.ordinal);
            }
            Some(clusters) => {
                clusters.removed(old);
                clusters.added(std::iter::once(durable.ordinal));
            }
            None => {}
        }
    }

    /// Applies durable documents with unlike ids.
    pub fn put_all(&self, durable: &[DurableDocument]) {
        let new: Vec<_> = durable.iter().filter(|document| document.replaces.is_none()).collect();
        if !new.is_empty() {
            self.put_new(&new);
        }
        for document in durable {
            if let Some((_, removal)) = &document.replaces {
                self.replace(document, removal);
            }
        }
    }

    /// Applies durable documents with new ids.
    fn put_new(&self, durable: &[&DurableDocument]) {
        // The catalog comes first, so that every ordinal found in the index has an id.
        for document in durable {
            self.keep_set(document);
            self.list(document);
        }
        let filed = durable.iter().map(|document| (document.ordinal, self.in_index(document)));
        self.index.insert_all(filed);
        for document in durable {
            self.add_passages(document);
        }
        if let Some(clusters) = &self.clusters {
            clusters.added(durable.iter().map(|document| document.ordinal));
        }
    }

    fn add_passages(&self, durable: &DurableDocument) {
        if let Some(passages) = &self.passages {
            passages.add(durable.ordinal, durable.prepared.blocks.as_deref());
        }
    }

    fn keep_set(&self, DurableDocument { prepared, .. }: &DurableDocument) {
        self.sets.insert(prepared.analysis.fingerprint, prepared.analysis.set.clone());
    }

    fn list(&self, DurableDocument { ordinal, prepared, stamp, .. }: &DurableDocument) {
        let id = prepared.document.id.clone();
        let has_metadata = prepared.document.metadata.is_some();
        let fingerprint = prepared.analysis.fingerprint;
        let expires_at_ms = stamp.times.expires_at_ms;
        let listing = Listing::new(*ordinal, id, fingerprint, has_metadata, expires_at_ms);
        self.catalog.insert(listing);
    }

    fn in_index<'a>(&self, DurableDocument { prepared, .. }: &'a DurableDocument) -> NewSet<'a> {
        // In a scheme without tables, the keys are only for documents in flight.
        let tables = prepared.keys.len().min(self.scheme.tables() as usize);
        let analysis = &prepared.analysis;
        NewSet {
            fingerprint: analysis.fingerprint,
            shingles: analysis.set.count() as u32,
            sketch: &analysis.sketch,
            keys: &prepared.keys[..tables],
            set: Some(&analysis.set),
        }
    }

    /// Applies a durable removal.
    pub fn remove(&self, id: &DocumentId, ordinal: Ordinal, removal: &RemovalData) {
        let fingerprint = self.catalog.fingerprint(ordinal);
        self.catalog.remove(id);
        if let Some(fingerprint) = fingerprint {
            self.take_out(ordinal, fingerprint, removal);
        }
        if let Some(clusters) = &self.clusters {
            clusters.removed(ordinal);
        }
    }

    fn take_out(&self, ordinal: Ordinal, fingerprint: u64, removal: &RemovalData) {
        if let Some(passages) = &self.passages {
            passages.remove(ordinal, removal.blocks.as_ref());
        }
        let Some((_, sketch)) = self.index.size_and_sketch_of(fingerprint) else { return };
        let keys: Vec<_> = self.scheme.all_keys(sketch.as_bytes()).collect();
        self.index.remove(ordinal, fingerprint, &keys, removal.set.as_ref());
    }

    /// The document with this id: the old or the new version if it is replaced concurrently.
    pub fn sketched(&self, id: &DocumentId, now_ms: i64) -> Option<Sketched> {
        let mut missed = None;
        while let Some(listing) = self.catalog.alive(id, now_ms)
            && missed != Some(listing.ordinal)
        {
            missed = Some(listing.ordinal);
            let sketched = self.sketched_listing(listing);
            if sketched.is_some() {
                return sketched;
            }
        }
        None
    }

    /// A document that has not expired, with its sketch.
    pub fn sketched_ordinal(&self, ordinal: Ordinal, now_ms: i64) -> Option<Sketched> {
        let listing = self.catalog.listing(ordinal)?;
        if listing.has_expired(now_ms) { None } else { self.sketched_listing(listing) }
    }

    fn sketched_listing(&self, listing: Listing) -> Option<Sketched> {
        let fingerprint = listing.fingerprint;
        let (shingles, sketch) = self.index.size_and_sketch_of(fingerprint)?;
        let members = smallvec![member(listing)];
        let candidate = Candidate { fingerprint, shingles, agreeing: 0, keys_shared: 0, members };
        Some(Sketched { candidate, sketch })
    }

    /// `None` if the document was removed or has expired.
    pub fn member(&self, ordinal: Ordinal, now_ms: i64) -> Option<Member> {
        self.catalog.listing(ordinal).filter(|listing| !listing.has_expired(now_ms)).map(member)
    }
}

fn member(Listing { ordinal, id, has_metadata, .. }: Listing) -> Member {
    Member { ordinal, id, has_metadata }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use super::*;
    use crate::backend::testing::prepared;
    use crate::stored::Times;
    use akin_core::index::{Search, SearchLimits};
    use akin_core::scheme::SchemeSettings;
    use akin_core::sketch::{Estimator, SketchSettings};

    fn memory() -> MemoryState {
        let sketch = SketchSettings::default();
        let scheme = Scheme::new(&SchemeSettings::default(), &sketch);
        let estimator = Estimator::new(&sketch);
        let index = Index::new(scheme.tables(), sketch.sketch_bytes(), estimator);
        MemoryState::new(index, Catalog::default(), scheme, SetCache::new(1 << 20))
    }

    fn keyed(memory: &MemoryState, text: &str) -> Arc<PreparedDocument> {
        let mut prepared = prepared("a", text);
        prepared.keys = memory.scheme.all_keys(prepared.analysis.sketch.as_bytes()).collect();
        Arc::new(prepared)
    }

    fn durable(ordinal: u32, prepared: &Arc<PreparedDocument>) -> DurableDocument {
        DurableDocument {
            ordinal: Ordinal::from(ordinal),
            prepared: Arc::clone(prepared),
            stamp: Stamp { content_hash: 0, times: Times { stored_at_ms: 0, expires_at_ms: None } },
            is_copy: false,
            replaces: Some((Ordinal::MIN, RemovalData::default())),
        }
    }

    /// The replacement has the same text or nearly the same text.
    fn a_document_is_found_while_it_is_replaced(texts: [&str; 2]) {
        let memory = memory();
        let versions = texts.map(|text| keyed(&memory, text));
        let probe = &versions[0];
        let search = Search {
            keys: &probe.keys,
            sketch: &probe.analysis.sketch,
            fingerprint: probe.analysis.fingerprint,
            agreeing_min: 0,
            threshold: akin_core::scheme::Threshold::new(0.8).unwrap(),
            start: 0,
            limits: SearchLimits {
                postings_max: 100,
                found_max: 10,
                members_max: 10,
                ..SearchLimits::NONE
            },
        };
        memory.put_all(&[durable(0, &versions[0])]);
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                let versions = versions.iter().cycle().zip(1..);
                for (version, ordinal) in versions.take_while(|_| !stop.load(Ordering::Relaxed)) {
                    memory.put_all(&[durable(ordinal, version)]);
                }
            });
            let lost =
                (0..5_000).filter(|_| memory.candidates(&search, 0).found.is_empty()).count();
            stop.store(true, Ordering::Relaxed);
            assert_eq!(lost, 0, "lookups that found neither the old nor the new");
        });
    }

    #[test]
    fn document_is_found_while_its_metadata_changes() {
        a_document_is_found_while_it_is_replaced(["one two three four five"; 2]);
    }

    #[test]
    fn document_is_found_while_its_text_changes() {
        let long = "a b c d e f g h i j k l m n o p q r s t u v w x y z";
        a_document_is_found_while_it_is_replaced([long, &long[..long.len() - 2]]);
    }
}
