//! Documents that are added together, and the known part of the stored data.

mod judging;
mod learning;

use std::collections::HashMap;
use std::sync::Arc;

use akin_core::index::{Search, SearchLimits};
use akin_engine::backend::{BackendError, Candidates, Stored, content_hash};
use akin_engine::storage::{content, elements};
use akin_engine::stored::{Record, Times};
use akin_model::document::{DocumentId, Metadata};
use tokio_postgres::Row;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::adding::{AdditionRequest, Queued};
use crate::arguments::Arguments;
use crate::backend::PostgresCollection;
use crate::found::{FoundSets, ProbeKeys};
use crate::lookup::complete;
use crate::reading::Read;
use crate::rows::form_of;
use judging::{Places, find_near};

/// Contents of this weight together are encoded off the runtime's threads (about 1 ms).
const INLINE_WEIGHT_MAX: usize = 256 << 10;

/// A stored version of a document.
pub(crate) struct Old {
    pub ordinal: i64,
    pub entry: i64,
    pub keys: Vec<i64>,
    hash: u64,
    expires_at_ms: Option<i64>,
    /// With its set; `None` if it is not replaced, or changed meanwhile.
    record: Option<Box<Record>>,
}

/// The outcome of a document, as far as it is known.
enum Decision {
    Undecided,
    Write,
    Leave(Result<Option<Stored>, BackendError>),
}

struct PlannedInsert<'a> {
    queued: &'a Queued,
    hash: u64,
    times: Times,
    probe: Option<ProbeKeys>,
    /// Of the lookup of its candidates; `None` if the engine looks them up.
    limits: Option<SearchLimits>,
    /// More sets are read by its own searches, as the batch reads no more.
    searches_apart: bool,
    /// Without their documents.
    selected: Candidates,
    /// The earlier documents of the batch that share a lookup key with it and agree enough, best
    /// first.
    near: Vec<usize>,
    old: Option<Old>,
    decision: Decision,
    /// Something was learned since it was judged.
    is_stale: bool,
    /// Earlier documents of the batch that decide about it if they stay, and those of them that
    /// stayed when it was judged.
    decisive: Places,
    stayed: Places,
}

/// The frame of a content, and a packed set where no contents are kept.
type EncodedDocument = (Option<Vec<u8>>, Option<Vec<u8>>);

pub(crate) struct InsertBatch<'a> {
    collection: &'a Arc<PostgresCollection>,
    planned: Vec<PlannedInsert<'a>>,
    /// By their ids.
    places: HashMap<&'a DocumentId, usize>,
    encoded: Vec<EncodedDocument>,
    found: FoundSets,
    read: Arc<Read>,
    /// The last ordinal that was drawn when a call found something: sets that share a locked key
    /// get their documents in the order of the locks, so every new document has a higher ordinal.
    seen: i64,
}

impl<'a> InsertBatch<'a> {
    /// # Errors
    /// `Closed`: the process is stopping.
    pub async fn new(requests: &'a [AdditionRequest]) -> Result<Self, BackendError> {
        let collection = &requests[0].asked.collection;
        let mut planned: Vec<PlannedInsert<'a>> =
            requests.iter().map(|of| PlannedInsert::new(collection, &of.asked)).collect();
        find_near(collection, &mut planned);
        let id = |of: &PlannedInsert<'a>| &of.queued.addition.document.document.id;
        let places = planned.iter().enumerate().map(|(n, of)| (id(of), n)).collect();
        let encoded = encoded(collection, &planned).await?;
        let (found, read) = (FoundSets::default(), Arc::default());
        Ok(Self { collection, planned, places, encoded, found, read, seen: -1 })
    }

    /// Under the locks: the database reports no new sets among those that only the own searches of
    /// a document read, so the document is judged again.
    pub fn doubt_own_searches(&mut self) {
        for planned in &mut self.planned {
            planned.is_stale |= planned.searches_apart;
        }
    }

    /// Whether a call has written the documents, as nothing was unknown.
    pub fn is_written(rows: &[Row]) -> bool {
        rows.iter().any(|row| row.get::<_, i32>(0) == 2)
    }

    /// Whether a call found as much as it has documents: near-duplicates of a crowd, or versions
    /// that are replaced.
    pub fn is_mostly_known(&self) -> bool {
        let replacing = self.planned.iter().filter(|of| of.old.is_some()).count();
        self.found.len() + replacing >= self.planned.len()
    }

    /// Whether a document is written, or may be.
    pub fn writes(&self) -> bool {
        self.planned.iter().any(|of| !matches!(of.decision, Decision::Leave(_)))
    }

