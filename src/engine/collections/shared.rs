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
        if settings.clusters.threshold.is_some() {
            return Err(Capability::StoredClusters.unsupported().into());
        }
        if !settings.passages.is_off() {
            return Err(Capability::Passages.unsupported().into());
        }
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
            if by_name.get(open.name.as_str()).is_none_or(|theirs| theirs.number != ours.number) {
                tracing::info!(name = %open.name, "the collection was dropped elsewhere");
                let _ = self.registry.remove(&open.name, |_| Ok(Removal::Durable))?;
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

fn settings_of(listed: &ListedCollection) -> Result<CollectionSettings, EngineError> {
    serde_json::from_str(&listed.entry.settings).map_err(|error| EngineError::Store {
        reason: format!("the settings of the collection '{}': {error}", listed.name),
    })
}
