//! For tests of the engine: prepared documents, and a backend with documents in a map, all of which
//! are looked through for each lookup. A chosen call fails, or every nth. It has none of the
//! operations of `capability`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use futures_util::{StreamExt, stream};
use tokio::sync::watch;

use super::in_flight::{Arrival, InFlight};
use super::{
    Adding, Addition, Backend, BackendError, BackendStats, Candidate, Candidates, Check, Clock,
    ExactCandidates, Findings, Matches, Member, PausedWrites, PreparedDocument, Records, Removed,
    Rivals, Scan, Scanned, Sketched, Stamp, Stored, Unchecked, Verdict, Version, WriteGate,
    content_hash,
};
use crate::document::{Content, Document, DocumentId, Ordinal};
use crate::stored::{Detail, DocumentDetails, Order, Record, Times};
use akin_core::index::{ExactSearch, Search};
use akin_core::measure::Overlap;
use akin_core::scheme::{Scheme, SchemeSettings};
use akin_core::sketch::{Estimator, Sketch, SketchSettings, Sketcher};
use akin_core::text::{ShingleSet, ShingleSettings, Shingler};
use akin_model::analysis::Analysis;
use akin_model::stats::CollectionSize;

type Documents = BTreeMap<DocumentId, Record>;

type Called<T> = Result<T, BackendError>;

pub struct Memory {
    scheme: Scheme,
    estimator: Estimator,
    clock: Clock,
    in_flight: InFlight,
    gate: WriteGate,
    documents: Mutex<Documents>,
    next_ordinal: AtomicU64,
    calls: AtomicU64,
    /// Every call with a multiple of this number fails.
    failing: AtomicU64,
}

impl Memory {
    pub fn new(scheme: Scheme, estimator: Estimator, clock: Clock) -> Self {
        let [next_ordinal, calls] = [const { AtomicU64::new(0) }; 2];
        let (in_flight, failing) = (InFlight::new(estimator), AtomicU64::new(u64::MAX));
        let (gate, documents) = (WriteGate::default(), Mutex::default());
        Self { scheme, estimator, clock, in_flight, gate, documents, next_ordinal, calls, failing }
    }

    /// From now on each nth call fails, before it changes anything; with `u64::MAX` none does.
    pub fn fail_each(&self, nth: u64) {
        self.calls.store(0, Ordering::Relaxed);
        self.failing.store(nth, Ordering::Relaxed);
    }

