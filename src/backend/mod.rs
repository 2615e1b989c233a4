//! The seam between the product and the place where its documents live.
//!
//! The engine asks for whole operations, never for single keys or rows, so that a backend may be
//! this process ([`Local`]: index and store side by side) or a distributed engine.
//!
//! Adding takes two calls. [`Backend::register`] fixes a document's place in the order of arrival
//! and returns its *rivals*: documents registered before it that are still in flight, and so cannot
//! be found by a lookup yet. [`Backend::store`] then makes it durable and findable. A caller that
//! registers, then looks up, then checks the rivals has seen every document that was there before:
//! this is what makes check-and-store one step.

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

/// A document with its set, its sketch and its keys: everything needed to store it and to find it.
#[derive(Debug)]
pub struct PreparedDocument {
    pub document: Document,
    pub set: ShingleSet,
    pub fingerprint: u64,
    pub sketch: Sketch,
    /// All the keys it will be found under in the index, or is found under while in flight.
    pub keys: Vec<Key>,
    /// The text is shorter than a shingle, and is one as a whole.
    pub whole_document: bool,
    /// None of the text's shingles was in the sample.
    pub sampled_to_one: bool,
}

/// A document of another backend, with what it keeps from there.
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
    /// The same document was stored already; nothing was written.
    Unchanged,
}

/// A stored set that shares a key with the probe, and the documents that have it.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub fingerprint: u64,
    pub shingles: u32,
    pub agreeing: u32,
    pub keys_shared: u32,
    pub members: SmallVec<[Member; 1]>,
}

/// A document that has a candidate's set.
#[derive(Clone, Debug)]
pub struct Member {
    pub ordinal: Ordinal,
    pub id: DocumentId,
    pub has_metadata: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Candidates {
    pub found: Vec<Candidate>,
    /// Distinct sets that shared a key.
    pub seen: usize,
    pub truncated: bool,
}

/// The outcome of a scan of all documents.
#[derive(Clone, Debug, Default)]
pub struct Scan {
    pub found: Vec<Scanned>,
    /// Documents looked at.
    pub seen: usize,
}

/// A document whose set reaches the threshold.
#[derive(Clone, Debug)]
pub struct Scanned {
    /// With this document as its only member.
    pub candidate: Candidate,
    pub overlap: Overlap,
}

/// A stored document as lookups need it.
#[derive(Clone, Debug)]
pub struct Known {
    pub set: ShingleSet,
    pub fingerprint: u64,
    pub sketch: Sketch,
}

/// A stored document without its set: enough to say whether it may resemble another.
#[derive(Clone, Debug)]
pub struct Sketched {
    /// Its set, as a candidate that was found under no key.
    pub candidate: Candidate,
    pub sketch: Sketch,
}

/// A consistent view: every document as it was at one moment, without those that had expired by
/// then. Its methods block.
pub trait View: Send {
    /// How many documents there are.
    fn documents(&self) -> u64;

    /// Visits each document and its sketch, in any order, until the visitor breaks off.
    ///
    /// # Errors
    /// [`BackendError::Storage`] at the first document that cannot be read.
    fn sketches(
        &mut self,
        visit: &mut dyn FnMut(SketchRow<'_>) -> ControlFlow<()>,
    ) -> Result<(), BackendError>;

    /// The set of a document that [`View::sketches`] has visited.
    ///
    /// # Errors
    /// [`BackendError::Storage`] if it cannot be read.
    fn set(&mut self, ordinal: Ordinal) -> Result<ShingleSet, BackendError>;
}

/// Whether a document is among those that are selected.
pub type Matches = Box<dyn Fn(&DocumentDetails) -> bool + Send>;

/// Where documents live. A document that has expired is no longer returned, also before it is
/// removed.
#[async_trait]
pub trait Backend: Send + Sync {
    /// Gives the document its place in the order of arrival and, with a search, finds its rivals.
    /// `tentative`: it may be withdrawn because of a near-duplicate.
    async fn register(
        &self,
        document: PreparedDocument,
        tentative: bool,
        search: Option<RivalSearch>,
    ) -> Result<Registered, BackendError>;

    /// Makes a registered document durable and findable, in place of an older one with its id. Once
    /// this has begun to write, dropping the future does not stop it.
    async fn store(&self, registered: Registered) -> Result<Stored, BackendError>;

    /// Stores documents that are all new ([`Registered::is_new`]) and in their order of arrival:
    /// all of them or none.
    async fn store_new(&self, registered: Vec<Registered>) -> Result<(), BackendError>;

    /// Whether the document is stored as it is: with the same content and metadata under its id.
    /// When it expires does not matter.
    async fn is_stored(&self, document: &Document) -> Result<bool, BackendError>;

    /// Removes a document; `false` if there is none with this id.
    async fn remove(&self, id: &DocumentId) -> Result<bool, BackendError>;

    /// Selects documents from one consistent view. Stops reading if the future is dropped.
    async fn select(&self, matches: Matches) -> Result<Vec<Ordinal>, BackendError>;

