//! Collections, their statistics and snapshots.

use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use crate::backend::BackendStats;
use crate::engine::{
    ClusterCounts, Collection, CollectionName, CollectionSettings, DiscoveryStats, SnapshotInfo,
    Stats,
};
use crate::http::response::Bounded;
use akin_model::stats::{CollectionNameReply, CollectionReply, CollectionsReply};
use akin_model::time::Time;

#[derive(Serialize, ToSchema)]
#[schema(as = Status)]
pub struct StatusReply {
    #[schema(example = "ready")]
    pub status: &'static str,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Readiness)]
pub struct ReadinessReply {
    #[schema(example = "ready")]
    pub status: &'static str,
    /// Collections that could not be opened when the server started; absent if all could.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unavailable: Option<usize>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Snapshots)]
pub struct SnapshotsReply {
    pub snapshots: Vec<SnapshotInfo>,
}

impl Bounded for StatusReply {}
impl Bounded for ReadinessReply {}
/// Two snapshots are kept, and one is being written.
impl Bounded for SnapshotsReply {}
/// `collections_max` bounds it.
impl Bounded for CollectionsReply {}
impl Bounded for CollectionReply {}
/// `discoveries_max` bounds it.
impl Bounded for StatsReply {}

pub fn collections<'a>(
    collections: &[Arc<Collection>],
    unavailable: impl Iterator<Item = &'a CollectionName>,
) -> CollectionsReply {
    let entry = |name: &CollectionName| CollectionNameReply { name: name.to_string() };
    CollectionsReply {
        collections: collections.iter().map(|open| entry(open.name())).collect(),
        unavailable: unavailable.map(entry).collect(),
    }
}

pub fn collection(collection: &Collection, stats: &Stats) -> CollectionReply {
    let size = stats.backend.size.clone();
    let settings = serde_json::value::to_raw_value(collection.settings());
    CollectionReply {
        name: collection.name().to_string(),
        settings: settings.expect("settings are plain JSON"),
        postings_skew: size.postings_skew(),
        size,
    }
}

/// Statistics of the collection and the process. A number that the backend does not know is absent.
#[derive(Serialize, ToSchema)]
#[schema(as = Stats)]
pub struct StatsReply {
    #[serde(flatten)]
    #[schema(inline)]
    backend: BackendStats,
    /// `index_bytes` divided by `documents`; absent while there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_per_document: Option<f64>,
    /// The kept clusters, in a collection that keeps clusters.
    #[serde(skip_serializing_if = "Option::is_none")]
    clusters: Option<ClusterCounts>,
    /// Running discoveries, the oldest first.
    discoveries: Vec<DiscoveryStats>,
    uptime_s: u64,
    version: &'static str,
    started_at: Time,
    settings: CollectionSettings,
}

impl StatsReply {
    pub fn new(stats: Stats, started_at: Timestamp, settings: CollectionSettings) -> Self {
        let Stats { backend, discoveries, clusters, .. } = stats;
        Self {
            bytes_per_document: backend.size.bytes_per_document(),
            backend,
            clusters,
            discoveries,
            uptime_s: Timestamp::now().duration_since(started_at).as_secs().max(0) as u64,
            version: env!("CARGO_PKG_VERSION"),
            started_at: Time(started_at.as_millisecond()),
            settings,
        }
    }
}
