//! Operations that not every backend has: a trait for each, which `Backend` returns if it has it.

use std::fs::File;
use std::ops::ControlFlow;
use std::sync::Arc;

use async_trait::async_trait;

use super::local::{
    ArrivingText, ClusterCounts, ClusterNote, ClusterPosition, Clusters, FoundPassages,
    LocatedPassages, PassageRequest, PausedWrites, SharedPassages, SketchSearch,
};
use super::{BackendError, Candidates, CopiedDocument, Found, Sketched, Version};
use crate::budget::Reservation;
use crate::document::{DocumentId, Ordinal};
use crate::stored::{Changes, Position, Record, SnapshotInfo, Tail};
use akin_core::index::{ExactSearch, Search};
use akin_core::passages::TextBlocks;
use akin_core::text::ShingleSet;

/// Searches for passages.
#[async_trait]
pub trait PassageSearch: Send + Sync {
    /// The documents that share passages with the words of a probe. A document that is replaced at
    /// the same time is found in one of the two versions.
    ///
    /// # Errors
    /// [`BackendError::PassagesOff`] without an index, [`BackendError::OverBudget`],
    /// [`BackendError::Store`].
    async fn passages(&self, request: PassageRequest) -> Result<FoundPassages, BackendError>;

    /// The places of passages in the texts of documents, in the order of `found`.
    ///
    /// # Errors
    /// [`BackendError::OverBudget`], [`BackendError::Store`]
    async fn locate_passages(
        &self,
        found: Vec<SharedPassages>,
        memory: Option<Arc<Reservation>>,
    ) -> Result<Vec<LocatedPassages>, BackendError>;

    /// Notes a text that is about to be added, so that later searches wait for it. Takes as long as
    /// making an index of the text.
    fn note_arriving(&self, blocks: &Arc<TextBlocks>) -> Option<ArrivingText>;

    /// Waits until the documents that arrived before a document, and share a gram with it, are
    /// stored or withdrawn. Returns false if a limit left some of them out.
    ///
    /// # Errors
    /// [`BackendError::OverBudget`]
    async fn wait_for_earlier_texts(
        &self,
        found: &Found<'_>,
        request: &PassageRequest,
    ) -> Result<bool, BackendError>;
}

/// Scans of all sketches.
#[async_trait]
pub trait SketchScanning: Send + Sync {
    /// The sets whose sketches agree best. Dropping the future ends the scan, or leaves it to other
    /// searches.
    ///
    /// # Errors
    /// [`BackendError::Closed`]
    async fn scan_sketches(&self, search: SketchSearch) -> Result<Candidates, BackendError>;

    /// The number of distinct sets. Cheap.
    fn distinct_sets(&self) -> usize;

    /// A view of all documents as of now. The caller limits the number of open views.
    ///
    /// # Errors
    /// [`BackendError::Store`]
    async fn view(&self) -> Result<Box<dyn SketchView>, BackendError>;
}

/// A consistent view of all documents that have not expired at its beginning. Its methods block.
pub trait SketchView: Send {
    fn documents(&self) -> u64;

    /// Visits each document and its sketch, in any order, until the visitor breaks.
    ///
    /// # Errors
    /// [`BackendError::Store`] at the first document that cannot be read.
    fn sketches(
        &self,
        visit: &mut dyn FnMut(SketchOf<'_>) -> ControlFlow<()>,
    ) -> Result<(), BackendError>;

    /// The set of a document visited by [`Self::sketches`].
    ///
    /// # Errors
    /// [`BackendError::Store`] if it is damaged or absent.
    fn set(&mut self, ordinal: Ordinal) -> Result<ShingleSet, BackendError>;
}

/// A document in a view, with its sketch.
#[derive(Debug)]
pub struct SketchOf<'a> {
    pub ordinal: Ordinal,
    pub id: DocumentId,
    /// Number of elements in the set.
    pub shingles: u32,
    pub fingerprint: u64,
    pub sketch: &'a [u8],
}

/// The feed of changes.
#[async_trait]
pub trait ChangeFeed: Send + Sync {
    /// The changes after a position, from at most `operations_max` operations.
    ///
    /// # Errors
    /// [`BackendError::Store`]
    async fn changes_after(
        &self,
        after: Position,
        operations_max: usize,
    ) -> Result<Changes, BackendError>;

    /// The position behind the last change.
    ///
    /// # Errors
    /// [`BackendError::Store`]
    async fn last_change(&self) -> Result<Position, BackendError>;

    /// Whether anything changed after a position. Cheap.
    fn has_changed_since(&self, position: Position) -> bool;
}

/// Snapshots of the index, which make starts quick.
#[async_trait]
pub trait SnapshotWriting: Send + Sync {
    /// Writes a snapshot.
    ///
    /// # Errors
    /// [`BackendError::Store`] if it cannot be written, [`BackendError::NoRoom`] if it would leave
    /// less than the reserve of the disk.
    async fn snapshot(&self) -> Result<SnapshotInfo, BackendError>;

