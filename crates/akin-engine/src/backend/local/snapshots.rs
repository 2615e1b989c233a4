//! Snapshots: the index is copied to disk during normal operation.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;

use super::Local;
use super::catalog::Listing;
use super::memory_state::MemoryState;
use crate::backend::{BackendError, SnapshotWriting};
use crate::document::Ordinal;
use crate::storage::{
    SNAPSHOTS_KEPT, SnapshotEntry, SnapshotHeader, SnapshotListing, SnapshotRecord, SnapshotWriter,
    Snapshots, StorageError,
};
use akin_model::stats::SnapshotInfo;

/// A start replays at most an operation for each eight documents, unless there are few documents.
/// Replaying an operation takes several times as long as loading a document from a snapshot, as its
/// row is read (`benches/start.rs` prints both), and a snapshot writes about 190 bytes for each
/// document: at an eighth 1.5 kB for each operation, about as much as the operation itself writes.
const DOCUMENTS_PER_REPLAYED: u64 = 8;

#[async_trait]
impl SnapshotWriting for Local {
    fn is_snapshot_due(&self, operations_min: u64) -> bool {
        let documents = self.memory.catalog.documents();
        self.operations_since_snapshot() >= operations_min.max(documents / DOCUMENTS_PER_REPLAYED)
    }

    fn operations_since_snapshot(&self) -> u64 {
        let sequence = self.snapshot_sequence.load(Ordering::Relaxed);
        self.store.applied_sequence().saturating_sub(sequence)
    }

    /// Writes a snapshot. The sequence is recorded before the first entry is copied: later writes
    /// may or may not be in the copy, and a start replays all of them from the log.
    ///
    /// All documents in the copy are synced to disk before the snapshot is published: a store that
    /// a power cut sets back behind its snapshot would be refused.
    async fn snapshot(&self) -> Result<SnapshotInfo, BackendError> {
        // The lock is moved to the blocking threads: they continue if this future is dropped, and
        // two concurrent snapshots would overwrite each other.
        let one_at_a_time = Arc::clone(&self.snapshotting).lock_owned().await;
        let header = SnapshotHeader {
            identity: self.identity.clone(),
            sequence: self.store.applied_sequence(),
            next_ordinal: self.next_ordinal.load(Ordering::Relaxed),
            sketch_bytes: self.sketch_bytes,
            created_at_ms: self.now_ms(),
        };
        let (memory, store) = (Arc::clone(&self.memory), Arc::clone(&self.store));
        let copied = super::blocking(move || {
            store.check_room("a snapshot", bytes(&memory, &header))?;
            Ok((copy(&memory, store.snapshots(), &header)?, one_at_a_time))
        });
        // A tuple, so that the writer is dropped before the lock.
        let unfinished = copied.await?;
        self.store.sync().await?;
        let snapshots = self.store.snapshots().clone();
        let finished = super::blocking(move || {
            let (writer, one_at_a_time) = unfinished;
            let info = writer.finish()?;
            Ok((info, snapshots.list()?, one_at_a_time))
        });
        let (info, kept, _one_at_a_time) = finished.await?;
        self.snapshot_sequence.store(info.sequence, Ordering::Relaxed);
        self.trim_log(&kept).await?;
        Ok(info)
    }

    /// The snapshots, newest first.
    async fn snapshots(&self) -> Result<Vec<SnapshotInfo>, BackendError> {
        let snapshots = self.store.snapshots().clone();
        Ok(super::blocking(move || snapshots.list()).await?)
    }
}

impl Local {
    /// Trims the log up to the oldest snapshot, so that a start can skip a broken newer snapshot.
    /// Until there are as many snapshots as are kept, the whole log stays. Changes that readers may
    /// ask for stay, too.
    async fn trim_log(&self, kept: &[SnapshotInfo]) -> Result<(), BackendError> {
        if kept.len() >= SNAPSHOTS_KEPT {
            let oldest = kept.iter().map(|snapshot| snapshot.sequence).min().unwrap_or(0);
            let changes_kept = self.storage.changes_kept;
            let read = self.store.applied_sequence().saturating_sub(changes_kept);
            self.store.trim_log(oldest.min(read)).await?;
        }
        Ok(())
    }
}

/// About the size of a snapshot; the texts of ids are rounded up. `storage::snapshot_file` has the
/// layout.
fn bytes(memory: &MemoryState, header: &SnapshotHeader) -> u64 {
    const ENTRY_BYTES: u64 = 16;
    const LISTING_BYTES: u64 = 24;
    let (entries, documents) = (memory.index.stats().entries, memory.catalog.documents());
    entries * (ENTRY_BYTES + u64::from(header.sketch_bytes))
        + documents * (LISTING_BYTES + Ordinal::BYTES as u64)
        + memory.catalog.texts_bytes()
}

/// Writes all of a snapshot but its end. The copy may have only the entry or only the listing of a
/// document that is stored or removed during the copying: the log contains all operations of that
/// time.
fn copy(
    memory: &MemoryState,
    snapshots: &Snapshots,
    header: &SnapshotHeader,
) -> Result<SnapshotWriter, StorageError> {
    let mut writer = snapshots.begin(header)?;
    memory.index.visit_sets(|set| {
        writer.write(&SnapshotRecord::Entry(SnapshotEntry {
            fingerprint: set.fingerprint,
            shingles: set.shingles,
            sketch: &set.sketch,
            members: &set.members,
        }))
    })?;
    memory.catalog.visit(|listing| {
        let &Listing { ordinal, ref id, fingerprint, has_metadata, .. } = listing;
        let (id, expires_at_ms) = (id.as_str(), listing.expires_at_ms());
        let listing = SnapshotListing { ordinal, id, fingerprint, expires_at_ms, has_metadata };
        writer.write(&SnapshotRecord::Listing(listing))
    })?;
    Ok(writer)
}
