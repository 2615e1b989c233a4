//! Makes prepared documents durable and findable: a single document, or many new documents as one
//! entry in the committer's queue.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Local;
use super::memory_state::DurableDocument;
use crate::backend::{BackendError, PreparedDocument, Registered, Stored, content_hash};
use crate::document::{Document, Ordinal};
use crate::storage::{EncodedRecord, NewRecord, Write};
use crate::stored::Times;

/// Contents up to this weight are encoded on the runtime thread (about 1 ms).
const INLINE_WEIGHT_MAX: usize = 256 << 10;

impl Local {
    /// Reserves `count` consecutive ordinals.
    pub(super) fn take_ordinals(
        &self,
        count: usize,
    ) -> Result<impl Iterator<Item = Ordinal>, BackendError> {
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
    pub(super) fn times_of(&self, document: &Document) -> Times {
        let stored_at_ms = self.now_ms();
        let by_ttl = self.settings.ttl_ms.map(|ttl_ms| stored_at_ms.saturating_add(ttl_ms));
        Times { stored_at_ms, expires_at_ms: document.expires_at_ms.or(by_ttl) }
    }

    /// Encodes documents as records without ordinals. Long texts are compressed on a blocking
    /// thread.
    pub(super) async fn encode(
        &self,
        documents: Vec<(Arc<PreparedDocument>, Times)>,
    ) -> Result<Vec<EncodedRecord>, BackendError> {
        let keep_content = self.settings.keep_content;
        let level = self.settings.store.compression_level;
        let weight = |(prepared, _): &(Arc<PreparedDocument>, Times)| {
            prepared.document.content.weight().max(prepared.set.count())
        };
        let is_long = documents.iter().map(weight).sum::<usize>() > INLINE_WEIGHT_MAX;
        let encode = move |(prepared, times): &(Arc<PreparedDocument>, Times)| {
            record(prepared, *times, keep_content).encode(level)
        };
        if !is_long {
            return Ok(documents.iter().map(encode).collect());
        }
        Ok(super::blocking(move || Ok(documents.iter().map(encode).collect())).await?)
    }

    /// Whether the content and the metadata of a stored document are those of another.
    async fn is_equal(&self, stored: Ordinal, to: &Document) -> Result<bool, BackendError> {
        let mut details = self.store.details(vec![stored]).await?;
        let hash = content_hash(to);
        Ok(details.pop().flatten().is_some_and(|details| details.content_hash == hash))
    }

    /// `None` if the document `only_replaces`, and its id has no document.
    pub(super) async fn store_one(
        &self,
        registered: Registered,
        only_replaces: bool,
    ) -> Result<Option<Stored>, BackendError> {
        let Registered { document: prepared, mut arrival, text, .. } = registered;
        arrival.wait_for_predecessor().await;
        let document = &prepared.document;
        let times = self.times_of(document);
        let old = self.memory.catalog.alive(&document.id, times.stored_at_ms);
        let is_over = |over| old.as_ref().is_some_and(|old| old.ordinal == over);
        if !prepared.only_over.is_none_or(is_over) {
            return Err(BackendError::Changed);
        }
        if only_replaces && old.is_none() {
            return Ok(None);
        }
        let expires_as_before =
            old.as_ref().filter(|old| old.expires_at_ms() == times.expires_at_ms);
        if let Some(old) = expires_as_before
            && self.is_equal(old.ordinal, document).await?
        {
            arrival.stored();
            return Ok(Some(Stored::Unchanged));
        }
        // This may be an expired document that is not removed yet.
        let replaces = self.memory.catalog.ordinal(&document.id);
        let leaving = self.leaving(replaces).await;
        let encoded = self.encode(vec![(Arc::clone(&prepared), times)]).await?;
        let record = encoded.into_iter().next().expect("there is one of one document");
        // Assigned last, so that documents reach the store in the order of their ordinals: only
        // rows appended to their table fill its pages.
        let ordinal = self.take_ordinals(1)?.next().expect("one is taken");
        let record = record.with_ordinal(ordinal);
        let durable = DurableDocument { ordinal, prepared, expires_at_ms: times.expires_at_ms };
        let memory = Arc::clone(&self.memory);
        let apply = move |_sequence| {
            memory.put(&durable, &leaving);
            arrival.stored();
            drop(text);
        };
        self.write(vec![Write::Put { record, replaces }], apply).await?;
        Ok(Some(if old.is_some() { Stored::Replaced } else { Stored::Created }))
    }

    pub(super) async fn store_all_new(
        &self,
        registered: Vec<Registered>,
    ) -> Result<(), BackendError> {
        if registered.is_empty() {
            return Ok(());
        }
        let mut documents = Vec::with_capacity(registered.len());
        let mut arrivals = Vec::with_capacity(registered.len());
        for Registered { document, arrival, text, .. } in registered {
            let times = self.times_of(&document.document);
            documents.push((document, times));
            arrivals.push((arrival, text));
        }
        let records = self.encode(documents.clone()).await?;
        // Assigned last, as for a single document.
        let ordinals = self.take_ordinals(documents.len())?;
        let mut writes = Vec::with_capacity(documents.len());
        let mut durable = Vec::with_capacity(documents.len());
        for ((record, (prepared, times)), ordinal) in
            records.into_iter().zip(documents).zip(ordinals)
        {
            let record = record.with_ordinal(ordinal);
            writes.push(Write::Put { record, replaces: None });
            let expires_at_ms = times.expires_at_ms;
            durable.push(DurableDocument { ordinal, prepared, expires_at_ms });
        }
        // Kept here as well, so that the committing thread does not have to free them.
        let durable = Arc::new(durable);
        let (memory, committed) = (Arc::clone(&self.memory), Arc::clone(&durable));
        let apply = move |_sequence| {
            memory.put_new(&committed);
            for (arrival, _text) in arrivals {
                arrival.stored();
            }
        };
        self.write(writes, apply).await
    }
}

/// The record of a document, without its ordinal.
fn record(prepared: &PreparedDocument, times: Times, keep_content: bool) -> NewRecord<'_> {
    let Document { id, content, metadata, .. } = &prepared.document;
    NewRecord {
        id,
        times,
        content: keep_content.then_some(content),
        metadata: metadata.as_ref(),
        set: Some(&prepared.set),
        shingles: prepared.set.count() as u32,
        fingerprint: prepared.fingerprint,
        content_hash: content_hash(&prepared.document),
        sketch: &prepared.sketch,
        whole_document: prepared.whole_document,
    }
}