    pub fn outcomes(self) -> Vec<Result<Option<Stored>, BackendError>> {
        let now_ms = self.collection.now_ms();
        let outcome = |planned: PlannedInsert<'_>| match planned.decision {
            Decision::Leave(outcome) => outcome,
            Decision::Write | Decision::Undecided => {
                self.collection.keep(&planned.queued.addition.document.analysis);
                let is_alive = |old: &Old| old.expires_at_ms.is_none_or(|at| at > now_ms);
                let replaced = planned.old.filter(is_alive);
                let stored = replaced.map(|old| Stored::Replaced(old.record));
                Ok(Some(stored.unwrap_or(Stored::Created)))
            }
        };
        self.planned.into_iter().map(outcome).collect()
    }

    /// The arguments of a call that writes the documents as decided.
    pub fn arguments(&self) -> Arguments<'_> {
        let mut arguments = Arguments::new(self.collection.number, self.seen);
        for (planned, (frame, packed)) in self.planned.iter().zip(&self.encoded) {
            let document = &planned.queued.addition.document;
            let id = document.document.id.as_str();
            let entry = self.collection.entry(document.analysis.fingerprint);
            let version = planned.old.as_ref().map_or(-1, |old| old.ordinal);
            arguments.know(id, version, lock_of_id(self.collection.number, id), entry);
            if let Some(probe) = &planned.probe {
                arguments.look_up(&probe.keys, entry, probe.of_key);
            }
            if let Some(old) = &planned.old {
                arguments.locks.push(old.entry);
            }
            if !matches!(planned.decision, Decision::Write) {
                continue;
            }
            let analysis = &document.analysis;
            arguments.ids.push(id);
            arguments.entries.push(entry);
            arguments.hashes.push(planned.hash.cast_signed());
            arguments.stored.push(planned.times.stored_at_ms);
            arguments.expires.push(planned.times.expires_at_ms);
            arguments.forms.push(form_of(&document.document.content, analysis.whole_document));
            let metadata = document.document.metadata.as_ref();
            arguments.metadatas.push(metadata.map(Metadata::as_json));
            arguments.contents.push(frame.as_deref());
            if arguments.add_set(entry, &self.collection.keys_of(document)) {
                arguments.sizes.push(analysis.set.count() as i32);
                arguments.sketches.push(analysis.sketch.as_bytes());
                arguments.sets.push(packed.as_deref());
            }
            match &planned.old {
                Some(old) => arguments.old.add(old.entry, &old.keys),
                None => arguments.created += 1,
            }
        }
        arguments.order();
        arguments
    }
}

impl<'a> PlannedInsert<'a> {
    /// The lookup of its candidates.
    fn search(&self) -> Option<(Search<'a>, &ProbeKeys)> {
        Some((self.queued.addition.search_within(self.limits?)?, self.probe.as_ref()?))
    }

    fn new(collection: &PostgresCollection, queued: &'a Queued) -> Self {
        let addition = &queued.addition;
        let document = &addition.document;
        let stored_at_ms = collection.now_ms();
        let by_ttl = collection.ttl_ms.map(|ttl_ms| stored_at_ms.saturating_add(ttl_ms));
        let expires_at_ms = document.document.expires_at_ms.or(by_ttl);
        let times = addition.times.unwrap_or(Times { stored_at_ms, expires_at_ms });
        let probe = addition.search.as_ref().map(|search| ProbeKeys {
            keys: search.keys.iter().map(|key| collection.key(*key)).collect(),
            equal: Some(collection.entry(document.analysis.fingerprint)),
            of_key: queued.of_key(),
        });
        Self {
            queued,
            hash: content_hash(&document.document),
            times,
            probe,
            limits: addition.search.as_ref().and_then(|search| Some(search.candidates?[0])),
            searches_apart: false,
            selected: complete(Vec::new(), 0),
            near: Vec::new(),
            old: None,
            decision: Decision::Undecided,
            is_stale: true,
            decisive: 0,
            stayed: 0,
        }
    }
}

async fn encoded(
    collection: &Arc<PostgresCollection>,
    planned: &[PlannedInsert<'_>],
) -> Result<Vec<EncodedDocument>, BackendError> {
    let documents: Vec<_> =
        planned.iter().map(|of| Arc::clone(&of.queued.addition.document)).collect();
    let weight: usize = documents.iter().map(|of| of.document.content.weight()).sum();
    let (keeps, level) = (collection.keep_content, collection.shared.compression_level);
    let encode = move || {
        let one = |of: &Arc<akin_engine::backend::PreparedDocument>| match keeps {
            true => (Some(content::encode(&of.document.content, level)), None),
            false => (None, Some(elements::encode(&of.analysis.set))),
        };
        documents.iter().map(one).collect()
    };
    match weight > INLINE_WEIGHT_MAX {
        true => tokio::task::spawn_blocking(encode).await.map_err(|_| BackendError::Closed),
        false => Ok(encode()),
    }
}

/// The lock of an id.
pub(crate) fn lock_of_id(collection: i32, id: &str) -> i64 {
    xxh3_64_with_seed(id.as_bytes(), collection as u64).cast_signed()
}
