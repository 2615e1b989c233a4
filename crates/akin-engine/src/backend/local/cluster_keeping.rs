//! What linking documents with the clusters of this backend needs, and the feed of their changes.

use async_trait::async_trait;

use super::Local;
use crate::backend::{
    BackendError, Candidates, ClusterCounts, ClusterKeeping, ClusterNote, ClusterPosition,
    Clusters, ClustersState, Sketched, Version,
};
use crate::document::{DocumentId, Ordinal};
use akin_core::index::{ExactSearch, Search};

#[async_trait]
impl ClusterKeeping for Local {
    fn clusters(&self) -> &Clusters {
        self.memory.clusters.as_ref().expect("Local::kept_clusters returns None without clusters")
    }

    fn counts(&self) -> ClusterCounts {
        let mut counts = self.clusters().counts();
        let has_expired = || !self.memory.catalog.due(self.now_ms(), 1).is_empty();
        if counts.state == ClustersState::Current && has_expired() {
            counts.state = ClustersState::Updating;
        }
        counts
    }

    fn connect(&self, a: Ordinal, b: Ordinal) -> bool {
        let version = |ordinal| {
            let listing = self.memory.catalog.listing(ordinal)?;
            Some(Version { id: listing.id, ordinal })
        };
        self.clusters().connect(|| Some((version(a)?, version(b)?)))
    }

    fn member_from(&self, fingerprint: u64, from: Ordinal) -> Option<Ordinal> {
        self.memory.index.member_from(fingerprint, from)
    }

    fn sketched_at(&self, ordinal: Ordinal) -> Option<Sketched> {
        self.memory.sketched_ordinal(ordinal, i64::MIN)
    }

    fn documents_in(&self, chunk: u64) -> Vec<Ordinal> {
        self.memory.catalog.ordinals_in(chunk)
    }

    fn ordinal(&self, id: &DocumentId) -> Option<Ordinal> {
        self.alive(id)
    }

    fn id(&self, ordinal: Ordinal) -> Option<DocumentId> {
        self.memory.catalog.listing(ordinal).map(|listing| listing.id)
    }

    fn has_expired(&self, ordinal: Ordinal) -> bool {
        let now_ms = self.now_ms();
        self.memory.catalog.listing(ordinal).is_some_and(|listing| listing.has_expired(now_ms))
    }

    async fn linkable(&self, search: &Search<'_>) -> Result<Candidates, BackendError> {
        self.search_at(search, i64::MIN).await
    }

    async fn linkable_exactly(
        &self,
        search: &ExactSearch,
    ) -> Result<Option<Candidates>, BackendError> {
        self.search_exactly_at(search, i64::MIN).await
    }

    fn last_note(&self) -> Option<ClusterPosition> {
        self.clusters().last_note()
    }

    fn notes(
        &self,
        after: Option<ClusterPosition>,
        until: ClusterPosition,
        max: usize,
    ) -> (Vec<ClusterNote>, ClusterPosition) {
        let all = ClusterPosition { documents_from: Some(0), ..until };
        let after = after.filter(|after| after.start == until.start).unwrap_or(all);
        let noted = self.clusters().notes_after(after.notes, until.notes, max);
        let Some((notes, read)) = noted else { return self.documents_noted(all, 0, max) };
        match after.documents_from {
            Some(from) => self.documents_noted(after, from, max),
            None => (notes, ClusterPosition { notes: read, ..after }),
        }
    }

    fn noted(&self, note: ClusterNote) -> Vec<Version> {
        match note {
            ClusterNote::Document(ordinal) => {
                let id = self.id(ordinal);
                id.map(|id| Version { id, ordinal }).into_iter().collect()
            }
            ClusterNote::Cluster(cluster) => self.clusters().members_of(cluster),
        }
    }
}

impl Local {
    fn documents_noted(
        &self,
        position: ClusterPosition,
        from: u64,
        max: usize,
    ) -> (Vec<ClusterNote>, ClusterPosition) {
        let (ordinals, documents_from) = self.memory.catalog.ordinals_from(from, max);
        let notes = ordinals.into_iter().map(ClusterNote::Document).collect();
        (notes, ClusterPosition { documents_from, ..position })
    }
}
