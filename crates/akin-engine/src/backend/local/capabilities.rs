//! The feed of changes, and copies of the store.

use std::fs::File;
use std::sync::Arc;

use async_trait::async_trait;

use super::{Local, blocking};
use crate::backend::{BackendError, Backups, ChangeFeed, ChangesUpTo};
use crate::storage::CopyStop;
use crate::stored::{Changes, Position};

/// A single writer commits changes in their order, so all have settled.
#[async_trait]
impl ChangeFeed for Local {
    async fn changes_after(
        &self,
        after: Position,
        operations_max: usize,
        _: ChangesUpTo,
    ) -> Result<Changes, BackendError> {
        Ok(self.store.changes(after, operations_max).await?)
    }

    async fn last_change(&self, _: ChangesUpTo) -> Result<Position, BackendError> {
        Ok(self.store.last_change().await?)
    }

    fn has_changed_since(&self, position: Position) -> bool {
        self.store.applied_sequence() != position.sequence
    }
}

#[async_trait]
impl Backups for Local {
    async fn check_room_for_copy(&self) -> Result<(), BackendError> {
        let store = Arc::clone(&self.store);
        Ok(blocking(move || store.check_room_for_copy()).await?)
    }

    async fn copy(&self) -> Result<File, BackendError> {
        let (store, stop) = (Arc::clone(&self.store), Arc::new(CopyStop::default()));
        let _stopped_when_dropped = StopOnDrop(Arc::clone(&stop));
        Ok(blocking(move || store.copy(&stop)).await?)
    }
}

/// Stops a copy when its result is no longer awaited.
struct StopOnDrop(Arc<CopyStop>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}
