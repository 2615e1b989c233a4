//! The engine: collections and their operations (add, similar, compare, collapse, discovery, get,
//! remove, list, export, snapshot) and backups.

mod analysis;
mod clusters;
mod collections;
mod compare;
mod discovery;
mod disguise;
mod documents;
mod error;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod lookup;
mod offline;
mod operations;
mod quality;
mod settings;
mod types;

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use crate::backend::{
    Backend, BackendError, Cluster, ClusterHome, ClusterOptions, ListedCollection, Local,
    LocalSettings, SetCache,
};
use crate::storage::{StorageError, StorageSettings, Store};
use discovery::Discoveries;
use quality::recall::RecallMeter;

pub use crate::backend::PreparedDocument;
pub use crate::backend::{BackendStats, Clock, Progress, Recovery, RecoverySource, Removed};
pub use crate::backend::{ClusterCounts, ClustersState};
pub use crate::join::{Linkage, Stage};
pub use crate::storage::{Change, Finding, Order, Position, Record, SnapshotInfo};
pub use analysis::{Analyser, Analysis};
pub use clusters::{ClusterMembers, ClusteringSettings, StoredCluster, StoredClusters};
pub use collections::{
    Collection, CollectionName, Collections, CollectionsSettings, Creation, InvalidCollectionName,
    ReindexState, ReindexStatus, Verification, VerifiedCollection, rebuild_default,
    verify_directory,
};
pub use compare::compare_contents;
pub use compare::comparison::{
    CompareOptions, ComparedField, Comparison, ExactResemblance, Explanation, PairContainment,
    Passages,
};
pub use compare::measures::{Distance, MeasureSelection, MeasureValues, UnknownMeasure};
pub use discovery::{
    Batch, ClusterFigures, ClusterPart, Discovery, DiscoveryKind, DiscoveryStats, FoundPair,
};
pub use disguise::Disguise;
pub use documents::DocumentChange;
pub use error::EngineError;
pub use lookup::cluster::{ClusterOf, Linked};
pub use lookup::collapse::{Collapsed, Group, GroupMember};
pub use lookup::conditions::Conditions;
pub use lookup::filter::{Filter, FilterError};
pub use offline::{
    DOCUMENT_BYTES, Documents, OfflineCorpus, OfflineGathering, Room, SetPair, Sorter,
};
pub use operations::Page;
pub use operations::backup::{Restored, Restoring, check_backup, restore};
pub use quality::{CurveAnswer, CurveOf, curve_of};
pub use quality::{Recall, Tally};
pub use settings::{CollectionSettings, LimitSettings, StoreSettings};
pub use types::{
    AddOptions, AddStatus, Added, Admitted, Answer, FoundBy, Lookup, Match, MatchContainment,
    MatchDetails, Mode, OnDuplicate, Policy, Probe, Stats,
};

/// One open collection. Clones are handles to the same collection.
#[derive(Clone)]
pub struct Engine {
    settings: Arc<CollectionSettings>,
    analyser: Arc<Analyser>,
    backend: Arc<dyn Backend>,
    discoveries: Arc<Discoveries>,
    clock: Clock,
    recall_meter: Arc<RecallMeter>,
    disguise: Disguise,
    /// A stored cluster may lack members because of a work limit.
    clusters_truncated: Arc<AtomicBool>,
    /// The collection that replaces this one once it was reindexed.
    successor: Arc<OnceLock<Arc<Collection>>>,
}

impl Engine {
    /// Opens or creates the collection in `dir` and recovers its index. Blocks: call it off the
    /// runtime.
    ///
    /// # Errors
    /// [`EngineError::Store`]: the directory is in use, was made with other settings or by a newer
    /// version, has lost its tail, or cannot be read.
    pub fn open(
        dir: &Path,
        settings: CollectionSettings,
        storage: &StorageSettings,
        cache_bytes: u64,
        progress: &Progress,
    ) -> Result<Self, EngineError> {
        Self::open_at(dir, settings, storage, cache_bytes, progress, Clock::system())
    }

    /// [`Engine::open`] with a given clock for storing and expiring documents.
    ///
    /// # Errors
    /// Those of [`Engine::open`].
    pub fn open_at(
        dir: &Path,
        settings: CollectionSettings,
        storage: &StorageSettings,
        cache_bytes: u64,
        progress: &Progress,
        clock: Clock,
    ) -> Result<Self, EngineError> {
        Self::open_sharing(dir, settings, storage, &SetCache::new(cache_bytes), progress, clock)
    }

