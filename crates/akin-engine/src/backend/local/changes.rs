//! The changes of a collection, as clients follow them.

use async_trait::async_trait;

use super::Local;
use crate::backend::{BackendError, ChangeFeed};
use crate::stored::{Changes, Position};

#[async_trait]
impl ChangeFeed for Local {
    async fn changes_after(
        &self,
        after: Position,
        operations_max: usize,
    ) -> Result<Changes, BackendError> {
        Ok(self.store.changes(after, operations_max).await?)
    }

    async fn last_change(&self) -> Result<Position, BackendError> {
        Ok(self.store.last_change().await?)
    }

    fn has_changed_since(&self, position: Position) -> bool {
        self.store.applied_sequence() != position.sequence
    }
}
