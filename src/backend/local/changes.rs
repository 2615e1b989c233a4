//! The changes of a collection, as clients follow them.

use super::Local;
use crate::backend::BackendError;
use crate::storage::{Changes, Position};

impl Local {
    /// The changes after a position, from at most `operations_max` operations.
    ///
    /// # Errors
    /// [`BackendError::Storage`]
    pub async fn changes_after(
        &self,
        after: Position,
        operations_max: usize,
    ) -> Result<Changes, BackendError> {
        Ok(self.store.changes(after, operations_max).await?)
    }

    /// The position behind the last change.
    ///
    /// # Errors
    /// [`BackendError::Storage`]
    pub async fn last_change(&self) -> Result<Position, BackendError> {
        Ok(self.store.last_change().await?)
    }

    /// Whether anything changed after a position. Cheap.
    pub fn has_changed_since(&self, position: Position) -> bool {
        self.store.applied_sequence() != position.sequence
    }
}
