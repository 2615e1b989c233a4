//! The collections of a server: opening, creating and removing them.

mod opening;
mod rebuild;
mod registry;
mod reindex;
mod transfer;
mod verify;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::sync::Arc;
// The registry takes them from here, so that tests can substitute other types.
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

use futures_util::future::select_all;
use tokio::sync::Semaphore;

use super::{CollectionSettings, Engine, EngineError, LimitSettings, Opening, off_runtime};
use crate::backend::{BackendError, CollectionStore, Removal, StoredCollection};
use akin_model::name::CollectionName;
use registry::Registry;
use reindex::Reindex;

pub use rebuild::rebuild_default;
pub use reindex::ReindexStatus;
pub use verify::{Verification, VerifiedCollection, verify_directory};

/// Settings that apply to all collections.
#[derive(Clone, Debug)]
pub struct CollectionsSettings {
    /// Maximum number of collections, including `default`: each has its own threads and open files.
    pub collections_max: usize,
    /// The highest limits that a new collection may have.
    pub limits_max: LimitSettings,
    /// The options that each collection is opened with.
    pub opening: Opening,
}

/// An open collection. If it is removed while a handle exists, reads continue, writes are refused,
/// and its files are deleted with the last handle.
pub struct Collection {
    name: CollectionName,
    pub(super) engine: Engine,
    /// Last, so that it is dropped after the engine, which has its files open.
    stored: Arc<dyn StoredCollection>,
}

impl Collection {
    pub fn name(&self) -> &CollectionName {
        &self.name
    }

    /// Handles of the collection lead to its successor from now on.
    fn redirect(&self, successor: Arc<Self>) {
        let set = self.engine.successor.set(successor);
        set.unwrap_or_else(|_| unreachable!("a collection is replaced once"));
    }

    /// Closes the collection once its name does not lead to it any more.
    async fn close_removed(&self) {
        if let Err(error) = self.engine.backend.close().await {
            tracing::warn!(name = %self.name, %error, "a removed collection failed to close");
        }
    }
}

impl Deref for Collection {
    type Target = Engine;

    fn deref(&self) -> &Engine {
        &self.engine
    }
}

/// Whether a collection was created, or existed already with the same settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Creation {
    Created,
    Existing,
}

/// All open collections.
pub struct Collections {
    store: Arc<dyn CollectionStore>,
    settings: CollectionsSettings,
    registry: Registry<Collection>,
    /// The last reindex of each collection.
    reindexes: Mutex<BTreeMap<CollectionName, Arc<Reindex>>>,
    /// Only one backup is made at a time.
    pub(super) backups: Arc<Semaphore>,
}

impl Collections {
    /// # Errors
    /// `CollectionNotFound`, `CollectionUnavailable`.
    pub fn get(&self, name: &CollectionName) -> Result<Arc<Collection>, EngineError> {
        self.registry.get(name)
    }

    /// The collections that could not be opened or removed; the log says why.
    pub fn unavailable(&self) -> BTreeSet<CollectionName> {
        self.registry.unavailable()
    }

    /// All collections, sorted by name.
    pub fn list(&self) -> Vec<Arc<Collection>> {
        self.registry.list()
    }

    /// Returns once the collection is on disk.
    ///
    /// # Errors
    /// `CollectionExists` with other settings, `CollectionSettings` if they are invalid,
    /// `TooManyCollections`, `NoRoom`, `CollectionUnavailable`, `Closed`, `Store`.
    pub async fn create(
        self: &Arc<Self>,
        name: CollectionName,
        settings: CollectionSettings,
    ) -> Result<(Arc<Collection>, Creation), EngineError> {
        let this = Arc::clone(self);
        off_runtime(move || this.create_here(&name, &settings)).await?
    }

    fn create_here(
        &self,
        name: &CollectionName,
        settings: &CollectionSettings,
    ) -> Result<(Arc<Collection>, Creation), EngineError> {
        let create = || self.create_new(name, settings);
        let (collection, creation) = match self.registry.get_or_create(name.clone(), create) {
            // Another process was first.
            Err(EngineError::Backend(BackendError::Superseded)) => {
                self.take_changes()?;
                self.registry.get_or_create(name.clone(), create)?
            }
            created => created?,
        };
        if creation == Creation::Existing {
            check_settings(&collection, settings)?;
        }
        Ok((collection, creation))
    }

