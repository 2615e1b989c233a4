//! Collections that other processes create and drop, too.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use super::registry::Removal;
use super::{Collection, CollectionName, Collections, Creation, Location};
use crate::backend::{Capability, ListedCollection, SharedCollections};
use crate::engine::{CollectionSettings, Engine, EngineError, off_runtime_if};

/// The interval at which changes by other processes are read.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How often the keys of dropped collections are removed.
const CLEAN_EVERY: Duration = Duration::from_secs(60);

impl Collections {
    /// Opens `default` and all other shared collections.
    pub(super) fn open_all_shared(
        &self,
        shared: &dyn SharedCollections,
        default: CollectionSettings,
    ) -> Result<(), EngineError> {
        let name = CollectionName::default();
        let collection = self.open_listed(shared, name.clone(), default)?;
        self.registry.add(name, collection);
        self.take_changes(shared)
    }

    fn open_listed(
        &self,
        shared: &dyn SharedCollections,
        name: CollectionName,
        settings: CollectionSettings,
    ) -> Result<Collection, EngineError> {
        let (engine, listed) = Engine::open_shared(shared, &name, settings, self.opening())?;
        Ok(Collection { name, engine, location: Location::Shared(listed) })
    }

    pub(super) fn create_shared(
        &self,
        shared: &dyn SharedCollections,
        name: &CollectionName,
        settings: &CollectionSettings,
    ) -> Result<(Collection, Creation), EngineError> {
        check_supported(settings)?;
        let others = shared.list()?;
        let there = others.into_iter().find(|listed| listed.name == name.as_str());
        let (standing, creation) = match &there {
            Some(listed) => (settings_of(listed)?, Creation::Existing),
            None => (settings.clone(), Creation::Created),
        };
        Ok((self.open_listed(shared, name.clone(), standing)?, creation))
    }

    /// Opens collections that other processes have created and closes collections that they have
    /// dropped.
    fn take_changes(&self, shared: &dyn SharedCollections) -> Result<(), EngineError> {
        self.registry.forget_unavailable()?;
        let listed = shared.list()?;
        let by_name: BTreeMap<&str, &ListedCollection> =
            listed.iter().map(|listed| (listed.name.as_str(), listed)).collect();
        for open in self.list() {
            let Location::Shared(ours) = &open.location else { continue };
            match by_name.get(open.name.as_str()) {
                Some(theirs) if theirs.number == ours.number => {}
                Some(theirs) => self.take_successor(shared, &open, theirs)?,
                None => {
                    tracing::info!(name = %open.name, "the collection was dropped elsewhere");
                    let _ = self.registry.remove(&open.name, |_| Ok(Removal::Durable))?;
                }
            }
        }
        for listed in &listed {
            let Ok(name) = listed.name.parse::<CollectionName>() else { continue };
            if self.get(&name).is_ok() {
                continue;
            }
            let open = || {
                let opened = self.open_listed(shared, name.clone(), settings_of(listed)?);
                opened.map(|collection| (collection, Creation::Existing))
            };
            if let Err(error) = self.registry.get_or_create(name.clone(), open) {
                tracing::error!(%name, %error, "a collection is unavailable");
                self.registry.add_unavailable(name);
            }
        }
        Ok(())
    }

    /// Opens a collection that has another's name now, before the name leads to it here.
    fn take_successor(
        &self,
        shared: &dyn SharedCollections,
        old: &Arc<Collection>,
        listed: &ListedCollection,
    ) -> Result<(), EngineError> {
        if self.is_reindexing(&old.name) {
            // This process has replaced it, and is about to do so here.
            return Err(EngineError::ReindexUnderWay);
        }
        // By now it may have done so.
        if !self.get(&old.name).is_ok_and(|now| Arc::ptr_eq(&now, old)) {
            return Ok(());
        }
        tracing::info!(name = %old.name, "the collection was replaced elsewhere");
        let new = self.open_successor(shared, old, listed, &settings_of(listed)?)?;
        self.take_over_here(old, &Arc::new(new))
    }

    /// Follows the changes that other processes make; never returns.
    pub async fn follow_shared(self: &Arc<Self>) -> Infallible {
        let Some(shared) = self.settings.shared.clone() else {
            return std::future::pending().await;
        };
        let (mut known, mut looks) = (None, 0_u64);
        let mut ticks = tokio::time::interval(LOOK_EVERY);
        loop {
            ticks.tick().await;
            looks += 1;
            if looks.is_multiple_of(CLEAN_EVERY.as_secs() / LOOK_EVERY.as_secs())
                && let Err(error) = shared.remove_dropped().await
            {
                tracing::warn!(%error, "could not delete the Valkey keys of dropped collections");
            }
            let Ok(changes) = shared.changes().await else { continue };
            if known == Some(changes) {
                continue;
            }
            let (this, shared) = (Arc::clone(self), Arc::clone(&shared));
            match off_runtime_if(true, move || this.take_changes(&*shared)).await {
                Ok(Ok(())) => known = Some(changes),
                Ok(Err(error)) | Err(error) => {
                    tracing::warn!(%error, "cannot read the changed list of collections; retrying");
                }
            }
        }
    }
}

/// Checks that no setting needs what only the local backend has.
pub(super) fn check_supported(settings: &CollectionSettings) -> Result<(), EngineError> {
    if settings.clusters.threshold.is_some() {
        return Err(Capability::StoredClusters.unsupported().into());
    }
    if !settings.passages.is_off() {
        return Err(Capability::Passages.unsupported().into());
    }
    Ok(())
}

fn settings_of(listed: &ListedCollection) -> Result<CollectionSettings, EngineError> {
    serde_json::from_str(&listed.entry.settings).map_err(|error| EngineError::Store {
        reason: format!("the settings of the collection '{}': {error}", listed.name),
    })
}
