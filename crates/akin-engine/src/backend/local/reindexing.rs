//! Support for reindexing a collection: the changes in the old backend, and a new backend that
//! stores the same documents under the same ordinals.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;

use super::memory_state::DurableDocument;
use super::{Local, blocking};
use crate::backend::{BackendError, CopiedDocument, Reindexing};
use crate::document::Ordinal;
use crate::storage::Write;
use crate::stored::{Detail, Record, Tail};

#[async_trait]
impl Reindexing for Local {
    async fn changes(&self, sequence: u64) -> Result<Tail, BackendError> {
        let store = Arc::clone(&self.store);
        Ok(blocking(move || store.tail(sequence)).await?)
    }

    async fn records(&self, ordinals: Vec<Ordinal>) -> Result<Vec<Option<Record>>, BackendError> {
        self.fetch(ordinals, Detail::Content).await
    }

    fn keep_log(&self) -> u64 {
        let sequence = self.store.applied_sequence();
        self.log_kept_after.store(sequence, Ordering::Relaxed);
        sequence
    }

    fn release_log(&self) {
        self.log_kept_after.store(u64::MAX, Ordering::Relaxed);
    }

    async fn copy_in(&self, documents: Vec<CopiedDocument>) -> Result<(), BackendError> {
        let is_new =
            |copied: &CopiedDocument| self.memory.catalog.listing(copied.ordinal).is_none();
        let new = documents.into_iter().filter(is_new).map(|copied| {
            let CopiedDocument { ordinal, prepared, times } = copied;
            (ordinal, (Arc::new(prepared), times))
        });
        let (ordinals, documents): (Vec<Ordinal>, Vec<_>) = new.unzip();
        let encoded = self.encode(documents.clone()).await?;
        let mut writes = Vec::with_capacity(encoded.len());
        let mut durable = Vec::with_capacity(encoded.len());
        for ((record, (prepared, times)), ordinal) in
            encoded.into_iter().zip(documents).zip(ordinals)
        {
            let record = record.with_ordinal(ordinal);
            writes.push(Write::Put { record, replaces: None });
            let expires_at_ms = times.expires_at_ms;
            durable.push(DurableDocument { ordinal, prepared, expires_at_ms });
            self.next_ordinal.fetch_max(ordinal.get() + 1, Ordering::Relaxed);
        }
        if let Some(clusters) = &self.memory.clusters {
            clusters.copied();
        }
        let memory = Arc::clone(&self.memory);
        match writes.is_empty() {
            true => Ok(()),
            false => {
                self.write(writes, move |_sequence| {
                    memory.put_new(&durable.iter().collect::<Vec<_>>());
                })
                .await
            }
        }
    }

    async fn remove_ordinals(&self, ordinals: Vec<Ordinal>) -> Result<u64, BackendError> {
        self.remove_all(ordinals).await
    }
}

impl Local {
    /// The sequence up to which the log may be trimmed. `unneeded`: the sequence up to which no
    /// snapshot needs it.
    pub(super) fn trimmed_up_to(&self, unneeded: u64) -> u64 {
        let changes_kept = self.settings.store.changes_kept;
        let read = self.store.applied_sequence().saturating_sub(changes_kept);
        unneeded.min(read).min(self.log_kept_after.load(Ordering::Relaxed))
    }
}