    /// Begins a call.
    fn call(&self) -> Called<MutexGuard<'_, Documents>> {
        let number = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        if number.is_multiple_of(self.failing.load(Ordering::Relaxed)) {
            let reason = format!("call {number} fails");
            return Err(BackendError::OutOfService { reason });
        }
        Ok(self.documents.lock().unwrap())
    }

    /// The documents that have not expired.
    fn alive(&self) -> Called<Vec<Record>> {
        let now_ms = self.clock.now_ms();
        let documents = self.call()?;
        Ok(documents.values().filter(|of| of.is_alive(now_ms)).cloned().collect())
    }

    fn agreeing(&self, probe: &Sketch, record: &Record) -> u32 {
        self.estimator.agreeing(probe.as_bytes(), record.sketch.as_bytes())
    }

    /// Checks a document and stores it as the check decides.
    async fn add_one(
        &self,
        number: usize,
        addition: &Addition,
        (arrival, mut rivals): (Arrival, Rivals),
        check: &dyn Check,
    ) -> Called<Option<Stored>> {
        let mut verdict = Verdict::Again;
        while verdict == Verdict::Again {
            let found = Findings { rivals, arrival: Some(&arrival), ..Findings::new(None) };
            verdict = check.check(number, found).await;
            rivals = arrival.rivals(addition);
        }
        if verdict == Verdict::Withdraw {
            return Ok(None);
        }
        arrival.wait_for_predecessor().await;
        let _passed = self.gate.pass().await?;
        let stored = self.store(addition, verdict)?;
        arrival.stored();
        Ok(stored)
    }

    fn store(&self, addition: &Addition, verdict: Verdict) -> Called<Option<Stored>> {
        let (prepared, now_ms) = (&*addition.document, self.clock.now_ms());
        let document = &prepared.document;
        let mut documents = self.call()?;
        let old = documents.get(&document.id).filter(|old| old.is_alive(now_ms));
        if prepared.only_over.is_some_and(|over| old.is_none_or(|old| old.ordinal != over)) {
            return Err(BackendError::Changed);
        }
        let added = Times { stored_at_ms: now_ms, expires_at_ms: document.expires_at_ms };
        let Times { stored_at_ms, expires_at_ms } = addition.times.unwrap_or(added);
        let content_hash = content_hash(document);
        let version = |old: &Record| (old.content_hash, old.expires_at_ms);
        let stored = match old.map(version) {
            None if verdict == Verdict::Replace => return Ok(None),
            None => Stored::Created,
            Some(old) if old == (content_hash, expires_at_ms) && addition.times.is_none() => {
                return Ok(Some(Stored::Unchanged));
            }
            Some(_) if addition.times.is_some() => Stored::Replaced(None),
            Some(_) => Stored::Replaced(old.cloned().map(Box::new)),
        };
        let ordinal = self.next_ordinal.fetch_add(1, Ordering::Relaxed);
        let record = Record {
            ordinal: Ordinal::try_from(ordinal).unwrap(),
            id: document.id.clone(),
            stored_at_ms,
            expires_at_ms,
            content: Some(document.content.clone()),
            metadata: document.metadata.clone(),
            set: Some(prepared.analysis.set.clone()),
            shingles: prepared.analysis.set.count() as u32,
            fingerprint: prepared.analysis.fingerprint,
            content_hash,
            sketch: prepared.analysis.sketch.clone(),
            whole_document: prepared.analysis.whole_document,
        };
        documents.insert(document.id.clone(), record);
        Ok(Some(stored))
    }

    fn candidates_of(&self, search: &Search<'_>, documents: &[Record]) -> Candidates {
        let (mut by_fingerprint, mut left_out) = (BTreeMap::<u64, Candidate>::new(), 0);
        for record in documents {
            let keys: BTreeSet<_> = self.scheme.all_keys(record.sketch.as_bytes()).collect();
            let keys_shared = search.keys.iter().filter(|key| keys.contains(key)).count() as u32;
            let agreeing = self.agreeing(search.sketch, record);
            if keys_shared > 0 && agreeing < search.agreeing_min {
                left_out = left_out.max(agreeing);
            } else if keys_shared > 0 {
                let new = || Candidate { agreeing, keys_shared, ..candidate(record) };
                let known = by_fingerprint.entry(record.fingerprint).or_insert_with(new);
                if known.members[0].id != record.id {
                    known.members.push(member(record));
                }
            }
        }
        let found: Vec<_> = by_fingerprint.into_values().collect();
        let (seen, truncated, in_crowd) = (found.len(), false, false);
        Candidates { found, seen, truncated, are_compared: true, left_out, in_crowd }
    }
}

fn member(record: &Record) -> Member {
    let (ordinal, id) = (record.ordinal, record.id.clone());
    Member { ordinal, id, has_metadata: record.metadata.is_some() }
}

fn candidate(record: &Record) -> Candidate {
    let (fingerprint, shingles) = (record.fingerprint, record.shingles);
    let members = [member(record)].into_iter().collect();
    Candidate { fingerprint, shingles, agreeing: 0, keys_shared: 0, members }
}

