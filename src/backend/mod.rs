//! The interface between the engine and the storage of its documents.
//!
//! Its methods are whole operations, never single keys or rows, so that a backend can be this
//! process ([`Local`]: index and store side by side) or a distributed system.
//!
//! Adding a document takes two calls. [`Backend::register`] assigns its ticket in the order of
//! arrival and returns its *rivals*: documents that were registered earlier and are still in
//! flight, so that lookups cannot find them yet. [`Backend::store`] makes it durable and findable.
//! A caller that registers, looks up, and then checks the rivals has seen every earlier document,
//! which makes check-and-store atomic.

mod clock;
mod error;
pub(crate) mod in_flight;
mod local;
pub(crate) mod parallel;
mod rival;
mod statistics;
#[cfg(test)]
pub(crate) mod testing;

use std::fs::File;
use std::ops::ControlFlow;

use async_trait::async_trait;
use smallvec::SmallVec;
use tokio::sync::{mpsc, watch};

use crate::document::{Content, Document, DocumentId, Ordinal};
use crate::index::{ExactSearch, Search};
use crate::measure::Overlap;
use crate::scheme::Key;
use crate::sketch::Sketch;
use crate::storage::{
    Detail, DocumentDetails, Order, Record, SketchRow, SnapshotInfo, StorageError, Tail,
};
use crate::text::ShingleSet;

pub use clock::Clock;
pub use error::BackendError;
pub use local::{Local, LocalSettings, PausedWrites};
pub use rival::{Registered, Rival, RivalSearch, Rivals};
pub use statistics::{BackendStats, Progress, Recovery, RecoverySource};

/// A document with its set, sketch and keys: everything needed to store and find it.
#[derive(Debug)]
pub struct PreparedDocument {
    pub document: Document,
    pub set: ShingleSet,
    pub fingerprint: u64,
    pub sketch: Sketch,
    /// The keys under which it is found, in the index and while it is in flight.
    pub keys: Vec<Key>,
    /// The text is shorter than one shingle, so the whole text is its only shingle.
    pub whole_document: bool,
    /// None of the text's shingles was in the sample.
    pub sampled_to_one: bool,
}

/// A document copied from another backend, with its ordinal and times.
#[derive(Debug)]
pub struct CopiedDocument {
    pub ordinal: Ordinal,
    pub prepared: PreparedDocument,
    pub stored_at_ms: i64,
    pub expires_at_ms: Option<i64>,
}

/// The outcome of storing a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    Created,
    Replaced,
    /// An identical document was already stored; nothing was written.
    Unchanged,
}

/// A stored set that shares a key with the probe, and the documents with this set.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub fingerprint: u64,
    pub shingles: u32,
    pub agreeing: u32,
    pub keys_shared: u32,
    pub members: SmallVec<[Member; 1]>,
}

