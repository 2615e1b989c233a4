//! The clusters that a collection keeps.

use async_trait::async_trait;
use serde::Serialize;
use utoipa::ToSchema;

use crate::backend::clusters::Clusters;
use crate::backend::{BackendError, Candidates, Sketched, Version};
use crate::document::{DocumentId, Ordinal};
use akin_core::index::{ExactSearch, Search};

/// How far the clusters have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClustersState {
    /// The documents that existed at the start are being linked: clusters are incomplete.
    Building,
    /// Some added or removed documents are not taken into account yet.
    Updating,
    Current,
    /// The clusters took more memory than `limits.clusters_bytes_max` and were dropped.
    OverLimit,
}

/// Figures of the clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ClusterCounts {
    pub state: ClustersState,
    /// Clusters of at least two documents.
    pub clusters: u64,
    /// Documents in them.
    pub documents: u64,
    /// Their memory.
    pub bytes: u64,
}

/// Documents that may have another cluster than before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClusterNote {
    Document(Ordinal),
    /// The documents of the cluster with this number.
    Cluster(u32),
}

/// How far a reader has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterPosition {
    /// Of the start of the collection since which the notes are counted.
    pub start: u64,
    /// The number of notes read.
    pub notes: u64,
    /// The documents from this ordinal on are named before the next notes; `None` if all were
    /// named.
    pub documents_from: Option<u64>,
}

/// The clusters that a collection keeps, and what linking documents with them needs. Expired
/// documents are linked until they are removed, since the clock may be set back.
#[async_trait]
pub trait ClusterKeeping: Send + Sync {
    fn clusters(&self) -> &Clusters;

    /// How far the clusters have come. Expired documents belong to their clusters until they are
    /// removed.
    fn counts(&self) -> ClusterCounts;

    /// Connects near-duplicates; `false` if one of them no longer exists.
    fn connect(&self, a: Ordinal, b: Ordinal) -> bool;

    /// A document with this set: the first from an ordinal on, or of all.
    fn member_from(&self, fingerprint: u64, from: Ordinal) -> Option<Ordinal>;

    fn sketched_at(&self, ordinal: Ordinal) -> Option<Sketched>;

    /// The documents of a part of the collection that is to be visited.
    fn documents_in(&self, chunk: u64) -> Vec<Ordinal>;

    /// The ordinal of a document that has not expired.
    fn ordinal(&self, id: &DocumentId) -> Option<Ordinal>;

    fn id(&self, ordinal: Ordinal) -> Option<DocumentId>;

    fn has_expired(&self, ordinal: Ordinal) -> bool;

    /// Sets that share a key with a set.
    ///
    /// # Errors
    /// [`BackendError::Store`]
    async fn linkable(&self, search: &Search<'_>) -> Result<Candidates, BackendError>;

    /// Sets from an index for exact lookups; `None` if no index covers the threshold.
    ///
    /// # Errors
    /// [`BackendError::Store`]
    async fn linkable_exactly(
        &self,
        search: &ExactSearch,
    ) -> Result<Option<Candidates>, BackendError>;

    /// The position behind the last note; `None` while the clusters are not known.
    fn last_note(&self) -> Option<ClusterPosition>;

    /// At most `max` notes after a position, and the position behind them. A reader without a
    /// position, of an earlier start, or that missed notes gets all documents first.
    fn notes(
        &self,
        after: Option<ClusterPosition>,
        until: ClusterPosition,
        max: usize,
    ) -> (Vec<ClusterNote>, ClusterPosition);

    /// The documents that a note is about, and that are stored.
    fn noted(&self, note: ClusterNote) -> Vec<Version>;
}
