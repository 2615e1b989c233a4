//! The product on a page: collections, and of each add, similar, compare, get, remove, list,
//! export, snapshot; and their backups.

mod add;
mod analysis;
mod backup;
mod collections;
mod compare;
mod error;
mod lookup;
mod offline;
mod operate;
mod settings;
mod similar;
mod types;

use std::path::Path;
use std::sync::Arc;

use crate::backend::{Backend, Local, LocalSettings};
use crate::storage::StorageSettings;

pub use crate::backend::{BackendStats, Progress, Recovery, RecoverySource};
pub use crate::storage::{Order, SnapshotInfo};
pub use analysis::{Analyser, Analysis};
pub use backup::{Restored, Restoring, restore};
pub use collections::{
    Collection, CollectionName, Collections, CollectionsSettings, Creation, InvalidCollectionName,
};
pub use compare::compare_contents;
pub use error::EngineError;
pub use offline::{Finding, OfflineCorpus, OfflineGathering, SetPair};
pub use settings::{CollectionSettings, LimitSettings, StoreSettings};
pub use types::{
    AddOptions, AddStatus, Added, Admitted, Answer, Comparison, Exact, Explanation, Lookup, Match,
    Mode, OnDuplicate, Passages, Policy, Prepared, Probe, Stats, StoredDocument,
};

/// One collection, ready to serve. A clone is another handle on the same.
#[derive(Clone)]
pub struct Engine {
    settings: Arc<CollectionSettings>,
    analyser: Arc<Analyser>,
    backend: Arc<dyn Backend>,
}

impl Engine {
    /// Opens or creates the collection in `dir` and brings its index back. Blocks: call it off the
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
        let analyser = Analyser::new(&settings);
        let identity = settings.identity(&analyser.bands);
        let local = LocalSettings {
            store: storage.clone(),
            keep_content: settings.store.text,
            cache_bytes,
        };
        let bands = analyser.bands.clone();
        let backend = Local::open(dir, local, &identity, bands, &settings.sketch, progress)?;
        Ok(Self {
            settings: Arc::new(settings),
            analyser: Arc::new(analyser),
            backend: Arc::new(backend),
        })
    }

    #[must_use]
    pub fn settings(&self) -> &CollectionSettings {
        &self.settings
    }
}

/// Runs what may take a while on a thread that may block, and the rest where it is.
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
