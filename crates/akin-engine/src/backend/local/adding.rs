//! Adds documents: they arrive, are checked, and are written in one entry of the committer's queue.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::future::{join, join_all};

use super::Local;
use super::memory_state::DurableDocument;
use crate::backend::in_flight::Arrival;
use crate::backend::{
    Addition, ArrivingText, Backend, BackendError, Candidates, Check, Findings, PreparedDocument,
    Rival, Rivals, Stored, Verdict, content_hash,
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
        let id = &addition.document.document.id;
        let mut is_new = false;
        // Called if no version is in flight: a document that is no longer in flight is in the
        // catalog.
        let is_absent = || {
            is_new = self.memory.catalog.ordinal(id).is_none();
            is_new || self.memory.catalog.alive(id, self.now_ms()).is_none()
        };
        let (arrival, rivals) = self.in_flight.enter(&addition, is_absent);
        Arrived { addition, arrival, rivals, is_new }
    }

    /// Checks and stores documents that have arrived in this order. New documents that need not
    /// wait for other documents are written together.
    pub(super) async fn add_arrived(
        &self,
        arrived: Vec<Arrived>,
        check: &dyn Check,
    ) -> Vec<Result<Option<Stored>, BackendError>> {
        let searches: Vec<_> = arrived.iter().filter_map(Arrived::search).collect();
        // After an error the checks look the candidates up.
        let mut found = self.candidates(&searches).await.unwrap_or_default().into_iter();
        let candidates: Vec<Option<Candidates>> =
            arrived.iter().map(|of| of.search().and_then(|_| found.next())).collect();
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

    async fn check_and_store(
        &self,
        arrived: Vec<(usize, (Arrived, Option<Candidates>))>,
        check: &dyn Check,
    ) -> Outcomes {
        let (mut outcomes, mut stored) = (Vec::new(), Vec::new());
        let (mut written, mut arrivals) = (Vec::new(), Vec::new());
        for (at, (number, (mut arrived, candidates))) in arrived.into_iter().enumerate() {
            if at % CHECKED_BEFORE_YIELD == CHECKED_BEFORE_YIELD - 1 {
                tokio::task::yield_now().await;
            }
            let verdict = arrived.decide(number, candidates, check).await;
            match self.plan(&arrived, verdict).await {
                Ok((outcome, Some(document))) => {
                    stored.push((number, outcome));
                    written.push(document);
                    arrivals.push((arrived.arrival, arrived.addition.text));
                }
                Ok((outcome, None)) => {
                    if outcome.is_some() {
                        arrived.arrival.stored();
                    }
                    outcomes.push((number, Ok(outcome)));
                }
                Err(error) => outcomes.push((number, Err(error))),
            }
        }
        if !written.is_empty() {
            let written = self.write_documents(written, arrivals).await;
            let outcome = |(number, stored)| (number, written.clone().map(|()| stored));
            outcomes.extend(stored.into_iter().map(outcome));
        }
        outcomes
    }

    /// Whether a document is stored, and what is written for that: nothing if it is withdrawn, if
    /// it is stored already, or if it may only replace a document and there is none.
    async fn plan(
        &self,
        Arrived { addition, arrival, .. }: &Arrived,
        verdict: Verdict,
    ) -> Result<(Option<Stored>, Option<DurableDocument>), BackendError> {
        if verdict == Verdict::Withdraw {
            return Ok((None, None));
        }
        arrival.wait_for_predecessor().await;
        let prepared = Arc::clone(&addition.document);
        let document = &prepared.document;
        let times = addition.times.unwrap_or_else(|| self.times_of(document));
        let old = self.memory.catalog.alive(&document.id, self.now_ms());
        let is_over = |over| old.as_ref().is_some_and(|old| old.ordinal == over);
        if !prepared.only_over.is_none_or(is_over) {
            return Err(BackendError::Changed);
        }
        if verdict == Verdict::Replace && old.is_none() {
            return Ok((None, None));
        }
        let expires_as_before =
            old.as_ref().filter(|old| old.expires_at_ms() == times.expires_at_ms);
        let stamp = Stamp { content_hash: content_hash(document), times };
        if let Some(old) = expires_as_before
            && addition.times.is_none()
            && Box::pin(self.is_equal(old.ordinal, stamp.content_hash)).await?
        {
            return Ok((Some(Stored::Unchanged), None));
        }
        // This may be an expired document that is not removed yet.
        let replaced = self.memory.catalog.ordinal(&document.id);
        // Before the indexes ask for the set, which is in the cache then.
        let stored = match old {
            None => Stored::Created,
            Some(_) if addition.times.is_some() => Stored::Replaced(None),
            Some(old) => Stored::Replaced(Box::pin(self.replaced(old.ordinal)).await),
        };
        let replaces = match replaced {
            Some(ordinal) => Some((ordinal, self.removal_data(ordinal).await)),
            None => None,
        };
        let is_copy = addition.times.is_some();
        let ordinal = Ordinal::MIN;
        Ok((Some(stored), Some(DurableDocument { ordinal, prepared, stamp, is_copy, replaces })))
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

    async fn write_documents(
        &self,
        mut documents: Vec<DurableDocument>,
        arrivals: Vec<(Arrival, Option<ArrivingText>)>,
    ) -> Result<(), BackendError> {
        let stamped = |of: &DurableDocument| (Arc::clone(&of.prepared), of.stamp);
        let records = self.encode(documents.iter().map(stamped).collect()).await?;
        // Assigned last, so that documents reach the store in the order of their ordinals: only
        // rows appended to their table fill its pages.
        let ordinals = self.take_ordinals(documents.len())?;
        if let Some(clusters) = &self.memory.clusters
            && documents.iter().any(|of| of.is_copy)
        {
            clusters.copied();
        }
        let mut writes = Vec::with_capacity(documents.len());
        for ((mut record, ordinal), document) in
            records.into_iter().zip(ordinals).zip(&mut documents)
        {
            (record.ordinal, document.ordinal) = (ordinal, ordinal);
            let replaces = document.replaces.as_ref().map(|(ordinal, _)| *ordinal);
            writes.push(Write::Put { record, replaces });
        }
        // Kept here as well, so that the committing thread does not have to free them.
        let documents = Arc::new(documents);
        let (memory, committed) = (Arc::clone(&self.memory), Arc::clone(&documents));
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
            self.rivals = self.arrival.rivals(&self.addition);
        }
    }
}
