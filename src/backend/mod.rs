//! The seam between the product and the place where its documents live.
//!
//! The engine asks for whole operations, never for single keys or rows, so that a backend may be
//! this process ([`Local`]: index and store side by side) or a distributed engine.
//!
//! Adding takes two calls. [`Backend::announce`] fixes a document's place in the order of arrival
//! and tells of the *rivals*: documents announced before it that are on their way and so cannot be
//! found by a lookup yet. [`Backend::store`] then makes it durable and findable. Whoever announces,
//! then looks up, then looks at the rivals has seen every document that was there before: this is
//! what makes check-and-store one step.

pub(crate) mod arrivals;
mod clock;
mod error;
mod local;
pub(crate) mod parallel;
mod places;
mod statistics;
#[cfg(test)]
pub(crate) mod testing;

use std::fs::File;
use std::ops::ControlFlow;
use std::sync::Arc;

use async_trait::async_trait;
use smallvec::SmallVec;
use tokio::sync::{mpsc, watch};

use crate::document::{Content, Document, DocumentId, Ordinal};
use crate::index::{ExactSearch, Search};
use crate::measure::Overlap;
use crate::scheme::Key;
use crate::sketch::Sketch;
use crate::storage::{
    Detail, DocumentDetails, Order, Record, SketchRow, SnapshotInfo, StorageError,
};
use crate::text::ShingleSet;

use arrivals::{Outcome, Place};
pub use clock::Clock;
pub use error::BackendError;
pub use local::{Local, LocalSettings};
pub use statistics::{BackendStats, Progress, Recovery, RecoverySource};

/// A document with everything it is stored and filed by.
#[derive(Debug)]
pub struct Filing {
    pub document: Document,
    pub set: ShingleSet,
    pub fingerprint: u64,
    pub sketch: Sketch,
    /// All the keys it will be found under, or met under on its way.
    pub keys: Vec<Key>,
    /// The text has no shingle but the whole of it.
    pub whole_document: bool,
    /// None of the text's shingles was in the sample.
    pub sampled_to_one: bool,
}

/// A document's place in the order of arrival. Dropping it unstored gives the place up.
pub struct Announced {
    pub filing: Arc<Filing>,
    /// Earlier documents on their way, with another id, that share a key with the probe.
    pub rivals: Vec<Rival>,
    /// No document with its id stood or was on its way before it.
    pub is_new: bool,
    pub(crate) place: Place,
}

/// A document announced before, whose storing is under way.
pub struct Rival {
    pub filing: Arc<Filing>,
    /// It may yet be withdrawn, if it turns out to be a near-duplicate itself.
    pub tentative: bool,
    outcome: watch::Receiver<Outcome>,
}

impl Rival {
    /// Waits for what becomes of it: whether it was stored.
    pub async fn was_stored(mut self) -> bool {
        let decided = self.outcome.wait_for(|outcome| *outcome != Outcome::UnderWay).await;
        decided.is_ok_and(|outcome| *outcome == Outcome::Stored)
    }
}

/// What storing did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    Created,
    Replaced,
    /// The same document stood there already; nothing was written.
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

/// What looking at every document came to.
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

/// What lookups need of a stored document.
#[derive(Clone, Debug)]
pub struct Known {
    pub set: ShingleSet,
    pub fingerprint: u64,
    pub sketch: Sketch,
}

/// What tells, without its set, whether a stored document may resemble another.
#[derive(Clone, Debug)]
pub struct Sketched {
    /// Its set as a candidate that was found under no key.
    pub candidate: Candidate,
    pub sketch: Sketch,
}

/// Every document as it was at one moment, but those that had expired by then, whatever is written
/// meanwhile. Its methods block.
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

/// Whether a document is meant.
pub type Matches = Box<dyn Fn(&DocumentDetails) -> bool + Send>;

/// Where documents live. From the moment that one expires it is as if it were not there, also
/// before it is removed.
#[async_trait]
pub trait Backend: Send + Sync {
    /// Gives the document its place in the order of arrival. `tentative`: it may be withdrawn.
    /// Rivals are those that will be found under one of the `probe`'s keys.
    async fn announce(
        &self,
        filing: Filing,
        tentative: bool,
        probe: &[Key],
    ) -> Result<Announced, BackendError>;

    /// Makes an announced document durable and findable, in place of an older one with its id. Once
    /// this has begun to write, dropping the future does not stop it.
    async fn store(&self, announced: Announced) -> Result<Stored, BackendError>;

