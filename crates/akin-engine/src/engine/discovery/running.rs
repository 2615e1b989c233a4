//! The running discoveries, and the figures of the last discovery of clusters.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::Notify;
use utoipa::ToSchema;

use super::Mode;
use crate::backend::BackendError;
use crate::engine::EngineError;
use akin_core::join::{JoinProgress, Linkage, Stage};
use akin_core::scheme::Threshold;
use akin_model::time::Time;

/// The findings that a discovery is started for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum DiscoveryKind {
    #[schema(title = "OfPairs")]
    Pairs,
    #[schema(title = "OfClusters")]
    Clusters { linkage: Linkage },
}

/// A running discovery.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[schema(as = Discovery)]
pub struct DiscoveryStats {
    #[serde(flatten)]
    #[schema(inline)]
    pub kind: DiscoveryKind,
    #[schema(value_type = f64)]
    pub threshold: Threshold,
    pub mode: Mode,
    pub started_at: Time,
    pub stage: Stage,
    /// Steps of this stage that are done.
    pub done: u64,
    /// Steps of this stage; 0 while unknown.
    pub total: u64,
    /// Pairs or clusters sent so far.
    pub found: u64,
}

/// Figures of the last complete discovery of clusters, regardless of its minimum size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClusterFigures {
    /// Clusters of at least two documents.
    pub clusters: u64,
    /// Documents in the largest cluster.
    pub members_largest: u64,
    /// Clusters with more documents than `limits.cluster_members_alarm`.
    pub over_alarm: u64,
}

/// The discoveries of a collection.
#[derive(Debug, Default)]
pub struct Discoveries {
    state: Mutex<RunningState>,
}

#[derive(Debug, Default)]
struct RunningState {
    closed: bool,
    next: u64,
    running: BTreeMap<u64, RunningDiscovery>,
    clusters: Option<ClusterFigures>,
}

#[derive(Debug)]
struct RunningDiscovery {
    /// At its start.
    stats: DiscoveryStats,
    progress: Arc<JoinProgress>,
    closed: Arc<Notify>,
}

/// Lists a discovery as running until it is dropped.
#[derive(Debug)]
pub struct DiscoveryGuard {
    discoveries: Arc<Discoveries>,
    number: u64,
    progress: Arc<JoinProgress>,
    closed: Arc<Notify>,
}

impl DiscoveryGuard {
    pub(crate) fn progress(&self) -> &Arc<JoinProgress> {
        &self.progress
    }

    /// Notified when the engine is closed, to wake a discovery that waits for its reader.
    pub(crate) fn closed(&self) -> &Arc<Notify> {
        &self.closed
    }
}

impl Drop for DiscoveryGuard {
    fn drop(&mut self) {
        self.discoveries.state.lock().running.remove(&self.number);
    }
}

impl Discoveries {
    pub(crate) fn begin(
        self: &Arc<Self>,
        kind: DiscoveryKind,
        threshold: Threshold,
        mode: Mode,
    ) -> Result<DiscoveryGuard, EngineError> {
        let progress = Arc::new(JoinProgress::default());
        let mut state = self.state.lock();
        if state.closed {
            return Err(BackendError::Closed.into());
        }
        let number = state.next;
        state.next += 1;
        let closed = Arc::new(Notify::new());
        let (stage, done, total, found) = (progress.stage(), 0, 0, 0);
        let started_at = Time(Timestamp::now().as_millisecond());
        let stats = DiscoveryStats { kind, threshold, mode, started_at, stage, done, total, found };
        let (of_state, closing) = (Arc::clone(&progress), Arc::clone(&closed));
        let running = RunningDiscovery { stats, progress: of_state, closed: closing };
        state.running.insert(number, running);
        Ok(DiscoveryGuard { discoveries: Arc::clone(self), number, progress, closed })
    }

    /// The running discoveries, oldest first.
    pub fn list(&self) -> Vec<DiscoveryStats> {
        self.state.lock().running.values().map(RunningDiscovery::stats).collect()
    }

    /// Stops the running discoveries and refuses new discoveries.
    pub fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        for discovery in state.running.values() {
            discovery.progress.stop();
            discovery.closed.notify_one();
        }
    }

    pub fn last_clusters(&self) -> Option<ClusterFigures> {
        self.state.lock().clusters
    }

    /// Records the figures of clusters of these sizes, and warns of giant clusters.
    pub(crate) fn record_clusters(&self, sizes: &[usize], members_alarm: usize) {
        let over_alarm = sizes.iter().filter(|size| **size > members_alarm).count() as u64;
        let members_largest = sizes.iter().copied().max().unwrap_or(0) as u64;
        if over_alarm > 0 {
            tracing::warn!(over_alarm, members_largest, members_alarm, "giant clusters");
        }
        let clusters = sizes.iter().filter(|size| **size > 1).count() as u64;
        self.state.lock().clusters = Some(ClusterFigures { clusters, members_largest, over_alarm });
    }
}

impl RunningDiscovery {
    fn stats(&self) -> DiscoveryStats {
        let (done, total) = self.progress.get();
        let (stage, found) = (self.progress.stage(), self.progress.found());
        DiscoveryStats { stage, done, total, found, ..self.stats }
    }
}
