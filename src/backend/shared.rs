//! A backend outside of this process: it has the collections, and any number of processes share
//! them.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{Backend, BackendError, Clock, SetCache, ValkeySettings};
use akin_core::scheme::Scheme;
use akin_core::sketch::SketchSettings;

/// The registry of the shared collections. The methods that are not async block, on any thread.
#[async_trait]
pub trait SharedCollections: Send + Sync {
    /// All collections.
    ///
    /// # Errors
    /// [`BackendError::Unavailable`]
    fn list(&self) -> Result<Vec<ListedCollection>, BackendError>;

    /// Creates the collection unless the name exists; returns the collection of that name, and
    /// whether this call created it. `settings` is JSON; `identity` names the settings that decide
    /// how documents are stored.
    ///
    /// # Errors
    /// [`BackendError::Unavailable`]
    fn create(
        &self,
        name: &str,
        settings: String,
        identity: String,
    ) -> Result<(ListedCollection, bool), BackendError>;

    /// Opens a collection.
    ///
    /// # Errors
    /// [`BackendError::Storage`] if its identity is not that of the options;
    /// [`BackendError::Unreachable`] if contents are kept and there is no place for them.
    fn open(
        &self,
        listed: &ListedCollection,
        options: SharedOptions,
    ) -> Result<Arc<dyn Backend>, BackendError>;

    /// Begins to replace a collection; `None` if another process is about it. The successor may be
    /// opened, but no name leads to it.
    ///
    /// # Errors
    /// [`BackendError::Unavailable`]
    async fn begin_replacing(
        &self,
        old: &ListedCollection,
        settings: String,
        identity: String,
    ) -> Result<Option<Replacing>, BackendError>;

    /// Notes that the work goes on, and with `closes` that the collection takes no more writes.
    ///
    /// # Errors
    /// [`BackendError::Unavailable`]: also if this process was taken for dead.
    async fn note_replacing(
        &self,
        replacing: &mut Replacing,
        closes: bool,
    ) -> Result<(), BackendError>;

    /// Gives the name to the successor; the data of the old collection are removed in the
    /// background after a while.
    ///
    /// # Errors
    /// [`BackendError::Unavailable`]: also if the collection was dropped, or this process was taken
    /// for dead.
    async fn give_name(&self, replacing: &Replacing) -> Result<(), BackendError>;

    /// Leaves the collection as it is, and drops the successor.
    ///
    /// # Errors
    /// [`BackendError::Unavailable`]
    async fn give_up_replacing(&self, replacing: &Replacing) -> Result<(), BackendError>;

    /// Drops a collection; its data are removed in the background.
    ///
    /// # Errors
    /// [`BackendError::Unavailable`]
    fn drop_collection(&self, listed: &ListedCollection) -> Result<(), BackendError>;

    /// A number that differs once any process has created, dropped or replaced a collection. Ends
    /// what processes that died have begun to replace.
    ///
    /// # Errors
    /// [`BackendError::Unavailable`]
    async fn changes(&self) -> Result<i64, BackendError>;

    /// Removes the remaining data of dropped collections.
    ///
    /// # Errors
    /// [`BackendError::Unavailable`]
    async fn remove_dropped(&self) -> Result<(), BackendError>;
}

impl fmt::Debug for dyn SharedCollections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedCollections")
    }
}

/// The description of a collection that all processes share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectionEntry {
    /// The settings of the collection, as JSON.
    pub settings: String,
    /// The settings that decide how documents are stored.
    pub identity: String,
    /// Bits of a key that choose its block of postings.
    pub block_bits: u32,
}

/// A shared collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedCollection {
    pub name: String,
    pub number: u64,
    pub entry: CollectionEntry,
    /// The stored bytes of number and entry.
    pub(crate) raw: Bytes,
}

/// A collection that this process replaces.
#[derive(Clone, Debug)]
pub struct Replacing {
    pub old: ListedCollection,
    pub new: ListedCollection,
    /// What was noted last, and when.
    pub note: Bytes,
    pub noted: Instant,
    /// How often it must be noted that the work goes on.
    pub notes_every: Duration,
    /// No write is under way so long after the collection was closed.
    pub closed_after: Duration,
}

/// How a process uses a shared collection.
#[derive(Clone, Debug)]
pub struct SharedOptions {
    /// The settings that decide how documents are stored.
    pub identity: String,
    pub scheme: Scheme,
    pub sketch: SketchSettings,
    /// Whether texts and tokens themselves are kept.
    pub keep_content: bool,
    /// The default lifetime of documents; `None` for no limit.
    pub ttl_ms: Option<i64>,
    /// The cache of recently used sets.
    pub sets: SetCache,
    pub clock: Clock,
    /// Scans of all documents that run at once.
    pub scans_max: usize,
}

/// How to get a build that has the backend.
pub const WITHOUT_VALKEY: &str = "this build of akin lacks the Valkey backend: install akin with \
                                  `cargo install akin --features valkey`, or a released package";

/// Connects to Valkey. Blocks, on any thread.
///
/// # Errors
/// [`BackendError::Unreachable`]: also in a build without the feature `valkey`.
pub fn connect_to_valkey(
    settings: &ValkeySettings,
) -> Result<Arc<dyn SharedCollections>, BackendError> {
    #[cfg(feature = "valkey")]
    {
        Ok(Arc::new(super::valkey::ValkeyRegistry::open(settings)?))
    }
    #[cfg(not(feature = "valkey"))]
    {
        let nodes = settings.nodes.join(", ");
        Err(BackendError::Unreachable { reason: format!("{nodes}: {WITHOUT_VALKEY}") })
    }
}