    /// # Errors
    /// [`BackendError::Store`] if the directory cannot be read.
    async fn snapshots(&self) -> Result<Vec<SnapshotInfo>, BackendError>;

    /// Whether a start would replay at least `operations_min` operations after the newest snapshot
    /// (more in large collections). Cheap.
    fn is_snapshot_due(&self, operations_min: u64) -> bool;

    /// The operations after the newest snapshot, which a start would replay. Cheap.
    fn operations_since_snapshot(&self) -> u64;
}

/// Copies of the whole store.
#[async_trait]
pub trait Backups: Send + Sync {
    /// Checks that there is enough free space for a copy.
    ///
    /// # Errors
    /// [`BackendError::NoRoom`] if the disk has too little room.
    async fn check_room_for_copy(&self) -> Result<(), BackendError>;

    /// Copies the whole store, from a consistent view, to a database file that is deleted when it
    /// is closed. Dropping the future stops the copying.
    ///
    /// # Errors
    /// [`BackendError::Store`] if the database cannot be read or the copy not written.
    async fn copy(&self) -> Result<File, BackendError>;
}

/// Support for reindexing a collection: the changes in the old backend, and a new backend that
/// stores the same documents under the same ordinals.
#[async_trait]
pub trait Reindexing: Send + Sync {
    /// The operations after a sequence for which the log is kept.
    ///
    /// # Errors
    /// [`BackendError::Store`] if the log cannot be read.
    async fn changes(&self, sequence: u64) -> Result<Tail, BackendError>;

    /// The records with these ordinals, without their sets; `None` for an ordinal without a
    /// document.
    ///
    /// # Errors
    /// [`BackendError::Store`] if a document cannot be read.
    async fn records(&self, ordinals: Vec<Ordinal>) -> Result<Vec<Option<Record>>, BackendError>;

    /// Prevents trimming of the operation log from here on; the sequence after which it is kept.
    fn keep_log(&self) -> u64;

    /// Permits trimming again.
    fn release_log(&self);

    /// Stores documents under the ordinals they have in another backend. Documents that exist
    /// already are skipped; the ids of all other documents must be new here.
    ///
    /// # Errors
    /// [`BackendError::OutOfService`], [`BackendError::Store`]
    async fn copy_in(&self, documents: Vec<CopiedDocument>) -> Result<(), BackendError>;

    /// Removes the documents that still exist and returns their number. Dropping the future stops
    /// it between two documents.
    ///
    /// # Errors
    /// [`BackendError::OutOfService`], [`BackendError::Store`]
    async fn remove_ordinals(&self, ordinals: Vec<Ordinal>) -> Result<u64, BackendError>;

    /// Blocks new writes and waits until the pending writes are durable.
    ///
    /// # Errors
    /// [`BackendError::Store`] if waiting writes cannot be committed.
    async fn pause_writes(&self) -> Result<PausedWrites, BackendError>;
}

/// The clusters that a collection keeps, and what linking documents with them needs. Expired
/// documents are linked until they are removed, since the clock may be set back.
#[async_trait]
pub trait ClusterKeeping: Send + Sync {
    fn clusters(&self) -> &Clusters;

    /// How far the clusters have come. Expired documents belong to their clusters until they are
    /// removed.
    fn counts(&self) -> ClusterCounts;

    /// Connects near-duplicates; `false` if one of them no longer exists.
    fn connect(&self, a: Ordinal, b: Ordinal) -> bool;

    /// A document with this set: the first from an ordinal on, or of all.
    fn member_from(&self, fingerprint: u64, from: Ordinal) -> Option<Ordinal>;

    fn sketched_at(&self, ordinal: Ordinal) -> Option<Sketched>;

    /// The documents of a part of the collection that is to be visited.
    fn documents_in(&self, chunk: u64) -> Vec<Ordinal>;

    /// The ordinal of a document that has not expired.
    fn ordinal(&self, id: &DocumentId) -> Option<Ordinal>;

    fn id(&self, ordinal: Ordinal) -> Option<DocumentId>;

    fn has_expired(&self, ordinal: Ordinal) -> bool;

    /// Sets that share a key with a set.
    ///
    /// # Errors
    /// [`BackendError::Store`]
    async fn linkable(&self, search: &Search<'_>) -> Result<Candidates, BackendError>;

    /// Sets from an index for exact lookups; `None` if no index covers the threshold.
    ///
    /// # Errors
    /// [`BackendError::Store`]
    async fn linkable_exactly(
        &self,
        search: &ExactSearch,
    ) -> Result<Option<Candidates>, BackendError>;

    /// The position behind the last note; `None` while the clusters are not known.
    fn last_note(&self) -> Option<ClusterPosition>;

    /// At most `max` notes after a position, and the position behind them. A reader without a
    /// position, of an earlier start, or that missed notes gets all documents first.
    fn notes(
        &self,
        after: Option<ClusterPosition>,
        until: ClusterPosition,
        max: usize,
    ) -> (Vec<ClusterNote>, ClusterPosition);

    /// The documents that a note is about, and that are stored.
    fn noted(&self, note: ClusterNote) -> Vec<Version>;
}
