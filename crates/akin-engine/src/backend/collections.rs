//! Where collections are kept: the directories below a data directory, or a database that several
//! servers share.
//!
//! Every method blocks: it is called on a thread that may wait, within the runtime.

use std::sync::Arc;

use super::{Backend, BackendError, Clock, SetCache, StartProgress};
use akin_model::name::CollectionName;
use akin_model::settings::CollectionSettings;

/// The collections of a server, or of several.
pub trait CollectionStore: Send + Sync {
    /// The collection `default`, which always exists and has the configured settings. It is opened
    /// before the first call of [`Self::list`].
    ///
    /// # Errors
    /// [`BackendError::Store`]
    fn default_collection(
        &self,
        settings: &CollectionSettings,
    ) -> Result<Arc<dyn StoredCollection>, BackendError>;

    /// The collections that exist, at most one of each name; `default` may be missing.
    ///
    /// # Errors
    /// [`BackendError::Store`]
    fn list(&self) -> Result<Vec<ListedCollection>, BackendError>;

    /// A new collection, to which no name leads: dropping it before it takes its name removes it.
    ///
    /// # Errors
    /// [`BackendError::NoRoom`], [`BackendError::Store`]
    fn create(
        &self,
        name: &CollectionName,
        settings: &CollectionSettings,
    ) -> Result<Arc<dyn StoredCollection>, BackendError>;

    /// A number that differs once another process has created, removed or replaced a collection;
    /// `None` if no other process can. Read every second.
    ///
    /// # Errors
    /// [`BackendError::Store`]
    fn generation(&self) -> Result<Option<u64>, BackendError> {
        Ok(None)
    }

    /// The bytes of the disk that are free, and the reserve of them; `None` if the disk is not this
    /// machine's.
    fn disk(&self) -> Option<(u64, u64)> {
        None
    }
}

/// A collection that exists; an error if it cannot be served.
pub struct ListedCollection {
    pub name: CollectionName,
    pub stored: Result<Arc<dyn StoredCollection>, BackendError>,
}

/// A collection where it is kept. It must be dropped after everything that was opened from it.
pub trait StoredCollection: Send + Sync {
    /// Differs between the collections that have a name one after another.
    fn number(&self) -> u64;

    /// As they were given: without a seed if the seed is secret.
    fn settings(&self) -> &CollectionSettings;

    /// The open collection, and its settings with the seed of its hashes ([`super::seeded`]).
    ///
    /// # Errors
    /// [`BackendError::InUse`], [`BackendError::OtherSettings`], [`BackendError::Store`]
    fn open(
        &self,
        opening: &Opening,
    ) -> Result<(Arc<dyn Backend>, CollectionSettings), BackendError>;

    /// A collection that is to replace this collection. Until it takes the name, dropping it
    /// removes it.
    ///
    /// # Errors
    /// [`BackendError::ReindexUnderWay`] if another process is replacing this collection,
    /// [`BackendError::NoRoom`], [`BackendError::Store`]
    fn replacement(
        self: Arc<Self>,
        settings: &CollectionSettings,
    ) -> Result<Arc<dyn StoredCollection>, BackendError>;

    /// From now on the name leads to this collection, in one step.
    ///
    /// # Errors
    /// [`BackendError::Superseded`] if another process has given the name to another collection, or
    /// removed what this collection replaces; [`BackendError::Store`]. Nothing happened then.
    fn take_name(&self) -> Result<(), BackendError>;

    /// Another replacement may be made once this returns. It is called before the collection is
    /// dropped that was to replace another.
    fn give_up(&self) {}

    /// Removes the collection whose name was taken.
    ///
    /// # Errors
    /// [`BackendError::Store`]: the next start does it.
    fn end_takeover(&self) -> Result<(), BackendError>;

    /// Removes the collection and its name. What is open stays readable until it is dropped.
    ///
    /// # Errors
    /// [`BackendError::Store`]. Nothing happened then.
    fn remove(&self) -> Result<Removal, BackendError>;

    /// False if its files were removed below the running process.
    fn exists(&self) -> bool {
        true
    }
}

/// The removal of a stored collection.
#[derive(Debug)]
pub enum Removal {
    Durable,
    /// A power failure could undo it.
    Uncertain(BackendError),
}

/// What all collections of a process are opened with.
#[derive(Clone, Debug)]
pub struct Opening {
    /// The cache of sets that collections share.
    pub sets: SetCache,
    pub progress: StartProgress,
    /// The time at which documents are stored and expire.
    pub clock: Clock,
}

impl Opening {
    /// Of collections that are opened after the start.
    #[must_use]
    pub fn later(&self) -> Self {
        Self { progress: StartProgress::default(), ..self.clone() }
    }
}

impl Default for Opening {
    /// A cache of 16 MiB and the clock of the system.
    fn default() -> Self {
        let (sets, progress) = (SetCache::new(16 << 20), StartProgress::default());
        Self { sets, progress, clock: Clock::system() }
    }
}
