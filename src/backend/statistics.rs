//! Statistics of a backend.

use std::sync::atomic::{AtomicU64, Ordering};

/// Sizes and state, for operators.
#[derive(Clone, Debug)]
pub struct BackendStats {
    pub documents: u64,
    pub distinct_sets: u64,
    pub keys: u64,
    pub postings: u64,
    pub postings_longest: u64,
    /// Memory of the index and of the ids.
    pub index_bytes: u64,
    /// The part of the ids: the catalog.
    pub ids_bytes: u64,
    pub database_bytes: u64,
    pub wal_bytes: u64,
    pub log_rows: u64,
    pub sequence: u64,
    pub recovery: Recovery,
}

/// How the index was recovered at the start.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct Recovery {
    pub source: RecoverySource,
    /// The last operation in the snapshot that the start read.
    pub snapshot_sequence: Option<u64>,
    /// Operations of the log that were replayed on top of the snapshot.
    pub replayed: u64,
    pub took_ms: u64,
}

/// What the index was restored from: nothing (`empty`), a `snapshot` and the log, or the stored
/// sketches (`rebuilt`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecoverySource {
    /// There were no documents.
    Empty,
    Snapshot,
    /// From every document's stored sketch.
    Rebuilt,
}

/// The progress of a start, which can be asked for meanwhile.
#[derive(Debug, Default)]
pub struct Progress {
    done: AtomicU64,
    total: AtomicU64,
}

impl Progress {
    /// Adds the documents of one more collection.
    pub fn add_total(&self, documents: u64) {
        self.total.fetch_add(documents, Ordering::Relaxed);
    }

    pub fn add_done(&self, documents: u64) {
        self.done.fetch_add(documents, Ordering::Relaxed);
    }

    /// Documents recovered so far, and documents to recover (0 while unknown).
    pub fn get(&self) -> (u64, u64) {
        let total = self.total.load(Ordering::Relaxed);
        // Documents of a broken snapshot are recovered once more, and counted twice.
        (self.done.load(Ordering::Relaxed).min(total), total)
    }
}
