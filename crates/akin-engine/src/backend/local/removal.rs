//! Removal of documents: a document by its id, a selection, or all expired documents. Like
//! additions, removals have a number in the order of arrival.

use std::sync::Arc;

use futures_util::stream::{self, StreamExt};

use super::Local;
use super::memory_state::RemovalData;
use crate::backend::in_flight::Arrival;
use crate::backend::{BackendError, Removed};
use crate::document::{DocumentId, Ordinal};
use crate::storage::Write;
use akin_core::text::ShingleSet;

/// Maximum number of removals waiting for the disk, so that they are committed together.
const REMOVALS_AT_ONCE: usize = 256;

impl Local {
    /// Removes the documents that still exist. `removed` counts them, also up to an error. Dropping
    /// the future stops it between two documents.
    pub(super) async fn remove_all(
        &self,
        ordinals: Vec<Ordinal>,
        removed: &mut Removed,
    ) -> Result<(), BackendError> {
        let removals = ordinals.into_iter().map(|ordinal| self.remove_one(ordinal));
        let mut removals = stream::iter(removals).buffer_unordered(REMOVALS_AT_ONCE);
        let mut ended = Ok(());
        while let Some(outcome) = removals.next().await {
            match outcome {
                Ok(is_removed) => {
                    removed.matched += 1;
                    removed.removed += u64::from(is_removed);
                }
                // Removals that passed the gate of writes before are still done, and counted.
                Err(BackendError::Superseded) => ended = Err(BackendError::Superseded),
                Err(error) => return Err(error),
            }
        }
        ended
    }

    /// `false` if the document was removed or replaced before its turn.
    async fn remove_one(&self, ordinal: Ordinal) -> Result<bool, BackendError> {
        let Some(listing) = self.memory.catalog.listing(ordinal) else { return Ok(false) };
        let arrival = self.in_flight.enter_removal(&listing.id);
        arrival.wait_for_predecessor().await;
        if self.memory.catalog.ordinal(&listing.id) != Some(ordinal) {
            return Ok(false);
        }
        self.remove_document(arrival, listing.id, ordinal).await.map(|()| true)
    }

    pub(super) async fn remove_document(
        &self,
        arrival: Arrival,
        id: DocumentId,
        ordinal: Ordinal,
    ) -> Result<(), BackendError> {
        let removal = self.removal_data(ordinal).await;
        let memory = Arc::clone(&self.memory);
        let apply = move |_sequence| {
            memory.remove(&id, ordinal, &removal);
            arrival.stored();
        };
        self.write(vec![Write::Remove { ordinal }], apply).await
    }

    /// What the indexes need of a document that is removed or replaced.
    pub(super) async fn removal_data(&self, ordinal: Ordinal) -> RemovalData {
        let set = Box::pin(self.set_to_remove(ordinal)).await;
        RemovalData { set, blocks: Box::pin(self.blocks_to_remove(ordinal)).await }
    }

    /// The set of a document to be removed, if the index needs it. An unreadable set does not
    /// prevent the removal: it only leaves unused postings in the index.
    async fn set_to_remove(&self, ordinal: Ordinal) -> Option<ShingleSet> {
        if !self.memory.index.has_prefix() {
            return None;
        }
        let fingerprint = self.memory.catalog.fingerprint(ordinal)?;
        if let Some(set) = self.memory.sets.get(fingerprint) {
            return Some(set);
        }
        let read = self.read_sets(vec![ordinal]).await;
        read.inspect_err(
            |error| tracing::warn!(%error, "could not remove a set from the prefix index"),
        )
        .ok()?
        .pop()
        .flatten()
    }
}
