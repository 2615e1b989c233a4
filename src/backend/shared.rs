//! A backend outside of this process: it has the collections, and any number of processes share
//! them.

use std::fmt;
use std::sync::Arc;

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

    /// Drops a collection; its data are removed in the background.
    ///
    /// # Errors
    /// [`BackendError::Unavailable`]
    fn drop_collection(&self, listed: &ListedCollection) -> Result<(), BackendError>;

    /// A number that differs once any process has created or dropped a collection.
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
