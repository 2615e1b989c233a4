//! A backend for unit tests of the engine that fails every nth write. A write is a call of `add`,
//! `remove`, `remove_expired` or `remove_where`, of however many documents. Write 1 is
//! the first.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use tokio::sync::watch;

use super::{
    Adding, Addition, Backend, BackendError, BackendStats, Candidate, Candidates, Check,
    ExactCandidates, Matches, Records, Removed, Sketched, Version,
};
use crate::document::{Content, DocumentId};
use crate::stored::{Detail, DocumentDetails, Order, Record};
use akin_core::index::{ExactSearch, Search};
use akin_core::text::ShingleSet;

/// Passes every operation on, except that every `nth` write fails and changes nothing. It has no
/// capabilities: it refuses the operations that `capability.rs` names.
pub(crate) struct FailingWrites {
    inner: Arc<dyn Backend>,
    nth: u64,
    writes: AtomicU64,
}

impl FailingWrites {
    pub fn new(inner: Arc<dyn Backend>, nth: u64) -> Self {
        Self { inner, nth, writes: AtomicU64::new(0) }
    }

    fn write(&self) -> Result<(), BackendError> {
        let number = self.writes.fetch_add(1, Ordering::Relaxed) + 1;
        match number.is_multiple_of(self.nth) {
            true => Err(BackendError::OutOfService { reason: format!("write {number} fails") }),
            false => Ok(()),
        }
    }
}

#[async_trait]
impl Backend for FailingWrites {
    fn add(self: Arc<Self>, documents: Vec<Addition>, check: Arc<dyn Check>) -> Adding {
        match self.write() {
            Ok(()) => Arc::clone(&self.inner).add(documents, check),
            Err(error) => {
                let failed = documents.iter().map(|_| Err(error.clone())).collect();
                Box::pin(std::future::ready(failed))
            }
        }
    }

    async fn remove(&self, id: &DocumentId) -> Result<bool, BackendError> {
        self.write()?;
        self.inner.remove(id).await
    }

    async fn remove_expired(&self, max: usize) -> Result<u64, BackendError> {
        self.write()?;
        self.inner.remove_expired(max).await
    }

    async fn remove_where(&self, matches: Matches) -> Result<Removed, BackendError> {
        self.write()?;
        self.inner.remove_where(matches).await
    }

    async fn candidates(&self, searches: &[Search<'_>]) -> Result<Vec<Candidates>, BackendError> {
        self.inner.candidates(searches).await
    }

    async fn exact_candidates(
        &self,
        search: &ExactSearch,
    ) -> Result<ExactCandidates, BackendError> {
        self.inner.exact_candidates(search).await
    }

    async fn sets(
        &self,
        candidates: &[Candidate],
    ) -> Result<Vec<Option<ShingleSet>>, BackendError> {
        self.inner.sets(candidates).await
    }

    async fn contents(
        &self,
        groups: &[Vec<Version>],
    ) -> Result<Vec<Option<Content>>, BackendError> {
        self.inner.contents(groups).await
    }

    async fn details(
        &self,
        versions: &[Version],
    ) -> Result<Vec<Option<DocumentDetails>>, BackendError> {
        self.inner.details(versions).await
    }

    async fn sketched(&self, ids: &[DocumentId]) -> Result<Vec<Option<Sketched>>, BackendError> {
        self.inner.sketched(ids).await
    }

    async fn record(
        &self,
        id: &DocumentId,
        detail: Detail,
    ) -> Result<Option<Record>, BackendError> {
        self.inner.record(id, detail).await
    }

    async fn list(
        &self,
        after: Option<DocumentId>,
        limit: usize,
    ) -> Result<Vec<DocumentId>, BackendError> {
        self.inner.list(after, limit).await
    }

    async fn sample(&self, documents: usize) -> Result<Vec<DocumentId>, BackendError> {
        self.inner.sample(documents).await
    }

    async fn export(&self, detail: Detail, order: Order) -> Records {
        self.inner.export(detail, order).await
    }

    async fn stats(&self) -> Result<BackendStats, BackendError> {
        self.inner.stats().await
    }

    fn poisoned(&self) -> watch::Receiver<Option<String>> {
        self.inner.poisoned()
    }

    async fn close(&self) -> Result<(), BackendError> {
        self.inner.close().await
    }
}