    fn create_new(
        &self,
        name: &CollectionName,
        settings: &CollectionSettings,
    ) -> Result<Collection, EngineError> {
        self.check_new(settings)?;
        let max = self.settings.collections_max;
        if self.list().len() >= max {
            return Err(EngineError::TooManyCollections { max });
        }
        let stored = self.store.create(name, settings)?;
        let opening = self.settings.opening.later();
        let collection = Self::open_stored(name.clone(), stored, &opening)?;
        collection.stored.take_name()?;
        Ok(collection)
    }

    /// The bytes of the disk that are free, and the reserve of them (`disk_free_min_bytes`).
    /// Blocks.
    pub fn disk(&self) -> Option<(u64, u64)> {
        self.store.disk()
    }

    /// Checks that a new collection may have these settings.
    fn check_new(&self, settings: &CollectionSettings) -> Result<(), EngineError> {
        let mut faults = settings.faults();
        let over = settings.limits.faults_over(&self.settings.limits_max);
        faults.extend(over.into_iter().map(|fault| ("limits", fault)));
        if faults.is_empty() { Ok(()) } else { Err(EngineError::CollectionSettings { faults }) }
    }

    /// Removes a collection with its data. Returns once the removal is durable. Requests in
    /// progress may finish reading, but their writes are refused.
    ///
    /// # Errors
    /// `CollectionNotFound`, `CollectionRequired`, `Closed`, `Store`.
    pub async fn remove(self: &Arc<Self>, name: CollectionName) -> Result<(), EngineError> {
        if name.is_default() {
            return Err(EngineError::CollectionRequired);
        }
        let this = Arc::clone(self);
        let remove = move || this.registry.remove(&name, |it| Ok(it.stored.remove()?));
        let (collection, removal) = off_runtime(remove).await??;
        let outcome = certain(removal, &collection.name);
        tokio::spawn(async move { collection.close_removed().await });
        outcome
    }

    /// Why a collection refuses requests at present, if any does.
    pub fn fault(&self) -> Option<String> {
        self.list().iter().find_map(|collection| collection.outage())
    }

    /// Waits until a collection fails, and returns the reason; the process should then stop.
    pub async fn failed(&self) -> String {
        let mut generation = self.registry.generation();
        loop {
            generation.borrow_and_update();
            let reasons = self.list().into_iter().map(|collection| Box::pin(reason(collection)));
            tokio::select! {
                (reason, ..) = select_all(reasons) => return reason,
                _ = generation.changed() => {}
            }
        }
    }

    /// Closes all collections by [`Engine::close`], even if one fails.
    ///
    /// # Errors
    /// The first error.
    pub async fn close(self: &Arc<Self>) -> Result<(), EngineError> {
        let this = Arc::clone(self);
        off_runtime(move || this.registry.close()).await??;
        let mut closed = Ok(());
        for collection in self.list() {
            closed = closed.and(collection.close().await);
        }
        closed
    }
}

/// # Errors
/// Why the removal is uncertain.
fn certain(removal: Removal, name: &CollectionName) -> Result<(), EngineError> {
    let Removal::Uncertain(error) = removal else { return Ok(()) };
    tracing::error!(
        %name,
        %error,
        "could not sync the removal of the collection; it is unavailable until the next start"
    );
    Err(error.into())
}

/// Checks that an existing collection has the given settings.
fn check_settings(existing: &Collection, given: &CollectionSettings) -> Result<(), EngineError> {
    let faults = given.faults();
    if !faults.is_empty() {
        return Err(EngineError::CollectionSettings { faults });
    }
    if existing.settings() == given {
        return Ok(());
    }
    let json = |settings| serde_json::to_string(settings).expect("settings are plain JSON");
    Err(EngineError::CollectionExists {
        name: existing.name.clone(),
        standing: json(existing.settings()),
        given: json(given),
    })
}

/// Resolves if the store is poisoned and a restart helps; never if it is closed.
async fn reason(collection: Arc<Collection>) -> String {
    let mut poisoned = collection.poisoned();
    let reason = poisoned.wait_for(Option::is_some).await.ok().and_then(|reason| reason.clone());
    let Some(reason) = reason else { return std::future::pending().await };
    let stored = Arc::clone(&collection.stored);
    if let Ok(true) = off_runtime(move || stored.exists()).await {
        return reason;
    }
    let name = &collection.name;
    tracing::error!(
        %name,
        "the files of a collection were removed; open files stay readable until the process stops"
    );
    std::future::pending().await
}

#[cfg(test)]
mod tests;