    /// Removes the documents that still exist, and returns their number. Dropping the future stops
    /// it between documents.
    async fn remove_selected(&self, ordinals: Vec<Ordinal>) -> Result<u64, BackendError>;

    /// Removes documents that have expired, soonest first and at most `max`, and returns their
    /// number.
    async fn remove_expired(&self, max: usize) -> Result<u64, BackendError>;

    /// The stored sets that share a key with the probe.
    async fn candidates(&self, search: &Search<'_>) -> Result<Candidates, BackendError>;

    /// The candidates of many searches, in their order.
    async fn candidates_of_all(
        &self,
        searches: &[Search<'_>],
    ) -> Result<Vec<Candidates>, BackendError>;

    /// All sets that resemble the probe as much as the threshold, and some others. `None` if there
    /// is no index for so low a threshold.
    async fn exact_candidates(
        &self,
        search: &ExactSearch<'_>,
    ) -> Result<Option<Candidates>, BackendError>;

    /// Every document whose set resembles the probe as much as the threshold, from one consistent
    /// view. It looks at all documents; few such scans run at a time. Dropping the future stops it.
    async fn scan(&self, search: &ExactSearch<'_>) -> Result<Scan, BackendError>;

    /// The sets of candidates, in their order; `None` for one whose documents have been removed.
    async fn sets(&self, candidates: &[Candidate])
    -> Result<Vec<Option<ShingleSet>>, BackendError>;

    /// The content of one document of each candidate, in their order; `None` where all of them
    /// have been removed. For collections that keep contents.
    async fn contents(
        &self,
        candidates: &[Candidate],
    ) -> Result<Vec<Option<Content>>, BackendError>;

    /// The details of documents, in their order; `None` for one that has been removed.
    async fn details(
        &self,
        ordinals: Vec<Ordinal>,
    ) -> Result<Vec<Option<DocumentDetails>>, BackendError>;

    /// A stored document with its set; `None` if there is none with this id.
    async fn known(&self, id: &DocumentId) -> Result<Option<Known>, BackendError>;

    /// Stored documents with their sketches, in the order of their ids; `None` for those that do
    /// not exist.
    async fn sketched(&self, ids: &[DocumentId]) -> Result<Vec<Option<Sketched>>, BackendError>;

    /// All that is stored of a document; `None` if there is none with this id.
    async fn record(&self, id: &DocumentId) -> Result<Option<Record>, BackendError>;

    /// The lowest `limit` ids above `after`, in byte order. An id that exists throughout is not
    /// missed by pages that follow each other.
    async fn list(
        &self,
        after: Option<DocumentId>,
        limit: u32,
    ) -> Result<Vec<DocumentId>, BackendError>;

    /// Documents drawn at random, in random order: `documents` of them, or all if there are fewer.
    async fn sample(&self, documents: usize) -> Result<Vec<DocumentId>, BackendError>;

    /// Every document from one consistent view. A damaged one comes as an error, and the others
    /// follow.
    async fn export(
        &self,
        detail: Detail,
        order: Order,
    ) -> mpsc::Receiver<Result<Record, StorageError>>;

    /// The documents with these ordinals without their sets; `None` for one that is not there.
    async fn records(&self, ordinals: Vec<Ordinal>) -> Result<Vec<Option<Record>>, BackendError>;

    /// Keeps the log of operations after this sequence, until it is `u64::MAX`.
    fn keep_log_after(&self, sequence: u64);

    /// What happened after a sequence of which the log is kept.
    async fn changes(&self, after: u64) -> Result<Tail, BackendError>;

    /// Stores documents under ordinals that they have in another backend. Each id is new here.
    async fn copy_in(&self, documents: Vec<CopiedDocument>) -> Result<(), BackendError>;

    /// Waits for the writes under way until they are durable, and holds up further ones.
    async fn pause_writes(&self) -> Result<PausedWrites, BackendError>;

    /// All documents as they are now. The caller limits how many views there are at once.
    async fn view(&self) -> Result<Box<dyn View>, BackendError>;

    /// Whether a copy can be made.
    async fn check_room_for_copy(&self) -> Result<(), BackendError>;

    /// All that is stored, from one consistent view, as a database file that is deleted when it is
    /// closed. Dropping the future stops the copying.
    async fn copy(&self) -> Result<File, BackendError>;

    async fn stats(&self) -> Result<BackendStats, BackendError>;

    /// Writes a snapshot of the index now.
    async fn snapshot(&self) -> Result<SnapshotInfo, BackendError>;

    async fn snapshots(&self) -> Result<Vec<SnapshotInfo>, BackendError>;

    /// Whether a start would have to replay at least `operations_min` operations on top of the
    /// newest snapshot, or more where there are many documents. Cheap.
    fn is_snapshot_due(&self, operations_min: u64) -> bool;

    /// Holds the reason once the backend has stopped taking writes.
    fn poisoned(&self) -> watch::Receiver<Option<String>>;

    /// Waits for the operations under way and closes the files.
    async fn close(&self) -> Result<(), BackendError>;
}
