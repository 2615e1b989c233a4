//! Many new documents that are stored as one: one place in the committer's queue, one answer.

use std::sync::Arc;

use super::Local;
use crate::backend::arrivals::Place;
use crate::backend::{Announced, BackendError, Filing};
use crate::document::Ordinal;
use crate::storage::Write;

/// A document that is about to be durable.
struct Filed {
    ordinal: Ordinal,
    filing: Arc<Filing>,
    expires_at_ms: Option<i64>,
}

impl Local {
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
            filed.push(Filed { ordinal: Ordinal(0), filing, expires_at_ms });
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
            for Filed { ordinal, filing, expires_at_ms } in &*committed {
                live.put(*ordinal, filing, *expires_at_ms);
            }
            Place::all_stored(places);
        };
        Ok(self.store.write_all(writes, apply).await?)
    }
}