    /// The same for many, all of them new ([`Announced::is_new`]) and in their order of arrival:
    /// all are stored or none.
    async fn store_new(&self, announced: Vec<Announced>) -> Result<(), BackendError>;

    /// Whether this very document is stored: the same content and metadata under its id, whenever
    /// it expires.
    async fn stands(&self, document: &Document) -> Result<bool, BackendError>;

    /// `false` if there is no such document.
    async fn remove(&self, id: &DocumentId) -> Result<bool, BackendError>;

    /// Every document that matches, from one consistent view; stops reading if the future is
    /// dropped.
    async fn select(&self, matches: Matches) -> Result<Vec<Ordinal>, BackendError>;

    /// Removes those of the documents that are still there; how many. Dropping the future stops it
    /// between documents.
    async fn remove_selected(&self, ordinals: Vec<Ordinal>) -> Result<u64, BackendError>;

    /// Removes documents that have expired, soonest first and at most `max`; how many.
    async fn remove_expired(&self, max: usize) -> Result<u64, BackendError>;

    async fn candidates(&self, search: &Search<'_>) -> Result<Candidates, BackendError>;

    /// The same of many, in their order.
    async fn candidates_of_all(
        &self,
        searches: &[Search<'_>],
    ) -> Result<Vec<Candidates>, BackendError>;

    /// The sets that may resemble the probe as much as the threshold: all that do are among them.
    /// `None` if there is no index for so low a threshold.
    async fn exact_candidates(
        &self,
        search: &ExactSearch<'_>,
    ) -> Result<Option<Candidates>, BackendError>;

    /// Every document whose set resembles the probe as much as the threshold, from one consistent
    /// view. Looks at all of them: few at a time do, and it ends when the future is dropped.
    async fn scan(&self, search: &ExactSearch<'_>) -> Result<Scan, BackendError>;

    /// The sets of candidates, in their order; `None` for one whose documents are gone meanwhile.
    async fn sets(&self, candidates: &[Candidate])
    -> Result<Vec<Option<ShingleSet>>, BackendError>;

    /// The content of one document of each candidate, in their order; `None` where all of them are
    /// gone meanwhile. For collections that keep contents.
    async fn contents(
        &self,
        candidates: &[Candidate],
    ) -> Result<Vec<Option<Content>>, BackendError>;

    /// The details of documents, in their order; `None` for one that is gone meanwhile.
    async fn details(
        &self,
        ordinals: Vec<Ordinal>,
    ) -> Result<Vec<Option<DocumentDetails>>, BackendError>;

    async fn known(&self, id: &DocumentId) -> Result<Option<Known>, BackendError>;

    /// Of each id in order; `None` if there is no such document.
    async fn sketched(&self, ids: &[DocumentId]) -> Result<Vec<Option<Sketched>>, BackendError>;

    async fn record(&self, id: &DocumentId) -> Result<Option<Record>, BackendError>;

    /// Ids in byte order, those after `after`.
    async fn list(
        &self,
        after: Option<DocumentId>,
        limit: u32,
    ) -> Result<Vec<DocumentId>, BackendError>;

    /// So many documents drawn at random, in random order; all of them if there are no more.
    async fn sample(&self, documents: usize) -> Result<Vec<DocumentId>, BackendError>;

    /// Every document from one consistent view. A damaged one comes as an error, and the others
    /// follow.
    async fn export(
        &self,
        detail: Detail,
        order: Order,
    ) -> mpsc::Receiver<Result<Record, StorageError>>;

    /// All documents as they are now. The caller limits how many views there are at once.
    async fn view(&self) -> Result<Box<dyn View>, BackendError>;

    /// Whether a copy can be made.
    async fn check_room_for_copy(&self) -> Result<(), BackendError>;

    /// All that is stored, from one consistent view, as a database file that goes when it is
    /// closed. Dropping the future stops the copying.
    async fn copy(&self) -> Result<File, BackendError>;

    async fn stats(&self) -> Result<BackendStats, BackendError>;

    /// Writes a snapshot of the index now.
    async fn snapshot(&self) -> Result<SnapshotInfo, BackendError>;

    async fn snapshots(&self) -> Result<Vec<SnapshotInfo>, BackendError>;

    /// Whether a start would have much to do besides reading the newest snapshot: to bring back so
    /// many operations, or more where there are many documents. Cheap.
    fn is_snapshot_due(&self, operations_min: u64) -> bool;

    /// Holds the reason once the backend refuses to go on.
    fn poisoned(&self) -> watch::Receiver<Option<String>>;

    /// Waits for what is under way and lets go of the files.
    async fn close(&self) -> Result<(), BackendError>;
}
