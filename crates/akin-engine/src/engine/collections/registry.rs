//! The map from names to collections.
//!
//! Names change only while `changes` is locked, together with the files: collections are created,
//! removed and replaced one at a time. Lookups lock only the names, and no thread holds that lock
//! while waiting for a disk. All work on files is passed as closures, so that Shuttle can schedule
//! the remaining code (`tests/model`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::sync::watch;

use super::{CollectionName, Creation, Mutex, MutexGuard, PoisonError, RwLock};
use crate::backend::{BackendError, Removal};
use crate::engine::EngineError;

/// The collections of a data directory by name.
pub(super) struct Registry<T> {
    names: RwLock<BTreeMap<CollectionName, Standing<T>>>,
    /// Whether no further changes are taken.
    changes: Mutex<bool>,
    /// Incremented with every change of `names`.
    generation: watch::Sender<u64>,
}

pub(super) enum Standing<T> {
    Open(Arc<T>),
    /// It could not be opened, or it is unknown whether its removal will survive a power failure.
    /// Its files are left as they are.
    Unavailable,
}

impl<T> Registry<T> {
    pub fn new() -> Self {
        Self {
            names: RwLock::default(),
            changes: Mutex::default(),
            generation: watch::Sender::default(),
        }
    }

    /// # Errors
    /// `CollectionNotFound`, `CollectionUnavailable`.
    pub fn get(&self, name: &CollectionName) -> Result<Arc<T>, EngineError> {
        let names = self.names.read().unwrap_or_else(PoisonError::into_inner);
        match names.get(name) {
            Some(Standing::Open(collection)) => Ok(Arc::clone(collection)),
            Some(Standing::Unavailable) => {
                Err(EngineError::CollectionUnavailable { name: name.clone() })
            }
            None => Err(EngineError::CollectionNotFound { name: name.clone() }),
        }
    }

    /// All open collections, sorted by name.
    pub fn list(&self) -> Vec<Arc<T>> {
        let names = self.names.read().unwrap_or_else(PoisonError::into_inner);
        let open = names.values().filter_map(|standing| match standing {
            Standing::Open(collection) => Some(Arc::clone(collection)),
            Standing::Unavailable => None,
        });
        open.collect()
    }

    pub fn unavailable(&self) -> BTreeSet<CollectionName> {
        let names = self.names.read().unwrap_or_else(PoisonError::into_inner);
        let is_unavailable = |standing: &Standing<T>| matches!(standing, Standing::Unavailable);
        let unavailable = names.iter().filter(|(_, standing)| is_unavailable(standing));
        unavailable.map(|(name, _)| name.clone()).collect()
    }

    /// Changes whenever a name does.
    pub fn generation(&self) -> watch::Receiver<u64> {
        self.generation.subscribe()
    }

    /// Forgets the collections that could not be opened, before another attempt. The caller has the
    /// guard of `changes`.
    pub fn forget_unavailable(&self) {
        for name in self.unavailable() {
            self.set(name, None);
        }
    }

    /// The collection of this name, or the collection that `create` has put on disk.
    ///
    /// # Errors
    /// `CollectionUnavailable`, `Closed`, and the errors of `create`.
    pub fn get_or_create(
        &self,
        name: CollectionName,
        create: impl FnOnce() -> Result<T, EngineError>,
    ) -> Result<(Arc<T>, Creation), EngineError> {
        let _changes = self.changes()?;
        match self.get(&name) {
            Err(EngineError::CollectionNotFound { .. }) => {}
            existing => return existing.map(|existing| (existing, Creation::Existing)),
        }
        let created = Arc::new(create()?);
        self.set(name, Some(Standing::Open(Arc::clone(&created))));
        Ok((created, Creation::Created))
    }

    /// Removes a name once `remove` has removed its collection on disk.
    ///
    /// # Errors
    /// `CollectionNotFound`, `CollectionUnavailable`, `Closed`, and the errors of `remove`, after
    /// which nothing has changed.
    pub fn remove(
        &self,
        name: &CollectionName,
        remove: impl FnOnce(&T) -> Result<Removal, EngineError>,
    ) -> Result<(Arc<T>, Removal), EngineError> {
        let _changes = self.changes()?;
        let collection = self.get(name)?;
        let removal = remove(&collection)?;
        // While the removal is uncertain, neither may the collection be used, nor may a new
        // collection get its name, which the old collection could displace after a power failure.
        let standing = match &removal {
            Removal::Durable => None,
            Removal::Uncertain(_) => Some(Standing::Unavailable),
        };
        self.set(name.clone(), standing);
        Ok((collection, removal))
    }

    /// Gives a collection's name to its successor, once `take_over` has done so on disk. `finish`
    /// runs before any other change of the name.
    ///
    /// # Errors
    /// `CollectionNotFound` if the name no longer stands for `old`, `CollectionUnavailable`,
    /// `Closed`, and the errors of `take_over`, after which nothing has changed.
    pub fn replace(
        &self,
        name: &CollectionName,
        old: &Arc<T>,
        new: &Arc<T>,
        take_over: impl FnOnce() -> Result<(), EngineError>,
        finish: impl FnOnce(),
    ) -> Result<(), EngineError> {
        let _changes = self.changes()?;
        if !Arc::ptr_eq(&self.get(name)?, old) {
            return Err(EngineError::CollectionNotFound { name: name.clone() });
        }
        take_over()?;
        self.set(name.clone(), Some(Standing::Open(Arc::clone(new))));
        finish();
        Ok(())
    }

    /// Waits for a change in progress, and refuses further changes.
    ///
    /// # Errors
    /// `Closed` if it was closed before.
    pub fn close(&self) -> Result<(), EngineError> {
        self.changes().map(|mut closed| *closed = true)
    }

    /// Waits for a change in progress; changes by others wait while the guard lives.
    ///
    /// # Errors
    /// `Closed`.
    pub fn changes(&self) -> Result<MutexGuard<'_, bool>, EngineError> {
        let changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        if *changes { Err(BackendError::Closed.into()) } else { Ok(changes) }
    }

    /// Only with the guard of `changes`, or at the start, before the registry is shared.
    pub fn set(&self, name: CollectionName, standing: Option<Standing<T>>) {
        let mut names = self.names.write().unwrap_or_else(PoisonError::into_inner);
        let previous = match standing {
            Some(standing) => names.insert(name, standing),
            None => names.remove(&name),
        };
        drop(names);
        // Outside the lock, since it may be the last handle.
        drop(previous);
        self.generation.send_modify(|generation| *generation += 1);
    }
}
