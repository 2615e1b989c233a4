//! The operations of this backend that other backends may lack, as far as they are not in files of
//! their own.

use std::fs::File;
use std::sync::Arc;

use async_trait::async_trait;

use super::{Local, blocking};
use crate::backend::{
    ArrivingText, BackendError, Backups, Found, FoundPassages, LocatedPassages, PassageRequest,
    PassageSearch, SharedPassages,
};
use crate::storage::CopyStop;
use akin_core::passages::TextBlocks;

#[async_trait]
impl PassageSearch for Local {
    async fn passages(&self, request: PassageRequest) -> Result<FoundPassages, BackendError> {
        self.search_passages(request).await
    }

    async fn locate_passages(
        &self,
        found: Vec<SharedPassages>,
    ) -> Result<Vec<LocatedPassages>, BackendError> {
        self.locate_found(found).await
    }

    fn note_arriving(&self, blocks: &Arc<TextBlocks>) -> Option<ArrivingText> {
        self.enter_text(blocks)
    }

    async fn wait_for_earlier_texts(
        &self,
        found: &Found<'_>,
        request: &PassageRequest,
    ) -> Result<bool, BackendError> {
        self.await_earlier_texts(found, request).await
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
