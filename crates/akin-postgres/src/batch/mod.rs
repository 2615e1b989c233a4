//! Documents that are added together, and the known part of the stored data.

mod judging;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use akin_core::index::{Search, SearchLimits};
use akin_engine::backend::{BackendError, Stored, content_hash};
use akin_engine::storage::{content, elements};
use akin_engine::stored::{Detail, Record, Times};
use akin_model::document::{DocumentId, Metadata};
use tokio_postgres::Row;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::adding::{AdditionRequest, Queued};
use crate::arguments::Arguments;
use crate::backend::PostgresCollection;
use crate::coalescing::answered;
use crate::found::{FoundSets, NearSet, ProbeKeys};
use crate::lookup::{SelectedSet, SelectedSets, of_key};
use crate::reading::Read;
use crate::rows::{COLUMNS, form_of};
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
    selected: SelectedSets,
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

    /// Takes what a call returned, and reads the documents and the elements of new sets.
    pub async fn learn(&mut self, rows: &[Row]) -> Result<(), BackendError> {
        for row in rows {
            self.seen = self.seen.max(row.get(5));
            match row.get::<_, i32>(0) {
                0 => self.found.add(Arc::new(NearSet::of(row, 1))),
                _ => {
                    let old = self.old(row);
                    let planned = &mut self.planned[row.get::<_, i64>(6) as usize - 1];
                    (planned.old, planned.is_stale) = (old, true);
                }
            }
        }
        self.read_replaced().await?;
        self.select();
        if self.read_further().await? {
            self.select();
        }
        self.read_found().await
    }

    fn old(&self, row: &Row) -> Option<Old> {
        let entry: i64 = row.get::<_, Option<i64>>(1)?;
        Some(Old {
            ordinal: row.get(7),
            entry,
            keys: self.collection.keys(row.get(3)),
            hash: row.get::<_, i64>(8).cast_unsigned(),
            expires_at_ms: row.get(9),
            record: None,
        })
    }

    /// Reads the versions that are replaced, which the answers compare with the new ones.
    async fn read_replaced(&mut self) -> Result<(), BackendError> {
        let is_replaced = |of: &PlannedInsert<'_>| {
            let is_other = |old: &Old| {
                let version = (old.hash, old.expires_at_ms);
                old.record.is_none() && version != (of.hash, of.times.expires_at_ms)
            };
            of.old.as_ref().is_some_and(is_other) && of.queued.addition.times.is_none()
        };
        let replaced: Vec<usize> =
            (0..self.planned.len()).filter(|n| is_replaced(&self.planned[*n])).collect();
        if replaced.is_empty() {
            return Ok(());
        }
        let id = |n: &usize| self.planned[*n].queued.addition.document.document.id.as_str();
        let ids: Vec<&str> = replaced.iter().map(id).collect();
        let mut rows = self.collection.by_ids(COLUMNS, &ids).await?;
        for (place, n) in replaced.into_iter().enumerate() {
            let Some(row) = rows.remove(&place) else {
                continue;
            };
            // The answer says less of a version that cannot be read; it is replaced all the same.
            let Ok(record) = self.collection.record(&row, Detail::Set) else {
                continue;
            };
            let old = self.planned[n].old.as_mut();
            let ordinal = record.ordinal.get().cast_signed();
            if let Some(old) = old.filter(|old| old.ordinal == ordinal) {
                old.record = Some(Box::new(record));
            }
        }
        Ok(())
    }

    /// Reads more sets of the keys of which not all were read, in one call for all documents with
    /// too few near sets among those: the next lookup of each would read them.
    /// Returns whether it read any.
    async fn read_further(&mut self) -> Result<bool, BackendError> {
        let mut asked = ProbeKeys { keys: Vec::new(), equal: None, of_key: 0 };
        let mut keys = HashSet::<i64>::new();
        for planned in &mut self.planned {
            let Some((search, probe)) = planned.search() else { continue };
            let selection = &planned.selected;
            let may_be_near = |of: &&SelectedSet| {
                self.collection.estimator.estimate(of.agreeing).value >= search.threshold.get()
            };
            let near = selection.sets.iter().filter(may_be_near).count();
            let of_batch = planned.queued.addition.search.as_ref();
            let further = of_batch.and_then(|search| Some(search.candidates?[1]));
            let is_enough = !selection.are_more || near >= search.limits.members_max;
            if is_enough || planned.limits == further {
                continue;
            }
            let is_wanted =
                |key: &i64| !keys.contains(key) && self.found.has_more(*key, probe.of_key);
            let own: Vec<i64> = probe.keys.iter().copied().filter(is_wanted).collect();
            let of_key = further.map_or(0, |limits| of_key(probe.keys.len(), &limits));
            planned.searches_apart = !asked.add_keys(&own, of_key);
            if !planned.searches_apart {
                keys.extend(own);
                planned.limits = further;
                // The database reports new ones of as many sets under the locks.
                if let Some(probe) = &mut planned.probe {
                    probe.of_key = of_key.max(probe.of_key);
                }
            }
        }
        if keys.is_empty() {
            return Ok(false);
        }
        let further = answered(self.collection.shared.probes.push(asked)).await?;
        self.found.add_of_keys(&keys, &further);
        Ok(true)
    }

    /// Selects the best sets of each document.
    fn select(&mut self) {
        for planned in &mut self.planned {
            let Some((search, probe)) = planned.search() else { continue };
            planned.selected = self.collection.select(&search, probe, &self.found);
        }
    }

    /// Reads the selected sets for all documents in one call, which also fills the cache of sets.
    async fn read_found(&mut self) -> Result<(), BackendError> {
        let mut members_max = 0;
        for planned in &mut self.planned {
            let Some((search, _)) = planned.search() else {
                // The engine looks records up.
                planned.is_stale |= planned.probe.is_some() && self.seen >= 0;
                continue;
            };
            members_max = search.limits.members_max.max(members_max);
            planned.is_stale |= !planned.selected.sets.is_empty();
        }
        let mut selected: Vec<(usize, &SelectedSet)> =
            self.planned.iter().flat_map(|of| of.selected.sets.iter().enumerate()).collect();
        // The best of each document first: their elements are read, too.
        selected.sort_by_key(|(rank, _)| *rank);
        let mut known = HashSet::new();
        let distinct = selected.into_iter().map(|(_, set)| set);
        let distinct: Vec<&SelectedSet> =
            distinct.filter(|set| known.insert(set.near.entry)).collect();
        self.read = self.collection.read(&distinct, members_max, distinct.len()).await?;
        Ok(())
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
            selected: SelectedSets::default(),
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
