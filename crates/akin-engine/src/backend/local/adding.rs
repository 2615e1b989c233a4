//! Adds documents: they arrive, are checked, and are written in one entry of the committer's queue.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::future::{join, join_all};

use super::Local;
use super::memory_state::{DurableDocument, RemovalData};
use crate::backend::in_flight::Arrival;
use crate::backend::{
    Addition, Backend, BackendError, Candidates, Check, Findings, PreparedDocument, Rival, Rivals,
    Stored, Verdict, content_hash,
};
use crate::document::{Document, Ordinal};
use crate::storage::{EncodedRecord, Write};
use crate::stored::{Detail, Record, Stamp, Times};
use akin_core::index::Search;

/// Contents up to this weight are encoded on the runtime thread (about 1 ms).
const INLINE_WEIGHT_MAX: usize = 256 << 10;

/// Documents that are checked before the thread is yielded to other tasks: a few milliseconds' work
/// among near-duplicates.
const CHECKED_BEFORE_YIELD: usize = 16;

/// A document with its place in the order of arrival. Dropping it before it is stored withdraws it.
pub(super) struct Arrived {
    addition: Addition,
    arrival: Arrival,
    rivals: Rivals,
    /// Whether no document with this id was stored or in flight when it arrived.
    is_new: bool,
}

/// The outcome of each document, by its number in the call.
type Outcomes = Vec<(usize, Result<Option<Stored>, BackendError>)>;

/// A document that is about to be written.
struct Planned {
    number: usize,
    arrived: Arrived,
    stamp: Stamp,
    /// A stored version that is replaced, which may have expired.
    replaces: Option<Ordinal>,
    removal: RemovalData,
    stored: Stored,
}

impl Arrived {
    /// Whether the document may replace a document, or has to wait for another document: for a
    /// rival, or for the write that replaces a candidate for the sake of which it may be withdrawn.
    fn is_added_alone(&self, candidates: Option<&Candidates>) -> bool {
        let Addition { document, tentative, waits_for_texts, .. } = &self.addition;
        let may_find = |found: &Candidates| !found.found.is_empty() || found.truncated;
        let waits = self.rivals.found.iter().any(Rival::is_waited_for)
            || *tentative && candidates.is_none_or(may_find);
        !self.is_new || document.only_over.is_some() || waits || *waits_for_texts
    }
}

impl Local {
    /// Gives a document its number in the order of arrival.
    pub(super) fn arrive(&self, addition: Addition) -> Arrived {
        let Addition { document, search, tentative, text, .. } = &addition;
        let ticket = text.as_ref().map(|text| text.ticket);
        let id = &document.document.id;
        let mut is_new = false;
        // Called if no version is in flight: a document that is no longer in flight is in the
        // catalog.
        let is_absent = || {
            is_new = self.memory.catalog.ordinal(id).is_none();
            is_new || self.memory.catalog.alive(id, self.now_ms()).is_none()
        };
        let (arrival, rivals) =
            self.in_flight.enter(document, is_absent, *tentative, search.as_ref(), ticket);
        Arrived { addition, arrival, rivals, is_new }
    }

    /// Checks and stores documents that have arrived in this order. New documents that need not
    /// wait for other documents are written together.
    pub(super) async fn add_arrived(
        &self,
        arrived: Vec<Arrived>,
        check: &dyn Check,
    ) -> Vec<Result<Option<Stored>, BackendError>> {
        let candidates = self.candidates_of(&arrived).await;
        let numbered = arrived.into_iter().zip(candidates).enumerate();
        let (alone, together): (Vec<_>, Vec<_>) = numbered
            .partition(|(_, (arrived, candidates))| arrived.is_added_alone(candidates.as_ref()));
        let alone = alone.into_iter().map(|one| self.check_and_store(vec![one], check));
        let (mut outcomes, alone) =
            join(self.check_and_store(together, check), join_all(alone)).await;
        outcomes.extend(alone.into_iter().flatten());
        outcomes.sort_unstable_by_key(|(number, _)| *number);
        outcomes.into_iter().map(|(_, outcome)| outcome).collect()
    }

    /// Looks up the candidates of all documents in one batch. After an error the checks look them
    /// up.
    async fn candidates_of(&self, arrived: &[Arrived]) -> Vec<Option<Candidates>> {
        let searches: Vec<_> = arrived.iter().filter_map(Arrived::search).collect();
        let found = match searches.is_empty() {
            true => Vec::new(),
            false => self.candidates(&searches).await.unwrap_or_default(),
        };
        let mut found = found.into_iter();
        arrived.iter().map(|of| of.search().and_then(|_| found.next())).collect()
    }