    /// [`Engine::open_at`] with a cache of sets that collections share.
    pub(crate) fn open_sharing(
        dir: &Path,
        settings: CollectionSettings,
        storage: &StorageSettings,
        sets: &SetCache,
        progress: &Progress,
        clock: Clock,
    ) -> Result<Self, EngineError> {
        let store = Store::prepare(dir, storage).map_err(BackendError::from)?;
        let seeded = settings.seeded(store.identity())?;
        let analyser = Analyser::new(&seeded);
        let identity = seeded.identity(&analyser.scheme);
        let local = LocalSettings {
            store: storage.clone(),
            shingler: seeded.unlimited_shingler(),
            keep_content: settings.store.text,
            exact_from: settings.scheme.exact_from(),
            ttl_ms: settings.store.ttl_ms(),
            sets: sets.clone(),
            clusters_bytes_max: settings
                .clusters
                .threshold
                .map(|_| settings.limits.clusters_bytes_max),
            clock: clock.clone(),
        };
        let scheme = analyser.scheme.clone();
        let backend = Local::open(store, local, &identity, scheme, &seeded.sketch, progress)?;
        let disguise = Disguise::new(&settings, &seeded);
        Ok(Self::over(settings, disguise, analyser, Arc::new(backend), clock))
    }

    fn over(
        settings: CollectionSettings,
        disguise: Disguise,
        analyser: Analyser,
        backend: Arc<dyn Backend>,
        clock: Clock,
    ) -> Self {
        Self {
            disguise,
            settings: Arc::new(settings),
            analyser: Arc::new(analyser),
            backend,
            discoveries: Arc::default(),
            clock,
            recall_meter: Arc::default(),
            clusters_truncated: Arc::default(),
            successor: Arc::default(),
        }
    }

    /// Opens the collection of that name in a cluster, or creates it there. Blocks: call it off the
    /// runtime.
    ///
    /// # Errors
    /// [`EngineError::Store`]: it was made with other settings, or cannot be opened.
    pub fn open_in_cluster(
        home: &ClusterHome,
        name: &CollectionName,
        settings: CollectionSettings,
        storage: &StorageSettings,
        sets: &SetCache,
        clock: Clock,
    ) -> Result<(Self, ListedCollection), EngineError> {
        let there = home.list()?.into_iter().find(|listed| listed.name == name.as_str());
        let known = there.as_ref().map(|listed| listed.made.identity.as_str());
        let mut seeded = settings.seeded(known)?;
        let mut analyser = Analyser::new(&seeded);
        let identity = seeded.identity(&analyser.scheme);
        let listed = match there {
            Some(listed) => listed,
            None => {
                let json = serde_json::to_string(&settings).expect("settings are plain JSON");
                home.create(name.as_str(), json, identity)?.0
            }
        };
        // Another process may have made it meanwhile, with another seed.
        if settings.sketch.seed.is_none() {
            seeded = settings.seeded(Some(&listed.made.identity))?;
            analyser = Analyser::new(&seeded);
        }
        let given = seeded.identity(&analyser.scheme);
        if listed.made.identity != given {
            let path = format!("the collection '{name}' in the cluster").into();
            let stored = listed.made.identity;
            return Err(
                BackendError::from(StorageError::OtherSettings { path, stored, given }).into()
            );
        }
        let options = ClusterOptions {
            keep_content: settings.store.text,
            ttl_ms: settings.store.ttl_ms(),
            sets: sets.clone(),
            clock: clock.clone(),
            scans_max: storage.scans_max as usize,
        };
        let scheme = analyser.scheme.clone();
        let backend = Cluster::open(home, &listed, options, scheme, &seeded.sketch)?;
        let disguise = Disguise::new(&settings, &seeded);
        Ok((Self::over(settings, disguise, analyser, Arc::new(backend), clock), listed))
    }

    pub fn settings(&self) -> &CollectionSettings {
        &self.settings
    }

    /// How the hashes of its documents are shown.
    pub fn disguise(&self) -> Disguise {
        self.disguise
    }

    /// For operations that need the store in this process; `what` names them in the plural.
    fn local(&self, what: &'static str) -> Result<&Local, BackendError> {
        self.backend.local(what)
    }
}

/// Runs long work on a blocking thread, and short work in place.
async fn off_runtime_if<R: Send + 'static>(
    long: bool,
    work: impl FnOnce() -> R + Send + 'static,
) -> Result<R, EngineError> {
    if !long {
        return Ok(work());
    }
    tokio::task::spawn_blocking(work).await.map_err(|failure| match failure.try_into_panic() {
        Ok(panic) => std::panic::resume_unwind(panic),
        Err(_) => EngineError::OutOfService { reason: "the server is stopping".to_owned() },
    })
}
