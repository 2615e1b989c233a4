//! Discovery: all pairs and all clusters, from one consistent view, while writes go on.
//!
//! [`crate::join`] does the work on a blocking thread. Results go through a bounded channel, so the
//! thread waits for the reader. It stops soon after its stream is dropped or the engine is closed.

mod clusters;
mod join;
mod pairs;
mod running;
mod stream;
mod view;

use std::sync::Arc;

use futures_util::stream::BoxStream;
use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{Notify, mpsc};
use utoipa::{IntoParams, ToSchema};

use crate::backend::{BackendError, LocalView};
use crate::document::DocumentId;
use crate::engine::{Analyser, Engine, EngineError, Mode, PairContainment};
use crate::join::{JoinError, Linkage, Stopped};
use crate::scheme::Threshold;
use stream::Message;

pub(crate) use running::Discoveries;
pub use running::{ClusterFigures, DiscoveryGuard, DiscoveryKind, DiscoveryStats};

/// Pairs or parts of clusters buffered for the reader.
const FOUND_AHEAD: usize = 1_024;

/// What counts as a pair.
#[derive(Clone, Copy, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Discovery {
    /// The lowest Jaccard similarity of a pair; by default the collection's threshold.
    pub threshold: Option<Threshold>,
    /// `verified`: candidates share a key of the MinHash sketch, and each is checked exactly;
    /// `estimated`: they are scored by their sketches; `exact`: no pair is missed. By default
    /// `verified`, and `exact` where the kind is `prefix`.
    pub mode: Option<Mode>,
}

/// Two near-duplicates. `exact`, `containment`, `shared` and `union` are absent in mode
/// `estimated`, and in a collection of sampled sets without their texts.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct FoundPair {
    /// The id that is lower in byte order.
    pub a: DocumentId,
    pub b: DocumentId,
    /// The exact value where it is known, else the estimate.
    #[schema(example = 0.91)]
    pub resemblance: f64,
    #[schema(example = 0.898)]
    pub estimated: f64,
    /// Where `exact` is absent: the 95 % interval of the estimate.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<f64>>, example = json!([0.84, 0.95]))]
    pub interval: Option<(f64, f64)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 0.91)]
    pub exact: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub containment: Option<PairContainment>,
    /// Shingles that both have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared: Option<usize>,
    /// Shingles that either has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub union: Option<usize>,
}

/// Clusters come in parts, as one may be as large as the collection.
#[derive(Clone, Debug, PartialEq)]
pub enum ClusterPart {
    Begin {
        /// Stable as long as the representative is.
        name: String,
        /// The lowest id in byte order.
        representative: DocumentId,
        /// The number of members that follow.
        size: usize,
    },
    /// In the byte order of their ids, the representative first.
    Member {
        id: DocumentId,
        /// The resemblance to the representative: estimated in mode `Estimated`, else exact.
        resemblance: f64,
    },
    End,
}

/// Results found since the previous batch.
pub type Batch<T> = Result<Vec<T>, EngineError>;

/// The inputs of one discovery.
struct Work {
    view: LocalView,
    analyser: Arc<Analyser>,
    threshold: Threshold,
    mode: Mode,
    running: DiscoveryGuard,
}

/// Why a discovery stopped early.
type Interrupted = JoinError<BackendError>;

impl Engine {
    /// Every pair of documents at or over the threshold, each once, in batches. `keep` is dropped
    /// when the work has ended.
    ///
    /// # Errors
    /// `UnsupportedMode`, `NotForRecords`, `Store`, `Closed`; an incomplete stream ends with one of
    /// the last two.
    pub async fn pairs(
        &self,
        discovery: Discovery,
        keep: impl Send + 'static,
    ) -> Result<BoxStream<'static, Batch<FoundPair>>, EngineError> {
        let work = self.begin(DiscoveryKind::Pairs, discovery).await?;
        Ok(work.start(keep, |work, found| pairs::emit(work, &found)))
    }

    /// Every cluster of at least `min_size` documents, in parts, in the order of their
    /// representatives; otherwise as [`Engine::pairs`].
    ///
    /// # Errors
    /// As [`Engine::pairs`].
    pub async fn clusters(
        &self,
        discovery: Discovery,
        linkage: Linkage,
        min_size: usize,
        keep: impl Send + 'static,
    ) -> Result<BoxStream<'static, Batch<ClusterPart>>, EngineError> {
        let work = self.begin(DiscoveryKind::Clusters(linkage), discovery).await?;
        let discoveries = Arc::clone(&self.discoveries);
        let alarm = self.settings.limits.cluster_members_alarm;
        Ok(work.start(keep, move |work, found| {
            let record_sizes = |sizes: &[usize]| discoveries.record_clusters(sizes, alarm);
            clusters::emit(work, linkage, min_size, record_sizes, &found)
        }))
    }

    async fn begin(&self, kind: DiscoveryKind, discovery: Discovery) -> Result<Work, EngineError> {
        let threshold = discovery.threshold.unwrap_or(self.settings.scheme.threshold);
        let mode = self.mode_of(discovery.mode)?;
        self.refuse_records()?;
        let running = self.discoveries.begin(kind, threshold, mode)?;
        Ok(Work {
            view: self.local("discoveries")?.view().await?,
            analyser: Arc::clone(&self.analyser),
            threshold,
            mode,
            running,
        })
    }
}

impl Work {
    /// Starts the work on a blocking thread and returns the stream of its results.
    fn start<T: Send + 'static>(
        self,
        keep: impl Send + 'static,
        emit: impl FnOnce(&mut Self, FoundSender<T>) -> Result<(), Interrupted> + Send + 'static,
    ) -> BoxStream<'static, Batch<T>> {
        let (sender, receiver) = mpsc::channel(FOUND_AHEAD);
        let progress = Arc::clone(self.running.progress());
        let closed = Arc::clone(self.running.closed());
        let found = FoundSender { sender: sender.clone(), closed, runtime: Handle::current() };
        tokio::task::spawn_blocking(move || {
            let (mut work, keep) = (self, keep);
            let ended = match emit(&mut work, found) {
                Ok(()) => Ok(()),
                Err(JoinError::Stopped(Stopped)) => Err(EngineError::Closed),
                Err(JoinError::Sets(error)) => Err(error.into()),
            };
            // Everything is released before the end is sent, so that the reader can start another
            // discovery at once.
            let Self { view, running, .. } = work;
            drop(view);
            drop(keep);
            drop(running);
            // Fails only if the stream was dropped.
            let _ = sender.blocking_send(Message::End(ended));
        });
        stream::of(receiver, progress)
    }
}

/// Sends results to the stream.
struct FoundSender<T> {
    sender: mpsc::Sender<Message<T>>,
    /// Is notified when the engine is closed.
    closed: Arc<Notify>,
    runtime: Handle,
}

impl<T> FoundSender<T> {
    /// Waits until there is room.
    ///
    /// # Errors
    /// [`Stopped`]: nobody reads any more, or the engine is closed.
    fn send(&self, found: T) -> Result<(), Stopped> {
        match self.sender.try_send(Message::Found(found)) {
            Ok(()) => Ok(()),
            Err(TrySendError::Closed(_)) => Err(Stopped),
            Err(TrySendError::Full(found)) => self.runtime.block_on(async {
                tokio::select! {
                    sent = self.sender.send(found) => sent.map_err(|_| Stopped),
                    () = self.closed.notified() => Err(Stopped),
                }
            }),
        }
    }
}