    async fn check_and_store(
        &self,
        arrived: Vec<(usize, (Arrived, Option<Candidates>))>,
        check: &dyn Check,
    ) -> Outcomes {
        let (mut outcomes, mut to_store) = (Vec::new(), Vec::new());
        for (at, (number, (mut arrived, candidates))) in arrived.into_iter().enumerate() {
            if at % CHECKED_BEFORE_YIELD == CHECKED_BEFORE_YIELD - 1 {
                tokio::task::yield_now().await;
            }
            match arrived.decide(number, candidates, check).await {
                Verdict::Withdraw => outcomes.push((number, Ok(None))),
                verdict => to_store.push((number, arrived, verdict == Verdict::Replace)),
            }
        }
        outcomes.extend(self.store_all(to_store).await);
        outcomes
    }

    async fn store_all(&self, arrived: Vec<(usize, Arrived, bool)>) -> Outcomes {
        let (mut outcomes, mut planned) = (Vec::new(), Vec::with_capacity(arrived.len()));
        for (number, arrived, only_replaces) in arrived {
            match self.plan(number, arrived, only_replaces).await {
                Ok(Ok(plan)) => planned.push(plan),
                Ok(Err(stored)) => outcomes.push((number, Ok(stored))),
                Err(error) => outcomes.push((number, Err(error))),
            }
        }
        if planned.is_empty() {
            return outcomes;
        }
        let stored: Vec<_> = planned.iter().map(|of| (of.number, of.stored.clone())).collect();
        let written = self.write_planned(planned).await;
        outcomes.extend(stored.into_iter().map(|(number, stored)| match &written {
            Ok(()) => (number, Ok(Some(stored))),
            Err(error) => (number, Err(error.clone())),
        }));
        outcomes
    }

    /// The written part of a document; else whether it is stored already, or `None` if it may only
    /// replace a document and there is none.
    async fn plan(
        &self,
        number: usize,
        arrived: Arrived,
        only_replaces: bool,
    ) -> Result<Result<Planned, Option<Stored>>, BackendError> {
        arrived.arrival.wait_for_predecessor().await;
        let prepared = Arc::clone(&arrived.addition.document);
        let document = &prepared.document;
        let times = arrived.addition.times.unwrap_or_else(|| self.times_of(document));
        let old = self.memory.catalog.alive(&document.id, self.now_ms());
        let is_over = |over| old.as_ref().is_some_and(|old| old.ordinal == over);
        if !prepared.only_over.is_none_or(is_over) {
            return Err(BackendError::Changed);
        }
        if only_replaces && old.is_none() {
            return Ok(Err(None));
        }
        let expires_as_before =
            old.as_ref().filter(|old| old.expires_at_ms() == times.expires_at_ms);
        let stamp = Stamp { content_hash: content_hash(document), times };
        if let Some(old) = expires_as_before
            && arrived.addition.times.is_none()
            && Box::pin(self.is_equal(old.ordinal, stamp.content_hash)).await?
        {
            arrived.arrival.stored();
            return Ok(Err(Some(Stored::Unchanged)));
        }
        // This may be an expired document that is not removed yet.
        let replaces = self.memory.catalog.ordinal(&document.id);
        // Before the indexes ask for the set, which is in the cache then.
        let stored = match old {
            None => Stored::Created,
            Some(_) if arrived.addition.times.is_some() => Stored::Replaced(None),
            Some(old) => Stored::Replaced(Box::pin(self.replaced(old.ordinal)).await),
        };
        let removal = self.removal_data(replaces).await;
        Ok(Ok(Planned { number, arrived, stamp, replaces, removal, stored }))
    }

    /// A version that is replaced. A damaged version does not prevent its replacement.
    async fn replaced(&self, ordinal: Ordinal) -> Option<Box<Record>> {
        let read = self.fetch(vec![ordinal], Detail::Set).await;
        let read = read.inspect_err(
            |error| tracing::warn!(%error, "a document was not compared with its replaced version"),
        );
        let record = read.ok()?.pop().flatten()?;
        if let Some(set) = &record.set {
            self.memory.sets.insert(record.fingerprint, set.clone());
        }
        Some(Box::new(record))
    }