/// A document with the candidate's set.
#[derive(Clone, Debug)]
pub struct Member {
    pub ordinal: Ordinal,
    pub id: DocumentId,
    pub has_metadata: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Candidates {
    pub found: Vec<Candidate>,
    /// Number of distinct sets that share a key.
    pub seen: usize,
    pub truncated: bool,
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

/// The parts of a stored document that lookups need.
#[derive(Clone, Debug)]
pub struct Known {
    pub set: ShingleSet,
    pub fingerprint: u64,
    pub sketch: Sketch,
}

/// A stored document without its set: enough to decide whether it may resemble another.
#[derive(Clone, Debug)]
pub struct Sketched {
    /// Its set, as a candidate with no shared keys.
    pub candidate: Candidate,
    pub sketch: Sketch,
}

/// A consistent view of all documents at one moment, without those already expired then. Its
/// methods block.
pub trait View: Send {
    /// The number of documents.
    fn documents(&self) -> u64;

    /// Visits each document and its sketch, in any order, until the visitor breaks.
    ///
    /// # Errors
    /// [`BackendError::Storage`] for the first document that cannot be read.
    fn sketches(
        &mut self,
        visit: &mut dyn FnMut(SketchRow<'_>) -> ControlFlow<()>,
    ) -> Result<(), BackendError>;

    /// The set of a document visited by [`View::sketches`].
    ///
    /// # Errors
    /// [`BackendError::Storage`] if it cannot be read.
    fn set(&mut self, ordinal: Ordinal) -> Result<ShingleSet, BackendError>;
}

/// Selects documents by their details.
pub type Matches = Box<dyn Fn(&DocumentDetails) -> bool + Send>;

/// Storage and index of documents. Expired documents are not returned, even before they are
/// removed.
#[async_trait]
pub trait Backend: Send + Sync {
    /// Assigns the document's ticket in the order of arrival and, given a search, finds its rivals.
    /// `tentative`: the document may be withdrawn because of a near-duplicate.
    async fn register(
        &self,
        document: PreparedDocument,
        tentative: bool,
        search: Option<RivalSearch>,
    ) -> Result<Registered, BackendError>;

    /// Makes a registered document durable and findable, replacing an older one with its id. Once
    /// writing has begun, dropping the future does not stop it.
    async fn store(&self, registered: Registered) -> Result<Stored, BackendError>;

    /// Stores documents that are all new ([`Registered::is_new`]), given in their order of arrival:
    /// either all or none.
    async fn store_new(&self, registered: Vec<Registered>) -> Result<(), BackendError>;

    /// Whether an identical document (id, content and metadata) is stored. Expiry is not compared.
    async fn is_stored(&self, document: &Document) -> Result<bool, BackendError>;

    /// Removes a document; `false` if the id does not exist.
    async fn remove(&self, id: &DocumentId) -> Result<bool, BackendError>;

    /// Selects documents from one consistent view. Dropping the future stops it.
    async fn select(&self, matches: Matches) -> Result<Vec<Ordinal>, BackendError>;

    /// Removes the documents that still exist and returns their number. Dropping the future stops
    /// it between two documents.
    async fn remove_selected(&self, ordinals: Vec<Ordinal>) -> Result<u64, BackendError>;

    /// Removes at most `max` expired documents, soonest first, and returns their number.
    async fn remove_expired(&self, max: usize) -> Result<u64, BackendError>;

    /// Finds the stored sets that share a key with the probe.
    async fn candidates(&self, search: &Search<'_>) -> Result<Candidates, BackendError>;

    /// Runs several searches; the results are in the same order.
    async fn candidates_of_all(
        &self,
        searches: &[Search<'_>],
    ) -> Result<Vec<Candidates>, BackendError>;

    /// Returns a superset of the sets whose resemblance to the probe reaches the threshold. `None`
    /// if the index does not cover so low a threshold.
    async fn exact_candidates(
        &self,
        search: &ExactSearch<'_>,
    ) -> Result<Option<Candidates>, BackendError>;

    /// Scans all documents in one consistent view for sets whose resemblance to the probe reaches
    /// the threshold. Few scans run at a time. Dropping the future stops it.
    async fn scan(&self, search: &ExactSearch<'_>) -> Result<Scan, BackendError>;

    /// The sets of the candidates, in the same order; `None` where all members have been removed.
    async fn sets(&self, candidates: &[Candidate])
    -> Result<Vec<Option<ShingleSet>>, BackendError>;

    /// The content of one member of each candidate, in the same order; `None` where all members
    /// have been removed. Only for collections that keep contents.
    async fn contents(
        &self,
        candidates: &[Candidate],
    ) -> Result<Vec<Option<Content>>, BackendError>;

    /// The details of documents, in the same order; `None` where a document has been removed.
    async fn details(
        &self,
        ordinals: Vec<Ordinal>,
    ) -> Result<Vec<Option<DocumentDetails>>, BackendError>;

    /// A stored document with its set; `None` if the id does not exist.
    async fn known(&self, id: &DocumentId) -> Result<Option<Known>, BackendError>;

    /// Stored documents with their sketches, in the same order; `None` where an id does not exist.
    async fn sketched(&self, ids: &[DocumentId]) -> Result<Vec<Option<Sketched>>, BackendError>;

    /// The full record of a document; `None` if the id does not exist.
    async fn record(&self, id: &DocumentId) -> Result<Option<Record>, BackendError>;

    /// The lowest `limit` ids above `after`, in byte order. Successive pages contain every id that
    /// exists throughout.
    async fn list(
        &self,
        after: Option<DocumentId>,
        limit: u32,
    ) -> Result<Vec<DocumentId>, BackendError>;

    /// The ids of at most `documents` randomly selected documents, in random order.
    async fn sample(&self, documents: usize) -> Result<Vec<DocumentId>, BackendError>;

    /// All documents from one consistent view. A damaged document is returned as an error, and the
    /// export continues.
    async fn export(
        &self,
        detail: Detail,
        order: Order,
    ) -> mpsc::Receiver<Result<Record, StorageError>>;

    /// The records with these ordinals, without their sets; `None` where one does not exist.
    async fn records(&self, ordinals: Vec<Ordinal>) -> Result<Vec<Option<Record>>, BackendError>;

    /// Prevents trimming of the operation log after this sequence; `u64::MAX` releases it.
    fn keep_log_after(&self, sequence: u64);

    /// The operations after a sequence for which the log is kept.
    async fn changes(&self, after: u64) -> Result<Tail, BackendError>;

    /// Stores documents under the ordinals they have in another backend. Their ids must be new
    /// here.
    async fn copy_in(&self, documents: Vec<CopiedDocument>) -> Result<(), BackendError>;

    /// Blocks new writes and waits until the pending ones are durable.
    async fn pause_writes(&self) -> Result<PausedWrites, BackendError>;

    /// A view of all documents as of now. The caller limits the number of open views.
    async fn view(&self) -> Result<Box<dyn View>, BackendError>;

    /// Checks that there is enough free space for a copy.
    async fn check_room_for_copy(&self) -> Result<(), BackendError>;

    /// Copies the whole store, from one consistent view, to a database file that is deleted when it
    /// is closed. Dropping the future stops the copying.
    async fn copy(&self) -> Result<File, BackendError>;

    async fn stats(&self) -> Result<BackendStats, BackendError>;

    /// Writes a snapshot of the index now.
    async fn snapshot(&self) -> Result<SnapshotInfo, BackendError>;

    async fn snapshots(&self) -> Result<Vec<SnapshotInfo>, BackendError>;

    /// Whether a start would replay at least `operations_min` operations after the newest snapshot
    /// (more in large collections). Cheap.
    fn is_snapshot_due(&self, operations_min: u64) -> bool;

    /// Holds the reason once the backend no longer accepts writes.
    fn poisoned(&self) -> watch::Receiver<Option<String>>;

    /// Waits for pending operations and closes the files.
    async fn close(&self) -> Result<(), BackendError>;
}
