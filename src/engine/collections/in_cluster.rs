//! Collections in a cluster, which other processes create and drop as well.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use super::registry::Removal;
use super::{Collection, CollectionName, Collections, Creation, Place};
use crate::backend::{BackendError, ClusterHome, ListedCollection};
use crate::engine::{CollectionSettings, Engine, EngineError, off_runtime_if};

/// How often changes by others are looked for.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How often the keys of dropped collections are removed.
const CLEAN_EVERY: Duration = Duration::from_secs(60);

impl Collections {
    /// Opens `default` and all other collections of the cluster.
    pub(super) fn open_from_cluster(
        self,
        default: CollectionSettings,
    ) -> Result<Self, EngineError> {
        let Some(home) = &self.home else { return Ok(self) };
        let name = CollectionName::default();
        let collection = self.open_listed(home, name.clone(), default)?;
        self.registry.add(name, collection);
        self.take_changes(home)?;
        Ok(self)
    }

    fn open_listed(
        &self,
        home: &ClusterHome,
        name: CollectionName,
        settings: CollectionSettings,
    ) -> Result<Collection, EngineError> {
        let (store, clock) = (&self.settings.store, self.settings.clock.clone());
        let opened = Engine::open_in_cluster(home, &name, settings, store, &self.sets, clock);
        let (engine, listed) = opened?;
        Ok(Collection { name, engine, place: Place::Cluster(listed) })
    }

    pub(super) fn create_in_cluster(
        &self,
        home: &ClusterHome,
        name: &CollectionName,
        settings: &CollectionSettings,
    ) -> Result<(Collection, Creation), EngineError> {
        if settings.clusters.threshold.is_some() {
            return Err(BackendError::Unsupported { what: "stored clusters" }.into());
        }
        let others = home.list()?;
        let there = others.into_iter().find(|listed| listed.name == name.as_str());
        let (standing, creation) = match &there {
            Some(listed) => (settings_of(listed)?, Creation::Existing),
            None => (settings.clone(), Creation::Created),
        };
        Ok((self.open_listed(home, name.clone(), standing)?, creation))
    }

    /// Opens what others have created and closes what they have dropped.
    fn take_changes(&self, home: &ClusterHome) -> Result<(), EngineError> {
        self.registry.forget_unavailable()?;
        let listed = home.list()?;
        let by_name: BTreeMap<&str, &ListedCollection> =
            listed.iter().map(|listed| (listed.name.as_str(), listed)).collect();
        for open in self.list() {
            let Place::Cluster(ours) = &open.place else { continue };
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
                let opened = self.open_listed(home, name.clone(), settings_of(listed)?);
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
    pub async fn follow_cluster(self: &Arc<Self>) -> Infallible {
        let Some(home) = self.home.clone() else { return std::future::pending().await };
        let (mut known, mut looks) = (None, 0_u64);
        let mut ticks = tokio::time::interval(LOOK_EVERY);
        loop {
            ticks.tick().await;
            looks += 1;
            if looks.is_multiple_of(CLEAN_EVERY.as_secs() / LOOK_EVERY.as_secs())
                && let Err(error) = home.remove_dropped().await
            {
                tracing::warn!(%error, "the keys of dropped collections are still there");
            }
            let Ok(changes) = home.changes().await else { continue };
            if known == Some(changes) {
                continue;
            }
            let (this, home) = (Arc::clone(self), home.clone());
            match off_runtime_if(true, move || this.take_changes(&home)).await {
                Ok(Ok(())) => known = Some(changes),
                Ok(Err(error)) | Err(error) => {
                    tracing::warn!(%error, "changes of the collections are looked for again");
                }
            }
        }
    }
}

fn settings_of(listed: &ListedCollection) -> Result<CollectionSettings, EngineError> {
    let read = serde_json::from_str(&listed.made.settings);
    read.and_then(CollectionSettings::from_stored).map_err(|error| EngineError::Store {
        reason: format!("the settings of the collection '{}': {error}", listed.name),
    })
}
