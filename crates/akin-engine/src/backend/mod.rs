//! The interface between the engine and the storage of its documents.
//!
//! Its methods are whole operations, never single keys or rows, so that a backend can be this
//! process ([`Local`]: index and store side by side) or a distributed system. Snapshots, backups
//! and further operations exist only in some backends: each is a trait of `capability`, and a
//! [`Backend`] returns its implementation if it has one.
//!
//! Adding documents is one call, [`Backend::add`]. Each document gets its number in the order of
//! arrival; then the backend looks for its near-duplicates among the stored documents and for its
//! *rivals*, earlier documents that are still in flight, so that lookups cannot find them yet; and
//! the engine, which is called with what was found, decides ([`Check`]). So every document is
//! compared with every earlier document, which makes check-and-store atomic.

mod adding;
mod capability;
mod clock;
mod clusters;
mod collections;
mod content_hash;
pub mod directory;
mod error;
mod gate;
pub(crate) mod in_flight;
mod local;
pub(crate) mod parallel;
mod seed;
mod set_cache;
mod statistics;
#[cfg(any(test, fuzzing, feature = "fuzzing"))]
pub mod testing;

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use tokio::sync::watch;

use crate::document::{Content, Document, DocumentId, Ordinal};
use crate::stored::{Detail, DocumentDetails, Order, Record};
use akin_core::index::{self, ExactSearch, Search};
use akin_core::measure::Overlap;
use akin_core::passages::TextBlocks;
use akin_core::scheme::Key;
use akin_core::sketch::Sketch;
use akin_core::text::ShingleSet;
use akin_model::analysis::Analysis;

pub use crate::stored::Stamp;
pub use adding::{
    Adding, Addition, Check, EarlierWrite, Findings, Rival, RivalSearch, Rivals, Unchecked, Verdict,
};
pub use capability::{
    ArrivingText, Backups, ChangeFeed, ChangesUpTo, ClusterCounts, ClusterKeeping, ClusterNote,
    ClusterPosition, ClustersState, FoundPassages, LocatedPassages, PassageFilter, PassageRequest,
    PassageSearch, SharedPassages, SketchOf, SketchScanning, SketchSearch, SketchView,
    SnapshotWriting,
};
pub use clock::Clock;
pub use clusters::{ClusterWork, Clusters, Unfinished};
pub use collections::{CollectionStore, ListedCollection, Opening, Removal, StoredCollection};
pub use content_hash::content_hash;
pub(crate) use content_hash::hash_of_parts;
pub use error::BackendError;
pub use gate::WriteGate;
pub use local::{Local, LocalCollection, LocalCollections};
pub use seed::seeded;
pub(crate) use set_cache::SetBytes;
pub use set_cache::SetCache;
pub use statistics::{BackendStats, Recovery, RecoverySource, StartProgress};

/// Candidates in the first block that a lookup checks: a backend reads the sets of so many together
/// with their documents.
pub const CHECKED_AT_ONCE: usize = 40;

/// Shingles of candidates in memory at once for verification (32 MiB), unless a single candidate
/// has more.
pub const SHINGLES_AT_ONCE_MAX: usize = 4 << 20;

/// A document with its set, sketch and keys: everything needed to store and find it.
#[derive(Debug)]
pub struct PreparedDocument {
    pub document: Document,
    pub analysis: Analysis,
    /// The lookup keys of the document, in the index and while it is in flight.
    pub keys: Vec<Key>,
    /// The document is stored only if its id still has the version with this ordinal.
    pub only_over: Option<Ordinal>,
    /// The blocks of the text, for the index of passages if there is one.
    pub blocks: Option<Arc<TextBlocks>>,
    /// Where later searches for passages find the document while it is in flight.
    pub arriving: Option<ArrivingText>,
}

impl PreparedDocument {
    /// The document, stored only if its id still has the version with this ordinal.
    #[must_use]
    pub fn over(self, ordinal: Ordinal) -> Self {
        Self { only_over: Some(ordinal), ..self }
    }
}

/// The outcome of storing a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stored {
    Created,
    /// The replaced version, with its set; `None` if it could not be read, and of a document copied
    /// from another collection.
    Replaced(Option<Box<Record>>),
    /// An identical document was already stored; nothing was written.
    Unchanged,
}

/// A stored set that shares a key with the probe, and the documents with this set.
pub type Candidate = index::Candidate<Member>;

pub type Candidates = index::Candidates<Member>;

/// A document with the candidate's set.
#[derive(Clone, Debug)]
pub struct Member {
    pub ordinal: Ordinal,
    pub id: DocumentId,
    pub has_metadata: bool,
}

/// A version of a stored document: a document that is replaced gets another ordinal.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Version {
    pub id: DocumentId,
    pub ordinal: Ordinal,
}

impl Member {
    pub fn version(&self) -> Version {
        Version { id: self.id.clone(), ordinal: self.ordinal }
    }
}

/// The result of an exact search.
#[derive(Clone, Debug)]
pub enum ExactCandidates {
    /// A superset of the sets that reach the threshold, from the prefix index.
    Indexed(Candidates),
    /// From a scan, as the index does not cover so low a threshold.
    Scanned(Scan),
}

/// The result of a scan of all documents.
#[derive(Clone, Debug, Default)]
pub struct Scan {
    pub found: Vec<Scanned>,
    /// Number of documents scanned.
    pub seen: usize,
}

/// A document whose set reaches the threshold.
#[derive(Clone, Debug)]
pub struct Scanned {
    /// A candidate with this document as its only member.
    pub candidate: Candidate,
    pub overlap: Overlap,
}

/// A stored document without its set: enough to decide whether it may resemble another.
#[derive(Clone, Debug)]
pub struct Sketched {
    /// Its set, as a candidate with no shared keys.
    pub candidate: Candidate,
    pub sketch: Sketch,
}

