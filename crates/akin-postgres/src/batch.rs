//! Documents that are added together, and the known part of the stored data.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use akin_core::index::Search;
use akin_engine::backend::{
    BackendError, Candidates, Findings, Rival, RivalSearch, Rivals, Stored, Verdict, content_hash,
};
use akin_engine::storage::{content, elements};
use akin_engine::stored::{Detail, Record, Times};
use akin_model::analysis::Analysis;
use akin_model::document::{DocumentId, Metadata};
use tokio_postgres::Row;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::adding::{AdditionRequest, Queued};
use crate::arguments::{Arguments, NewDocument};
use crate::backend::PostgresCollection;
use crate::lookup::{FoundSets, NearSet, ProbeKeys, SelectedSet};
use crate::reading::Read;
use crate::rows::{COLUMNS, form_of};

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
    old: Option<Old>,
    decision: Decision,
    /// Something was learned since it was judged.
    is_stale: bool,
    had_rivals: bool,
}

/// The frame of a content, and a packed set where no contents are kept.
type EncodedDocument = (Option<Vec<u8>>, Option<Vec<u8>>);

pub(crate) struct InsertBatch<'a> {
    collection: &'a Arc<PostgresCollection>,
    planned: Vec<PlannedInsert<'a>>,
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
        let planned: Vec<PlannedInsert<'a>> =
            requests.iter().map(|of| PlannedInsert::new(collection, &of.asked)).collect();
        let encoded = encoded(collection, &planned).await?;
        let (found, read) = (FoundSets::default(), Arc::default());
        Ok(Self { collection, planned, encoded, found, read, seen: -1 })
    }

    /// Decides about the documents of which something was learned, in their order: earlier
    /// documents of the batch that stay are rivals of later ones.
    pub async fn judge(&mut self) {
        let mut staying = HashMap::<i64, Vec<usize>>::new();
        let mut replaced = HashSet::new();
        for n in 0..self.planned.len() {
            let rivals = self.rivals(n, &staying);
            let has_rivals = !rivals.found.is_empty();
            let planned = &self.planned[n];
            if planned.is_stale || has_rivals || planned.had_rivals {
                let decision = self.decide(n, rivals, &replaced).await;
                let planned = &mut self.planned[n];
                (planned.decision, planned.is_stale) = (decision, false);
                planned.had_rivals = has_rivals;
            }
            if self.planned[n].stays() {
                replaced.insert(self.planned[n].queued.addition.document.document.id.clone());
                for key in self.collection.keys_of(&self.planned[n].queued.addition.document) {
                    staying.entry(key).or_default().push(n);
                }
            }
        }
    }

    async fn decide(&self, n: usize, rivals: Rivals, replaced: &HashSet<DocumentId>) -> Decision {
        let PlannedInsert { queued, hash, times, old, .. } = &self.planned[n];
        let mut found = Findings::new(self.candidates(n, replaced));
        found.rivals = rivals;
        let verdict = queued.check.check(queued.number, found).await;
        if verdict == Verdict::Withdraw {
            return Decision::Leave(Ok(None));
        }
        let now_ms = self.collection.now_ms();
        let old = old.as_ref().filter(|old| old.expires_at_ms.is_none_or(|at| at > now_ms));
        let over = queued.addition.document.only_over.map(|over| over.get().cast_signed());
        if over.is_some_and(|over| old.is_none_or(|old| old.ordinal != over)) {
            return Decision::Leave(Err(BackendError::Changed));
        }
        match old {
            None if verdict == Verdict::Replace => Decision::Leave(Ok(None)),
            Some(old)
                if old.hash == *hash
                    && old.expires_at_ms == times.expires_at_ms
                    && queued.addition.times.is_none() =>
            {
                Decision::Leave(Ok(Some(Stored::Unchanged)))
            }
            _ => Decision::Write,
        }
    }

    /// The earlier documents of the batch that share a lookup key with a document.
    fn rivals(&self, n: usize, staying: &HashMap<i64, Vec<usize>>) -> Rivals {
        let PlannedInsert { queued, probe: Some(probe), .. } = &self.planned[n] else {
            return Rivals::default();
        };
        let Some(search) = &queued.addition.search else { return Rivals::default() };
        let sharing: HashSet<usize> =
            probe.keys.iter().filter_map(|key| staying.get(key)).flatten().copied().collect();
        let document = &queued.addition.document;
        let near = |m: usize| {
            let rival = &self.planned[m].queued.addition.document;
            let (ours, its) = (&document.analysis.sketch, &rival.analysis.sketch);
            let agreeing = self.collection.estimator.agreeing(ours.as_bytes(), its.as_bytes());
            (agreeing >= search.agreeing_min).then_some((agreeing, m))
        };
        let mut near: Vec<(u32, usize)> = sharing.into_iter().filter_map(near).collect();
        near.sort_unstable_by_key(|(agreeing, m)| (std::cmp::Reverse(*agreeing), *m));
        let truncated = near.len() > search.rivals_max;
        near.truncate(search.rivals_max);
        let rival = |(_, m): (u32, usize)| {
            Rival::certain(Arc::clone(&self.planned[m].queued.addition.document))
        };
        Rivals { found: near.into_iter().map(rival).collect(), truncated }
    }

    /// The stored candidates of a document; `None` if the engine looks them up by other means.
    /// `replaced`: earlier documents of the batch, which are rivals in place of their old versions.
    fn candidates(&self, n: usize, replaced: &HashSet<DocumentId>) -> Option<Candidates> {
        let PlannedInsert { queued, probe, .. } = &self.planned[n];
        let search = Self::search(queued)?;
        let selection = self.collection.select(&search, probe.as_ref()?, &self.found);
        let members_max = search.limits.members_max;
        let mut candidates = self.collection.candidates_of(selection, &self.read, members_max);
        for candidate in &mut candidates.found {
            candidate.members.retain(|member| !replaced.contains(&member.id));
        }
        candidates.found.retain(|candidate| !candidate.members.is_empty());
        Some(candidates)
    }

    fn search(queued: &Queued) -> Option<Search<'_>> {
        let RivalSearch { keys, agreeing_min, threshold, candidates, .. } =
            queued.addition.search.as_ref()?;
        let (document, limits) = (&queued.addition.document, (*candidates)?);
        let Analysis { sketch, fingerprint, .. } = &document.analysis;
        Some(Search::new(keys, sketch, *fingerprint, *threshold, *agreeing_min, limits))
    }

    /// Takes what a call returned, and reads the documents and the elements of new sets.
    pub async fn learn(&mut self, rows: &[Row]) -> Result<(), BackendError> {
        for row in rows {
            self.seen = self.seen.max(row.get(5));
            match row.get::<_, i32>(0) {
                0 => self.found.add(NearSet::of(row, 1)),
                _ => {
                    let old = self.old(row);
                    let planned = &mut self.planned[row.get::<_, i64>(6) as usize - 1];
                    (planned.old, planned.is_stale) = (old, true);
                }
            }
        }
        self.read_replaced().await?;
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
            let Some(row) = rows.remove(&place) else { continue };
            // The answer says less of a version that cannot be read; it is replaced all the same.
            let Ok(record) = self.collection.record(&row, Detail::Set) else { continue };
            let old = self.planned[n].old.as_mut();
            let ordinal = record.ordinal.get().cast_signed();
            if let Some(old) = old.filter(|old| old.ordinal == ordinal) {
                old.record = Some(Box::new(record));
            }
        }
        Ok(())
    }

    /// Reads for all documents in one call, which also fills the cache of sets.
    async fn read_found(&mut self) -> Result<(), BackendError> {
        let (mut selected, mut members_max) = (Vec::<(usize, SelectedSet)>::new(), 0);
        let mut stale = Vec::new();
        for (n, PlannedInsert { queued, probe, .. }) in self.planned.iter().enumerate() {
            let (Some(probe), Some(search)) = (probe, Self::search(queued)) else {
                // The engine looks records up.
                stale.extend(probe.as_ref().filter(|_| self.seen >= 0).map(|_| n));
                continue;
            };
            let sets = self.collection.select(&search, probe, &self.found).sets;
            stale.extend((!sets.is_empty()).then_some(n));
            members_max = search.limits.members_max.max(members_max);
            selected.extend(sets.into_iter().enumerate());
        }
        for n in stale {
            self.planned[n].is_stale = true;
        }
        // The best of each document first: their elements are read, too.
        selected.sort_by_key(|(rank, _)| *rank);
        let mut known = HashSet::new();
        let distinct =
            selected.iter().map(|(_, set)| set).filter(|set| known.insert(set.near.entry));
        let distinct: Vec<&SelectedSet> = distinct.collect();
        self.read = self.collection.read(&distinct, members_max, distinct.len()).await?;
        Ok(())
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

    pub fn writes(&self) -> bool {
        self.planned.iter().any(|of| matches!(of.decision, Decision::Write))
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
            let (times, analysis) = (planned.times, &document.analysis);
            arguments.write_document(&NewDocument {
                id,
                entry,
                hash: planned.hash.cast_signed(),
                stored_at_ms: times.stored_at_ms,
                expires_at_ms: times.expires_at_ms,
                form: form_of(&document.document.content, analysis.whole_document),
                metadata: document.document.metadata.as_ref().map(Metadata::as_json),
                frame: frame.as_deref(),
                shingles: analysis.set.count() as i32,
                sketch: analysis.sketch.as_bytes(),
                packed: packed.as_deref(),
                keys: self.collection.keys_of(document),
                old: planned.old.as_ref(),
            });
        }
        arguments.order();
        arguments
    }
}

impl<'a> PlannedInsert<'a> {
    fn new(collection: &PostgresCollection, queued: &'a Queued) -> Self {
        let addition = &queued.addition;
        let document = &addition.document;
        let stored_at_ms = collection.now_ms();
        let by_ttl = collection.ttl_ms.map(|ttl_ms| stored_at_ms.saturating_add(ttl_ms));
        let expires_at_ms = document.document.expires_at_ms.or(by_ttl);
        let times = addition.times.unwrap_or(Times { stored_at_ms, expires_at_ms });
        let probe = addition.search.as_ref().map(|search| ProbeKeys {
            keys: search.keys.iter().map(|key| collection.key(*key)).collect(),
            equal: collection.entry(document.analysis.fingerprint),
            of_key: queued.of_key(),
        });
        Self {
            queued,
            hash: content_hash(&document.document),
            times,
            probe,
            old: None,
            decision: Decision::Undecided,
            is_stale: true,
            had_rivals: false,
        }
    }

    /// Whether the document is stored, as far as is known.
    fn stays(&self) -> bool {
        matches!(self.decision, Decision::Write | Decision::Leave(Ok(Some(_))))
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