    async fn write_planned(&self, planned: Vec<Planned>) -> Result<(), BackendError> {
        let documents = planned
            .iter()
            .map(|of| (Arc::clone(&of.arrived.addition.document), of.stamp))
            .collect();
        let records = self.encode(documents).await?;
        // Assigned last, so that documents reach the store in the order of their ordinals: only
        // rows appended to their table fill its pages.
        let ordinals = self.take_ordinals(planned.len())?;
        if let Some(clusters) = &self.memory.clusters
            && planned.iter().any(|of| of.arrived.addition.times.is_some())
        {
            clusters.copied();
        }
        let (mut writes, mut durable) = (Vec::new(), Vec::with_capacity(planned.len()));
        let mut arrivals = Vec::with_capacity(planned.len());
        for ((record, ordinal), planned) in records.into_iter().zip(ordinals).zip(planned) {
            let Planned { arrived, stamp, replaces, removal, .. } = planned;
            writes.push(Write::Put { record: record.with_ordinal(ordinal), replaces });
            let Addition { document: prepared, text, .. } = arrived.addition;
            let expires_at_ms = stamp.times.expires_at_ms;
            let replaced = replaces.map(|_| removal);
            durable.push(DurableDocument { ordinal, prepared, expires_at_ms, replaced });
            arrivals.push((arrived.arrival, text));
        }
        // Kept here as well, so that the committing thread does not have to free them.
        let durable = Arc::new(durable);
        let (memory, committed) = (Arc::clone(&self.memory), Arc::clone(&durable));
        let apply = move |_sequence| {
            memory.put_all(&committed);
            for (arrival, _text) in arrivals {
                arrival.stored();
            }
        };
        self.write(writes, apply).await
    }

    /// Reserves `count` consecutive ordinals.
    fn take_ordinals(
        &self,
        count: usize,
    ) -> Result<impl Iterator<Item = Ordinal> + use<>, BackendError> {
        let end = |first: u64| {
            let end = first.checked_add(count as u64)?;
            Ordinal::try_from(end).is_ok().then_some(end)
        };
        let first = self
            .next_ordinal
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, end)
            .map_err(|_| BackendError::OrdinalsExhausted)?;
        let ordinal = |number| Ordinal::try_from(number).expect("the last of them is one");
        Ok((first..first + count as u64).map(ordinal))
    }

    /// The times of a document that is stored now.
    fn times_of(&self, document: &Document) -> Times {
        let stored_at_ms = self.now_ms();
        let by_ttl = self.settings.store.ttl_ms().map(|ttl_ms| stored_at_ms.saturating_add(ttl_ms));
        Times { stored_at_ms, expires_at_ms: document.expires_at_ms.or(by_ttl) }
    }

    /// Encodes documents as records without ordinals. Long texts are compressed on a blocking
    /// thread.
    pub(super) async fn encode(
        &self,
        documents: Vec<(Arc<PreparedDocument>, Stamp)>,
    ) -> Result<Vec<EncodedRecord>, BackendError> {
        let keep_content = self.settings.store.text;
        let level = self.storage.compression_level;
        let weight = |(prepared, _): &(Arc<PreparedDocument>, Stamp)| {
            prepared.document.content.weight().max(prepared.analysis.set.count())
        };
        let is_long = documents.iter().map(weight).sum::<usize>() > INLINE_WEIGHT_MAX;
        let encode = move |(prepared, stamp): &(Arc<PreparedDocument>, Stamp)| {
            let PreparedDocument { document, analysis, .. } = &**prepared;
            EncodedRecord::new(document, analysis, *stamp, keep_content, level)
        };
        if !is_long {
            return Ok(documents.iter().map(encode).collect());
        }
        let encode = super::blocking(move || Ok(documents.iter().map(encode).collect()));
        Ok(Box::pin(encode).await?)
    }

    /// Whether the content and the metadata of a stored document have this hash.
    async fn is_equal(&self, stored: Ordinal, hash: u64) -> Result<bool, BackendError> {
        let mut details = self.store.details(vec![stored]).await?;
        Ok(details.pop().flatten().is_some_and(|details| details.content_hash == hash))
    }
}

impl Arrived {
    fn search(&self) -> Option<Search<'_>> {
        let [limits, _] = self.addition.search.as_ref()?.candidates?;
        self.addition.search_within(limits)
    }

    async fn decide(
        &mut self,
        number: usize,
        mut candidates: Option<Candidates>,
        check: &dyn Check,
    ) -> Verdict {
        loop {
            let found = Findings {
                candidates: candidates.take(),
                rivals: std::mem::take(&mut self.rivals),
                arrival: Some(&self.arrival),
                has_text: self.addition.text.is_some(),
            };
            let verdict = check.check(number, found).await;
            if verdict != Verdict::Again {
                return verdict;
            }
            let Addition { document, tentative, search, .. } = &self.addition;
            let rivals = |search| self.arrival.rivals(document, *tentative, search);
            self.rivals = search.as_ref().map(rivals).unwrap_or_default();
        }
    }
}
