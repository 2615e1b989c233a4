//! Removing documents: by id, by conditions, and expired documents.

use futures_util::{StreamExt, stream};

use crate::backend::BackendError;
use crate::document::DocumentId;
use crate::engine::{Conditions, Engine, EngineError, Removed};

/// Removals by id that wait for the disk together.
const REMOVED_TOGETHER: usize = 256;

/// Expired documents removed in one call of the backend.
const REMOVED_AT_ONCE: usize = 1_024;

impl Engine {
    /// Removes a document and returns once the removal is durable.
    ///
    /// # Errors
    /// `DocumentNotFound`, `OutOfService`.
    pub async fn remove(&self, id: &DocumentId) -> Result<(), EngineError> {
        if let Some(next) = self.successor.get() {
            return Box::pin(next.engine.remove(id)).await;
        }
        match self.backend.remove(id).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(EngineError::not_found(id)),
            Err(BackendError::Superseded) => Box::pin(self.successor().await?.remove(id)).await,
            Err(error) => Err(error.into()),
        }
    }

    /// Removes the documents with these ids; ids that are not stored are passed over.
    ///
    /// # Errors
    /// `OutOfService`, `Store`. Some documents may be removed by then.
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

    /// Removes the documents that match the conditions now, in a consistent view. Documents
    /// stored later stay. Dropping the future stops the removal; documents already removed stay
    /// removed.
    ///
    /// # Errors
    /// `NoConditions` (delete the collection to remove everything), `OutOfService`, `Store`.
    pub async fn remove_where(&self, conditions: Conditions) -> Result<Removed, EngineError> {
        if let Some(next) = self.successor.get() {
            return Box::pin(next.engine.remove_where(conditions)).await;
        }
        if conditions.is_empty() {
            return Err(EngineError::NoConditions);
        }
        let wanted = conditions.clone();
        let mut removed = Removed::default();
        let matches = Box::new(move |of: &_| wanted.hold(of));
        match self.backend.remove_where(matches, &mut removed).await {
            // The successor was made without the documents that are removed.
            Err(BackendError::Superseded) => {
                let rest = Box::pin(self.successor().await?.remove_where(conditions)).await?;
                Ok(Removed {
                    matched: removed.matched + rest.matched,
                    removed: removed.removed + rest.removed,
                })
            }
            ended => Ok(ended.map(|()| removed)?),
        }
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
