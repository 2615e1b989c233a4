//! Bulk removal of documents: those matching conditions, and expired ones.

use futures_util::{StreamExt, stream};

use crate::document::DocumentId;
use crate::engine::{Conditions, Engine, EngineError, Removed};

/// Removals by id that wait for the disk together.
const REMOVED_TOGETHER: usize = 256;

/// Expired documents removed in one call of the backend.
const REMOVED_AT_ONCE: usize = 1_024;

impl Engine {
    /// Removes the documents with these ids; those that are not stored are passed over.
    ///
    /// # Errors
    /// `OutOfService`, `Store`. Some may be removed by then.
    pub async fn remove_all(&self, ids: Vec<DocumentId>) -> Result<Removed, EngineError> {
        let removals = ids.into_iter().map(|id| async move { self.remove(&id).await });
        let mut removals = stream::iter(removals).buffer_unordered(REMOVED_TOGETHER);
        let mut removed = 0;
        while let Some(outcome) = removals.next().await {
            match outcome {
                Ok(()) => removed += 1,
                Err(EngineError::DocumentNotFound { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Removed { matched: removed, removed })
    }

    pub(super) async fn remove_where_here(
        &self,
        conditions: Conditions,
    ) -> Result<Removed, EngineError> {
        if conditions.is_empty() {
            return Err(EngineError::NoConditions);
        }
        Ok(self.backend.remove_where(Box::new(move |of| conditions.hold(of))).await?)
    }

    /// Removes expired documents from disk and memory; returns their number.
    ///
    /// # Errors
    /// `OutOfService`, `Closed`, `Store`.
    pub async fn remove_expired(&self) -> Result<u64, EngineError> {
        let mut all = 0;
        loop {
            match self.backend.remove_expired(REMOVED_AT_ONCE).await? {
                0 => return Ok(all),
                removed => all += removed,
            }
        }
    }
}
