//! Collections in a cluster, which other processes create and drop as well.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use super::{Collection, CollectionName, Collections, Creation, Place, check_settings};
use crate::backend::{ClusterHome, Listed};
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
        self.add(self.open_listed(home, name, default)?);
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
        name: CollectionName,
        settings: &CollectionSettings,
    ) -> Result<(Arc<Collection>, Creation), EngineError> {
        let others = home.list()?;
        let there = others.into_iter().find(|listed| listed.name == name.as_str());
        let standing = match &there {
            Some(listed) => settings_of(listed)?,
            None => settings.clone(),
        };
        let collection = self.add(self.open_listed(home, name, standing)?);
        match there {
            Some(_) => check_settings(collection, settings),
            None => Ok((collection, Creation::Created)),
        }
    }

    /// Opens what others have created and closes what they have dropped.
    fn take_changes(&self, home: &ClusterHome) -> Result<(), EngineError> {
        let _changes = self.changes()?;
        let listed = home.list()?;
        let by_name: BTreeMap<&str, &Listed> =
            listed.iter().map(|listed| (listed.name.as_str(), listed)).collect();
        for open in self.list() {
            let Place::Cluster(ours) = &open.place else { continue };
            if by_name.get(open.name.as_str()).is_none_or(|theirs| theirs.number != ours.number) {
                tracing::info!(name = %open.name, "the collection was dropped elsewhere");
                self.change(|all| all.remove(&open.name));
            }
        }
        for listed in &listed {
            let Ok(name) = listed.name.parse::<CollectionName>() else { continue };
            if self.get(&name).is_ok() {
                continue;
            }
            let opened = settings_of(listed)
                .and_then(|settings| self.open_listed(home, name.clone(), settings));
            match opened {
                Ok(collection) => drop(self.add(collection)),
                Err(error) => {
                    tracing::error!(%name, %error, "a collection is unavailable");
                    self.make_unavailable(name);
                }
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

fn settings_of(listed: &Listed) -> Result<CollectionSettings, EngineError> {
    let read = serde_json::from_str(&listed.made.settings);
    read.and_then(CollectionSettings::from_stored).map_err(|error| EngineError::Store {
        reason: format!("the settings of the collection '{}': {error}", listed.name),
    })
}
