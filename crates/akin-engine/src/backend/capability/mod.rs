//! Operations that not every backend has: a trait for each, which `Backend` returns if it has it.

mod clusters;
mod passages;

use std::fs::File;
use std::ops::ControlFlow;

use async_trait::async_trait;

use super::{BackendError, Candidates};
use crate::document::{DocumentId, Ordinal};
use crate::stored::{Changes, Position};
use akin_core::index::ScanLimits;
use akin_core::sketch::Sketch;
use akin_core::text::ShingleSet;
use akin_model::stats::SnapshotInfo;

pub use clusters::{ClusterCounts, ClusterKeeping, ClusterNote, ClusterPosition, ClustersState};
pub use passages::{
    ArrivingText, FoundPassages, LocatedPassages, PassageFilter, PassageRequest, PassageSearch,
    SharedPassages,
};

/// Scans of all sketches.
#[async_trait]
pub trait SketchScanning: Send + Sync {
    /// The sets with the best agreeing sketches. Dropping the future ends the scan, or leaves it to
    /// other searches.
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

/// A search for the sets that agree best with a sketch.
#[derive(Clone, Debug)]
pub struct SketchSearch {
    pub sketch: Sketch,
    pub limits: ScanLimits,
    /// The members that are returned of each set, and of all sets together; but two members of each
    /// set are always returned.
    pub each_max: usize,
    pub total_max: usize,
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

/// Up to where changes are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangesUpTo {
    /// No change will come before the last of these: a reader goes on behind it.
    Settled,
    /// Every committed change. Before the last of these, further changes may come.
    Committed,
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
        up_to: ChangesUpTo,
    ) -> Result<Changes, BackendError>;

    /// The position behind the last change.
    ///
    /// # Errors
    /// [`BackendError::Store`]
    async fn last_change(&self, up_to: ChangesUpTo) -> Result<Position, BackendError>;

    /// The number of changes from a settled position to a committed one, but at most `most`, also
    /// of versions that were replaced since. Zero if every change settles at once.
    ///
    /// # Errors
    /// [`BackendError::OutOfService`]
    async fn unsettled(
        &self,
        _settled: Position,
        _committed: Position,
        _most: u32,
    ) -> Result<u32, BackendError> {
        Ok(0)
    }

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
