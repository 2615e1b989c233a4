//! Discovery: every pair and every cluster, from a consistent view, while writes go on.
//!
//! [`akin_core::join`] does the work on a blocking thread. Results go through a bounded channel, so
//! the thread waits for the reader. It stops soon after its stream is dropped or the engine is
//! closed.

mod clusters;
mod pairs;
mod running;
pub(super) mod stream;
mod view;

use std::sync::Arc;

use futures_util::stream::BoxStream;
use serde::Deserialize;
use tokio::runtime::Handle;
use utoipa::IntoParams;

use crate::backend::{BackendError, SketchView};
use crate::background;
use crate::document::DocumentId;
use crate::engine::{Analyser, Engine, EngineError, FoundPair, Mode, unsupported};
use akin_core::join::{JoinError, LeftOut, Linkage, Sets, Stopped};
use akin_core::measure::Overlap;
use akin_core::scheme::Threshold;
use akin_model::clusters::{ClusterHead, Incomplete};
use stream::FoundSender;
use view::ViewSets;

pub(crate) use running::Discoveries;
pub use running::{ClusterFigures, DiscoveryGuard, DiscoveryKind, DiscoveryStats};

/// The definition of a pair.
#[derive(Clone, Copy, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Discovery {
    /// The lowest Jaccard similarity of a pair; by default the collection's threshold, and for
    /// clusters its `clusters.threshold` if it has one.
    pub threshold: Option<Threshold>,
    /// `verified`: candidates share a key of the MinHash sketch, and each is checked exactly;
    /// `estimated`: they are scored by their sketches; `exact`: no pair is missed. By default
    /// `verified`, and `exact` where the kind is `prefix`.
    pub mode: Option<Mode>,
}

/// Which clusters are returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterQuery {
    pub linkage: Linkage,
    /// The fewest documents of a cluster.
    pub min_size: usize,
    /// Only the cluster of this document, of any size.
    pub id: Option<DocumentId>,
}

/// Pairs, and at their end whether some may be missing.
#[derive(Clone, Debug)]
pub enum PairPart {
    Pair(FoundPair),
    Incomplete(Incomplete),
}

/// Clusters come in parts, as a cluster may be as large as the collection.
#[derive(Clone, Debug, PartialEq)]
pub enum ClusterPart {
    /// Its members follow.
    Begin(ClusterHead),
    /// In the byte order of their ids, the representative first.
    Member {
        id: DocumentId,
        /// The resemblance to the representative: estimated in mode `Estimated`, else exact.
        resemblance: f64,
    },
    End,
    /// After the last cluster, if some documents may be missing in theirs.
    Incomplete(Incomplete),
}

/// Results found since the previous batch.
pub type Batch<T> = Result<Vec<T>, EngineError>;

/// The inputs of a discovery.
struct Work {
    view: Box<dyn SketchView>,
    analyser: Arc<Analyser>,
    threshold: Threshold,
    mode: Mode,
    running: DiscoveryGuard,
}

/// Why a discovery stopped early.
type Interrupted = JoinError<BackendError>;