#[async_trait]
impl Backend for Memory {
    fn add(self: Arc<Self>, documents: Vec<Addition>, check: Arc<dyn Check>) -> Adding {
        let arrive = |of: &Addition| {
            let is_absent =
                || !self.documents.lock().unwrap().contains_key(&of.document.document.id);
            self.in_flight.enter(of, is_absent)
        };
        let arrived: Vec<_> = documents.iter().map(arrive).collect();
        Box::pin(async move {
            let mut outcomes = Vec::new();
            for (number, (addition, arrived)) in documents.iter().zip(arrived).enumerate() {
                outcomes.push(self.add_one(number, addition, arrived, &*check).await);
            }
            outcomes
        })
    }

    async fn remove(&self, id: &DocumentId) -> Called<bool> {
        let arrival = self.in_flight.enter_removal(id);
        arrival.wait_for_predecessor().await;
        let _passed = self.gate.pass().await?;
        let removed = self.call()?.remove(id);
        arrival.stored();
        Ok(removed.is_some_and(|removed| removed.is_alive(self.clock.now_ms())))
    }

    async fn remove_expired(&self, max: usize) -> Called<u64> {
        let (_passed, now_ms) = (self.gate.pass().await?, self.clock.now_ms());
        let mut documents = self.call()?;
        let due = documents.values().filter(|record| !record.is_alive(now_ms)).take(max);
        let due: Vec<DocumentId> = due.map(|record| record.id.clone()).collect();
        Ok(due.iter().filter_map(|id| documents.remove(id)).count() as u64)
    }

    async fn remove_where(&self, matches: Matches, removed: &mut Removed) -> Called<()> {
        let _passed = self.gate.pass().await?;
        let mut documents = self.call()?;
        let before = documents.len();
        documents.retain(|_, record| !matches(&details(record)));
        let gone = (before - documents.len()) as u64;
        *removed = Removed { matched: gone, removed: gone };
        Ok(())
    }

