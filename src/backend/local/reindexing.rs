//! Support for reindexing a collection: the changes in the old backend, and a new backend that
//! stores the same documents under the same ordinals.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::memory_state::DurableDocument;
use super::storing::Times;
use super::{Local, blocking};
use crate::backend::{BackendError, CopiedDocument};
use crate::document::Ordinal;
use crate::storage::{Detail, Record, Tail, Write};

impl Local {
    /// The operations after a sequence for which the log is kept.
    ///
    /// # Errors
    /// [`BackendError::Storage`] if the log cannot be read.
    pub async fn changes(&self, sequence: u64) -> Result<Tail, BackendError> {
        let store = Arc::clone(&self.store);
        Ok(blocking(move || store.tail(sequence)).await?)
    }

    /// The records with these ordinals, without their sets; `None` for an ordinal without a
    /// document.
    ///
    /// # Errors
    /// [`BackendError::Storage`] if a document cannot be read.
    pub async fn records(
        &self,
        ordinals: Vec<Ordinal>,
    ) -> Result<Vec<Option<Record>>, BackendError> {
        self.fetch(ordinals, Detail::Content).await
    }

    /// Prevents trimming of the operation log after this sequence; `u64::MAX` releases it.
    pub fn keep_log_after(&self, sequence: u64) {
        self.log_kept_after.store(sequence, Ordering::Relaxed);
    }

    /// Stores documents under the ordinals they have in another backend. Documents that exist
    /// already are skipped; the ids of all other documents must be new here.
    ///
    /// # Errors
    /// [`BackendError::OutOfService`], [`BackendError::Storage`]
    pub async fn copy_in(&self, documents: Vec<CopiedDocument>) -> Result<(), BackendError> {
        let is_new =
            |copied: &CopiedDocument| self.memory.catalog.listing(copied.ordinal).is_none();
        let new = documents.into_iter().filter(is_new).map(|copied| {
            let CopiedDocument { ordinal, prepared, stored_at_ms, expires_at_ms } = copied;
            (ordinal, (Arc::new(prepared), Times { stored_at_ms, expires_at_ms }))
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
        if let Some(clusters) = self.clusters() {
            clusters.copied();
        }
        let memory = Arc::clone(&self.memory);
        match writes.is_empty() {
            true => Ok(()),
            false => self.write(writes, move |_sequence| memory.put_new(&durable)).await,
        }
    }

    /// The sequence up to which the log may be trimmed. `unneeded`: the sequence up to which no
    /// snapshot needs it.
    pub(super) fn trimmed_up_to(&self, unneeded: u64) -> u64 {
        let changes_kept = self.settings.store.changes_kept;
        let read = self.store.applied_sequence().saturating_sub(changes_kept);
        unneeded.min(read).min(self.log_kept_after.load(Ordering::Relaxed))
    }
}