impl Engine {
    /// Every pair of documents that reaches the threshold once, in batches. `keep` is dropped
    /// when the work has ended.
    ///
    /// # Errors
    /// `UnsupportedMode`, `NotForRecords`, `Store`, `Closed`; an incomplete stream ends with one of
    /// the last two.
    pub async fn pairs(
        &self,
        discovery: Discovery,
        keep: impl Send + 'static,
    ) -> Result<BoxStream<'static, Batch<PairPart>>, EngineError> {
        let work = self.begin(DiscoveryKind::Pairs, discovery).await?;
        Ok(work.start(keep, pairs::emit))
    }

    /// Clusters in parts, in the order of their representatives, from a discovery; otherwise as
    /// [`Engine::pairs`].
    ///
    /// # Errors
    /// `DocumentNotFound`, and the errors of [`Engine::pairs`].
    pub async fn clusters(
        &self,
        discovery: Discovery,
        query: ClusterQuery,
        keep: impl Send + 'static,
    ) -> Result<BoxStream<'static, Batch<ClusterPart>>, EngineError> {
        let threshold = discovery.threshold.or(self.settings.clusters.threshold);
        let discovery = Discovery { threshold, ..discovery };
        let kind = DiscoveryKind::Clusters { linkage: query.linkage };
        let work = self.begin(kind, discovery).await?;
        if let Some(id) = &query.id {
            let stored = self.backend.sketched(std::slice::from_ref(id)).await?;
            stored.into_iter().flatten().next().ok_or_else(|| EngineError::not_found(id))?;
        }
        let discoveries = Arc::clone(&self.discoveries);
        let alarm = self.settings.limits.cluster_members_alarm;
        Ok(work.start(keep, move |work, found| {
            let record_sizes = |sizes: &[usize]| discoveries.record_clusters(sizes, alarm);
            clusters::emit(work, &query, record_sizes, found)
        }))
    }

    async fn begin(&self, kind: DiscoveryKind, discovery: Discovery) -> Result<Work, EngineError> {
        let threshold = discovery.threshold.unwrap_or(self.settings.scheme.threshold);
        let mode = self.mode_of(discovery.mode)?;
        self.refuse_records()?;
        let running = self.discoveries.begin(kind, threshold, mode)?;
        let scanning = self.backend.sketch_scan().ok_or(unsupported("discoveries"))?;
        Ok(Work {
            view: scanning.view().await?,
            analyser: Arc::clone(&self.analyser),
            threshold,
            mode,
            running,
        })
    }
}

impl Work {
    /// Starts the work on a thread of the background and returns the stream of its results.
    fn start<T: Send + 'static>(
        self,
        keep: impl Send + 'static,
        emit: impl FnOnce(&mut Self, &FoundSender<T>) -> Result<(), Interrupted> + Send + 'static,
    ) -> BoxStream<'static, Batch<T>> {
        let (found, stream) = stream::of_discovery(&self.running);
        background::spawn_blocking(move || {
            let (mut work, keep) = (self, keep);
            let ended = emit(&mut work, &found).map_err(EngineError::from);
            // Everything is released before the end is sent, so that the reader can start another
            // discovery at once.
            let Self { view, running, .. } = work;
            drop(view);
            drop(keep);
            drop(running);
            Handle::current().block_on(found.end(ended));
        });
        stream
    }
}

impl From<Interrupted> for EngineError {
    fn from(interrupted: Interrupted) -> Self {
        match interrupted {
            JoinError::Stopped(stopped) => stopped.into(),
            JoinError::Sets(error) => error.into(),
        }
    }
}

impl From<Stopped> for EngineError {
    fn from(_: Stopped) -> Self {
        BackendError::Closed.into()
    }
}

/// Logs that a discovery may have missed pairs, and returns what its answer says about them.
fn incomplete(
    left_out: &LeftOut,
    sets: &mut ViewSets<'_>,
) -> Result<Option<Incomplete>, Interrupted> {
    let Some((a, b)) = left_out.example else { return Ok(None) };
    let [of_a, of_b] =
        [sets.set(a).map_err(JoinError::Sets)?, sets.set(b).map_err(JoinError::Sets)?];
    let shared = Overlap::of(&of_a, &of_b).shared;
    let id = |set| sets.documents.of(set)[0].0.clone();
    let [a, b] = [id(a), id(b)];
    tracing::warn!(
        documents = left_out.sets,
        a = a.as_str(),
        b = b.as_str(),
        shared_shingles = shared,
        "a discovery did not compare all candidates: many documents share what a and b share, and \
         are just below the threshold; GET /resemblance?a=…&b=…&explain=true shows the shared \
         passages, and mode=exact compares all candidates"
    );
    Ok(Some(Incomplete {
        documents: left_out.sets.into(),
        ids: left_out.named.iter().map(|set| id(*set)).collect(),
        example: Some([a, b]),
        shared: Some(shared),
    }))
}