    async fn candidates(&self, searches: &[Search<'_>]) -> Called<Vec<Candidates>> {
        let documents = self.alive()?;
        Ok(searches.iter().map(|search| self.candidates_of(search, &documents)).collect())
    }

    async fn exact_candidates(&self, search: &ExactSearch) -> Called<ExactCandidates> {
        let documents = self.alive()?;
        let scanned = |record: &Record| {
            let threshold = search.threshold.get();
            let overlap = Overlap::reaching(&search.set, record.set.as_ref()?, threshold)?;
            let agreeing = self.agreeing(&search.sketch, record);
            Some(Scanned { candidate: Candidate { agreeing, ..candidate(record) }, overlap })
        };
        let found = documents.iter().filter_map(scanned).collect();
        Ok(ExactCandidates::Scanned(Scan { found, seen: documents.len() }))
    }

    async fn sets(&self, candidates: &[Candidate]) -> Called<Vec<Option<ShingleSet>>> {
        let documents = self.call()?;
        let set = |of: &Candidate| {
            let members = of.members.iter().filter_map(|member| documents.get(&member.id));
            members.filter(|it| it.fingerprint == of.fingerprint).find_map(|it| it.set.clone())
        };
        Ok(candidates.iter().map(set).collect())
    }

    async fn contents(&self, groups: &[Vec<Version>]) -> Called<Vec<Option<Content>>> {
        let documents = self.call()?;
        let content = |group: &Vec<Version>| {
            let records = group.iter().filter_map(|of| documents.get(&of.id));
            records.into_iter().find_map(|record| record.content.clone())
        };
        Ok(groups.iter().map(content).collect())
    }

    async fn details(&self, versions: &[Version]) -> Called<Vec<Option<DocumentDetails>>> {
        let documents = self.call()?;
        let of = |version: &Version| {
            documents.get(&version.id).filter(|of| of.ordinal == version.ordinal).map(details)
        };
        Ok(versions.iter().map(of).collect())
    }

    async fn stamps(&self, ids: &[DocumentId]) -> Called<Vec<Option<Stamp>>> {
        let (documents, now_ms) = (self.call()?, self.clock.now_ms());
        let stamp = |id: &DocumentId| {
            let record = documents.get(id).filter(|record| record.is_alive(now_ms))?;
            let Record { stored_at_ms, expires_at_ms, content_hash, .. } = *record;
            Some(Stamp { content_hash, times: Times { stored_at_ms, expires_at_ms } })
        };
        Ok(ids.iter().map(stamp).collect())
    }

    async fn sketched(&self, ids: &[DocumentId]) -> Called<Vec<Option<Sketched>>> {
        let (documents, now_ms) = (self.call()?, self.clock.now_ms());
        let sketched = |id: &DocumentId| {
            let record = documents.get(id).filter(|record| record.is_alive(now_ms))?;
            Some(Sketched { candidate: candidate(record), sketch: record.sketch.clone() })
        };
        Ok(ids.iter().map(sketched).collect())
    }

    async fn record(&self, id: &DocumentId, _: Detail) -> Called<Option<Record>> {
        Ok(self.alive()?.into_iter().find(|record| record.id == *id))
    }

    async fn list(&self, after: Option<DocumentId>, limit: usize) -> Called<Vec<DocumentId>> {
        let ids = self.alive()?.into_iter().map(|record| record.id);
        Ok(ids.filter(|id| Some(id) > after.as_ref()).take(limit).collect())
    }

    async fn sample(&self, documents: usize) -> Called<Vec<DocumentId>> {
        self.list(None, documents).await
    }

    /// By id, in any order.
    async fn export(&self, _: Detail, _: Order) -> Records {
        let records = |records: Vec<Record>| records.into_iter().map(Ok).collect();
        stream::iter(self.alive().map_or_else(|error| vec![Err(error)], records)).fuse().boxed()
    }

    async fn pause_writes(&self) -> Called<Box<dyn PausedWrites>> {
        Ok(self.gate.pause().await)
    }

    async fn stats(&self) -> Called<BackendStats> {
        let documents = self.alive()?;
        let sets: BTreeSet<u64> = documents.iter().map(|record| record.fingerprint).collect();
        let (documents, distinct_sets) = (documents.len() as u64, Some(sets.len() as u64));
        let size = CollectionSize { documents, distinct_sets, ..CollectionSize::default() };
        Ok(BackendStats { size, ..BackendStats::default() })
    }

    fn poisoned(&self) -> watch::Receiver<Option<String>> {
        watch::channel(None).1
    }

    async fn close(&self) -> Called<()> {
        Ok(())
    }
}

fn details(record: &Record) -> DocumentDetails {
    DocumentDetails {
        stored_at_ms: record.stored_at_ms,
        content_hash: record.content_hash,
        metadata: record.metadata.clone(),
    }
}

/// Prepares a text with the default settings.
pub fn prepared(id: &str, text: &str) -> PreparedDocument {
    let content = Content::Text(text.to_owned());
    let shingled = Shingler::new(ShingleSettings::default(), 0, 1_000).shingle(&content).unwrap();
    let sketch = Sketcher::new(SketchSettings::default()).sketch(&shingled.set);
    let scheme = Scheme::new(&SchemeSettings::default(), &SketchSettings::default());
    PreparedDocument {
        document: Document {
            id: DocumentId::new(id).unwrap(),
            content,
            metadata: None,
            expires_at_ms: None,
        },
        keys: scheme.all_keys(sketch.as_bytes()).collect(),
        analysis: Analysis {
            fingerprint: shingled.set.fingerprint(),
            set: shingled.set,
            sketch,
            whole_document: shingled.whole_document,
        },
        only_over: None,
        blocks: None,
        arriving: None,
    }
}

/// Adds a document without a check.
///
/// # Errors
/// The errors of the backend.
pub async fn add(
    backend: Arc<dyn Backend>,
    document: PreparedDocument,
) -> Result<Stored, BackendError> {
    let addition = Addition::new(document, None, false, false);
    let mut stored = backend.add(vec![addition], Arc::new(Unchecked)).await;
    Ok(stored.remove(0)?.expect("every document is stored"))
}
