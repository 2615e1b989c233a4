//! The engine: collections and their operations (add, similar, compare, collapse, discovery, get,
//! remove, list, export, snapshot) and backups.

mod clusters;
mod collections;
mod compare;
mod discovery;
mod documents;
mod error;
#[cfg(any(test, fuzzing, feature = "fuzzing"))]
pub mod fuzzing;
mod lookup;
mod mask;
mod operations;
mod passages;
mod quality;
mod types;

use std::sync::Arc;
use std::time::Duration;

use crate::backend::{Backend, BackendError, Backups, PassageSearch, StoredCollection};
use crate::background::{self, request};
use tokio::sync::SetOnce;
use tokio::task::JoinError;
use tokio::time::timeout;

use discovery::Discoveries;
use quality::recall::RecallMeter;

pub use crate::backend::PreparedDocument;
pub use crate::backend::directory::Finding;
pub use crate::backend::{
    BackendStats, Clock, Opening, Recovery, RecoverySource, Removed, StartProgress,
};
pub use crate::backend::{ClusterCounts, ClusterPosition, ClustersState};
pub use crate::stored::{Change, Order, Position, Record};
pub use akin_core::join::{Linkage, Stage};
pub use akin_model::analysis::{Analyser, Analysis, ContentError, Mode};
pub use akin_model::answer::{AddStatus, Added, Answer, FoundBy, Note, Reach, Searched};
pub use akin_model::clusters::Incomplete;
pub use akin_model::name::{CollectionName, InvalidCollectionName};
pub use akin_model::passages::{
    AddedPassages, Chance, ContainedOf, Guarantee, PassageAnswer, PassageMatch, PassagePlace,
};
pub use akin_model::reindex::ReindexState;
pub use akin_model::settings::{
    ClusteringSettings, CollectionSettings, LimitSettings, PassageIndexing, StoreSettings,
};
pub use akin_model::similarity::{FoundPair, Match, MatchContainment, PairContainment, Similarity};
pub use akin_model::stats::SnapshotInfo;
pub use clusters::KeptClusters;
pub use collections::{
    Collection, Collections, CollectionsSettings, Creation, ReindexStatus, Verification,
    VerifiedCollection, rebuild_default, verify_directory,
};
pub use compare::compare_contents;
pub use compare::comparison::{
    CompareOptions, ComparedField, Comparison, ExactResemblance, Explanation, Passages, Scores,
};
pub use compare::measures::{MeasureSelection, MeasureValues};
pub use discovery::{
    Batch, ClusterFigures, ClusterPart, ClusterQuery, Discovery, DiscoveryKind, DiscoveryStats,
    PairPart,
};
pub use documents::DocumentChange;
pub use error::EngineError;
pub use lookup::collapse::{Collapsed, Collapsing, Group, GroupMember, HitName, RankedHit};
pub use lookup::conditions::Conditions;
pub use lookup::filter::{Filter, FilterError};
pub use mask::Mask;
pub use operations::ListedIds;
#[cfg(any(test, fuzzing, feature = "fuzzing"))]
pub use operations::backup::check_backup;
pub use operations::backup::{Restored, Restoring, restore};
pub use passages::{ContainmentCheck, PassageQuery};
pub use quality::{CurveAnswer, CurveOf, curve_of};
pub use quality::{Recall, Sample};
pub use types::{AddOptions, Lookup, MatchDetails, OnDuplicate, Probe, Stats};

/// A collection that another process has replaced is open here after this time, unless the store
/// does not answer.
const FOLLOWED_WITHIN: Duration = Duration::from_secs(5);

/// One open collection. Clones are handles to the same collection.
#[derive(Clone)]
pub struct Engine {
    settings: Arc<CollectionSettings>,
    analyser: Arc<Analyser>,
    backend: Arc<dyn Backend>,
    discoveries: Arc<Discoveries>,
    clock: Clock,
    recall_meter: Arc<RecallMeter>,
    mask: Mask,
    places: Arc<documents::Places>,
    /// The collection that replaces this one once it was reindexed.
    successor: Arc<SetOnce<Arc<Collection>>>,
}

impl Engine {
    /// Opens a collection. Blocks: call it off the runtime.
    ///
    /// # Errors
    /// [`EngineError::Backend`]: the collection is in use, was made with other settings or by a
    /// newer version, has lost its tail, or cannot be read.
    pub fn open(stored: &dyn StoredCollection, opening: &Opening) -> Result<Self, EngineError> {
        let (backend, seeded) = stored.open(opening)?;
        Ok(Self {
            mask: Mask::new(stored.settings(), &seeded),
            settings: Arc::new(stored.settings().clone()),
            analyser: Arc::new(Analyser::new(&seeded)),
            backend,
            discoveries: Arc::default(),
            clock: opening.clock.clone(),
            recall_meter: Arc::default(),
            places: Arc::default(),
            successor: Arc::default(),
        })
    }

    pub fn settings(&self) -> &CollectionSettings {
        &self.settings
    }

    /// How the hashes of its documents are shown.
    pub fn mask(&self) -> Mask {
        self.mask
    }

    /// The engine that has replaced this engine, once it is known here: another process may have
    /// replaced it.
    async fn successor(&self) -> Result<Engine, EngineError> {
        let next = timeout(FOLLOWED_WITHIN, self.successor.wait()).await;
        next.map(|next| next.engine.clone()).map_err(|_| BackendError::Superseded.into())
    }

    fn passage_search(&self) -> Result<&dyn PassageSearch, EngineError> {
        self.backend.passage_search().ok_or(unsupported("passages"))
    }

    fn backups(&self) -> Result<&dyn Backups, EngineError> {
        self.backend.backups().ok_or(unsupported("backups"))
    }
}

/// The error of an operation that the backend lacks; `what`: its plural noun.
fn unsupported(what: &'static str) -> EngineError {
    BackendError::Unsupported { what }.into()
}

/// Larger contents are shingled off the runtime's thread: it takes about a quarter of a
/// millisecond.
const CONTENT_INLINE_BYTES_MAX: usize = 65_536;

/// Computes on a thread of the background if that takes long, and else in place.
async fn compute_if<R: Send + 'static>(
    long: bool,
    work: impl FnOnce() -> R + Send + 'static,
) -> Result<R, EngineError> {
    if !long {
        return Ok(work());
    }
    background::compute(work).await.map_err(stopped)
}

/// Runs work that waits for files on a blocking thread.
async fn off_runtime<R: Send + 'static>(
    work: impl FnOnce() -> R + Send + 'static,
) -> Result<R, EngineError> {
    tokio::task::spawn_blocking(request::handed_over(work)).await.map_err(stopped)
}

/// Passes a panic on.
fn stopped(failure: JoinError) -> EngineError {
    match failure.try_into_panic() {
        Ok(panic) => std::panic::resume_unwind(panic),
        Err(_) => BackendError::OutOfService { reason: "the server is stopping".to_owned() }.into(),
    }
}

/// The collection in a directory, for unit tests.
#[cfg(test)]
fn open_local(dir: &std::path::Path, settings: CollectionSettings) -> Result<Engine, EngineError> {
    let storage = crate::backend::directory::StorageSettings::default();
    let stored = crate::backend::LocalCollection::new(dir.to_owned(), settings, storage);
    Engine::open(&stored, &Opening::default())
}