/// The outcome of a removal by conditions.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    serde::Deserialize,
    serde::Serialize,
    utoipa::ToSchema,
)]
pub struct Removed {
    /// Documents that met the conditions.
    pub matched: u64,
    /// Documents removed: fewer than `matched` if other requests removed or replaced
    /// matching documents first.
    pub removed: u64,
}

/// New writes of a collection wait until this is dropped.
pub trait PausedWrites: Send + Sync {
    /// Refuses the waiting and all later writes with [`BackendError::Superseded`].
    fn supersede(self: Box<Self>);
}

/// Exported documents; may be polled after its end. A damaged document is an error, and
/// further documents follow.
pub type Records = BoxStream<'static, Result<Record, BackendError>>;

/// Selects documents by their details.
pub type Matches = Box<dyn Fn(&DocumentDetails) -> bool + Send>;

/// Storage and index of documents: the operations that any backend has. Expired documents are not
/// returned, even before they are removed.
#[async_trait]
pub trait Backend: Send + Sync {
    /// Adds documents. They arrive, in this order, before the call returns; the future checks and
    /// stores them, in the place of older documents with their ids. Dropping the future withdraws
    /// the documents of which the writing has not begun. It must be polled otherwise: later
    /// documents may be waiting for these.
    fn add(self: Arc<Self>, documents: Vec<Addition>, check: Arc<dyn Check>) -> Adding;

    /// Removes a document; `false` if the id does not exist.
    async fn remove(&self, id: &DocumentId) -> Result<bool, BackendError>;

    /// Removes at most `max` expired documents, soonest first, and returns their number.
    async fn remove_expired(&self, max: usize) -> Result<u64, BackendError>;

    /// Removes the documents that match in one consistent view. `removed` counts them, also up to
    /// an error. Dropping the future stops it between two documents.
    async fn remove_where(
        &self,
        matches: Matches,
        removed: &mut Removed,
    ) -> Result<(), BackendError>;

    /// Finds the stored sets that share a key with each probe; the results are in the same order.
    async fn candidates(&self, searches: &[Search<'_>]) -> Result<Vec<Candidates>, BackendError>;

    /// Finds the sets that resemble the probe as much as the threshold or more. Without an index
    /// for so low a threshold it scans all documents in one consistent view: few scans run at a
    /// time, and dropping the future stops one.
    async fn exact_candidates(&self, search: &ExactSearch)
    -> Result<ExactCandidates, BackendError>;

    /// The sets of the candidates, in the same order; `None` where all members have been removed.
    async fn sets(&self, candidates: &[Candidate])
    -> Result<Vec<Option<ShingleSet>>, BackendError>;

    /// The content of one document of each group, in the same order; `None` where all of a group
    /// have been removed, or the collection does not keep contents.
    async fn contents(&self, groups: &[Vec<Version>])
    -> Result<Vec<Option<Content>>, BackendError>;

    /// The details of documents, in the same order; `None` where a document has been removed.
    async fn details(
        &self,
        versions: &[Version],
    ) -> Result<Vec<Option<DocumentDetails>>, BackendError>;

    /// The states of documents, in the same order; `None` where an id does not exist.
    async fn stamps(&self, ids: &[DocumentId]) -> Result<Vec<Option<Stamp>>, BackendError>;

    /// Stored documents with their sketches, in the same order; `None` where an id does not exist.
    async fn sketched(&self, ids: &[DocumentId]) -> Result<Vec<Option<Sketched>>, BackendError>;

    /// The record of a document; `None` if the id does not exist.
    async fn record(&self, id: &DocumentId, detail: Detail)
    -> Result<Option<Record>, BackendError>;

    /// The lowest `limit` ids above `after`, in byte order. Successive pages contain every id that
    /// exists throughout.
    async fn list(
        &self,
        after: Option<DocumentId>,
        limit: usize,
    ) -> Result<Vec<DocumentId>, BackendError>;

    /// The ids of at most `documents` randomly selected documents, in random order.
    async fn sample(&self, documents: usize) -> Result<Vec<DocumentId>, BackendError>;

    /// All documents from a consistent view. A damaged document is returned as an error, and the
    /// export continues.
    async fn export(&self, detail: Detail, order: Order) -> Records;

    /// Blocks new writes, of every process that shares the collection, and waits until the pending
    /// writes are durable.
    async fn pause_writes(&self) -> Result<Box<dyn PausedWrites>, BackendError>;

    /// The number of documents that have not expired. Cheap.
    async fn documents(&self) -> Result<u64, BackendError> {
        Ok(self.stats().await?.size.documents)
    }

    async fn stats(&self) -> Result<BackendStats, BackendError>;

    /// Holds the reason once the backend no longer accepts writes.
    fn poisoned(&self) -> watch::Receiver<Option<String>>;

    /// Why requests are refused at present, if they are: the backend may come back by itself.
    fn outage(&self) -> Option<String> {
        None
    }

    /// Waits for pending operations and closes the files.
    async fn close(&self) -> Result<(), BackendError>;

    fn passage_search(&self) -> Option<&dyn PassageSearch> {
        None
    }

    fn sketch_scan(&self) -> Option<&dyn SketchScanning> {
        None
    }

    fn change_feed(&self) -> Option<&dyn ChangeFeed> {
        None
    }

    fn snapshot_writing(&self) -> Option<&dyn SnapshotWriting> {
        None
    }

    fn backups(&self) -> Option<&dyn Backups> {
        None
    }

    /// `None` also if this collection keeps no clusters.
    fn kept_clusters(&self) -> Option<&dyn ClusterKeeping> {
        None
    }
}
