//! The collections below a data directory.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::files::{self, FoundDirectories};
use super::{Local, LocalCollection};
use crate::backend::{
    Backend, BackendError, CollectionStore, ListedCollection, Opening, Removal, StoredCollection,
};
use crate::storage::{StorageSettings, free_bytes};
use akin_model::name::CollectionName;
use akin_model::settings::CollectionSettings;

/// The collections of a data directory.
pub struct LocalCollections {
    /// The directory that contains a directory for each collection.
    root: PathBuf,
    storage: StorageSettings,
}

impl LocalCollections {
    #[must_use]
    pub fn new(root: PathBuf, storage: StorageSettings) -> Self {
        Self { root, storage }
    }
}

impl CollectionStore for LocalCollections {
    /// The lock of its store keeps other processes out of the data directory.
    fn default_collection(
        &self,
        settings: &CollectionSettings,
    ) -> Result<Arc<dyn StoredCollection>, BackendError> {
        let dir = self.root.join(CollectionName::default().as_str());
        Ok(Arc::new(LocalCollection::new(dir, settings.clone(), self.storage.clone())))
    }

    /// Removes the remains of collections that were being created or removed at a crash.
    fn list(&self) -> Result<Vec<ListedCollection>, BackendError> {
        let FoundDirectories { whole, remains, unclear } = files::find(&self.root)?;
        for dir in remains {
            tracing::info!(dir = %dir.display(), "removing the remains of a collection");
            if let Err(error) = files::clear(&dir) {
                tracing::warn!(
                    dir = %dir.display(),
                    %error,
                    "could not delete leftover collection files; retrying at the next start"
                );
            }
        }
        let mut by_name = BTreeMap::<CollectionName, Vec<LocalCollection>>::new();
        for (name, settings, dir) in whole {
            let found = LocalCollection::new(dir, settings, self.storage.clone());
            by_name.entry(name).or_default().push(found);
        }
        // Nothing says which of several directories is meant.
        for (name, _) in &unclear {
            by_name.remove(name);
        }
        let listed = by_name.into_iter().map(|(name, found)| {
            let stored = single(&name, found);
            ListedCollection { name, stored }
        });
        let unclear = unclear.into_iter();
        let unclear = unclear.map(|(name, error)| ListedCollection { name, stored: Err(error) });
        Ok(listed.chain(unclear).collect())
    }

    fn create(
        &self,
        name: &CollectionName,
        settings: &CollectionSettings,
    ) -> Result<Arc<dyn StoredCollection>, BackendError> {
        self.storage.check_room(&self.root)?;
        let new = LocalCollection::building(&self.root, name, settings, &self.storage, None)?;
        Ok(Arc::new(new))
    }

    fn disk(&self) -> Option<(u64, u64)> {
        Some((free_bytes(&self.root).ok()?, self.storage.disk_free_min_bytes))
    }
}

/// The collection of a name, unless several directories have the name.
fn single(
    name: &CollectionName,
    mut found: Vec<LocalCollection>,
) -> Result<Arc<dyn StoredCollection>, BackendError> {
    if found.len() == 1 {
        return Ok(Arc::new(found.swap_remove(0)));
    }
    let dirs = found.iter().map(|of| of.dir().display().to_string());
    let dirs = dirs.collect::<Vec<_>>().join(" and ");
    let reason =
        format!("two directories belong to the collection '{name}': {dirs}. Move one of them away");
    Err(BackendError::Store { reason })
}

impl StoredCollection for LocalCollection {
    /// No other process changes a data directory, so nothing compares it.
    fn number(&self) -> u64 {
        0
    }

    fn settings(&self) -> &CollectionSettings {
        &self.settings
    }

    fn open(
        &self,
        opening: &Opening,
    ) -> Result<(Arc<dyn Backend>, CollectionSettings), BackendError> {
        let local = Local::open(self.dir(), &self.settings, self.storage.clone(), opening)?;
        let seeded = local.settings.clone();
        Ok((Arc::new(local), seeded))
    }

    fn replacement(
        self: Arc<Self>,
        settings: &CollectionSettings,
    ) -> Result<Arc<dyn StoredCollection>, BackendError> {
        let (root, name) = self.root_and_name();
        let (root, storage) = (root.to_owned(), self.storage.clone());
        let new = LocalCollection::building(&root, &name, settings, &storage, Some(self))?;
        Ok(Arc::new(new))
    }

    fn take_name(&self) -> Result<(), BackendError> {
        self.take_over()
    }

    fn end_takeover(&self) -> Result<(), BackendError> {
        self.remove_replaced()
    }

    fn remove(&self) -> Result<Removal, BackendError> {
        self.mark_removed()
    }

    fn exists(&self) -> bool {
        self.dir().exists()
    }
}
