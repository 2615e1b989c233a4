//! Figures of the clusters that a collection keeps.

use serde::Serialize;
use utoipa::ToSchema;

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
