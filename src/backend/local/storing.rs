//! From a filing to a record; and many new documents that are stored as one, with one place in the
//! committer's queue and one answer.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Local;
use super::contents::content_hash;
use super::live::DurableDocument;
use crate::backend::arrivals::Place;
use crate::backend::{Announced, BackendError, Filing};
use crate::document::{Document, Ordinal};
use crate::storage::{EncodedRecord, Record, Write};

/// When a document is stored, and when it expires, in milliseconds since the epoch.
#[derive(Clone, Copy)]
pub(super) struct Times {
    pub stored_at_ms: i64,
    pub expires_at_ms: Option<i64>,
}

impl Local {
    /// The first of so many ordinals in a row.
    pub(super) fn take_ordinals(&self, count: usize) -> Result<Ordinal, BackendError> {
        let next = |ordinal: u32| ordinal.checked_add(u32::try_from(count).ok()?);
        self.next_ordinal
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, next)
            .map(Ordinal)
            .map_err(|_| BackendError::OrdinalsExhausted)
    }

    /// Of a document that is stored now.
    pub(super) fn times_of(&self, document: &Document) -> Times {
        let stored_at_ms = self.now_ms();
        let by_ttl = self.settings.ttl_ms.map(|ttl_ms| stored_at_ms.saturating_add(ttl_ms));
        Times { stored_at_ms, expires_at_ms: document.expires_at_ms.or(by_ttl) }
    }

    /// Still without its ordinal.
    pub(super) fn encode(&self, filing: &Filing, times: Times) -> EncodedRecord {
        let Document { id, content, metadata, .. } = &filing.document;
        let record = Record {
            ordinal: Ordinal(0),
            id: id.clone(),
            stored_at_ms: times.stored_at_ms,
            expires_at_ms: times.expires_at_ms,
            content: self.settings.keep_content.then(|| content.clone()),
            metadata: metadata.clone(),
            set: Some(filing.set.clone()),
            shingles: filing.set.count() as u32,
            fingerprint: filing.fingerprint,
            content_hash: content_hash(&filing.document),
            sketch: filing.sketch.clone(),
            whole_document: filing.whole_document,
            sampled_to_one: filing.sampled_to_one,
        };
        record.encode(self.settings.store.compression_level)
    }

    pub(super) async fn store_together(
        &self,
        announced: Vec<Announced>,
    ) -> Result<(), BackendError> {
        if announced.is_empty() {
            return Ok(());
        }
        let mut records = Vec::with_capacity(announced.len());
        let mut filed = Vec::with_capacity(announced.len());
        let mut places: Vec<Place> = Vec::with_capacity(announced.len());
        for Announced { filing, place, .. } in announced {
            let times = self.times_of(&filing.document);
            records.push(self.encode(&filing, times));
            let expires_at_ms = times.expires_at_ms;
            filed.push(DurableDocument { ordinal: Ordinal(0), filing, expires_at_ms });
            places.push(place);
        }
        // Last, as for one document.
        let Ordinal(first) = self.take_ordinals(filed.len())?;
        let mut writes = Vec::with_capacity(filed.len());
        for ((record, filed), number) in records.into_iter().zip(&mut filed).zip(first..) {
            filed.ordinal = Ordinal(number);
            let record = record.with_ordinal(filed.ordinal);
            writes.push(Write::Put { record, replaces: None });
        }
        // Kept here, too, so that it is not the committing thread that frees them.
        let filed = Arc::new(filed);
        let (live, committed) = (Arc::clone(&self.live), Arc::clone(&filed));
        let apply = move |_sequence| {
            live.put_new(&committed);
            Place::all_stored(places);
        };
        Ok(self.store.write_all(writes, apply).await?)
    }
}
