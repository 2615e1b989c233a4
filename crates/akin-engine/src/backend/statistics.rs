//! Statistics of a backend.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use akin_core::passages::BlockIndexStats;
use akin_model::stats::{CollectionSize, SnapshotInfo};

/// Sizes and state, for operators. A number that the backend does not know is `None`.
#[derive(Clone, Debug, Default, serde::Serialize, utoipa::ToSchema)]
pub struct BackendStats {
    #[serde(flatten)]
    #[schema(inline)]
    pub size: CollectionSize,
    /// The part of `index_bytes` that is for ids.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ids_bytes: Option<u64>,
    /// The index of passages, in a collection that has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passages: Option<BlockIndexStats>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wal_bytes: Option<u64>,
    /// Operations since the newest snapshot, which a start would replay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_rows: Option<u64>,
    /// The last operation applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Recovery>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_snapshot: Option<SnapshotInfo>,
}

/// How the index was recovered at the start.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct Recovery {
    pub source: RecoverySource,
    /// The last operation contained in the snapshot that was loaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot_sequence: Option<u64>,
    /// Number of operations replayed from the log after the snapshot.
    pub replayed: u64,
    pub took_ms: u64,
}

/// How the index was restored: `empty` (no documents), `snapshot` (a snapshot and the log), or
/// `rebuilt` (from the stored sketches).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecoverySource {
    /// There were no documents.
    Empty,
    Snapshot,
    /// Rebuilt from the stored sketch of every document.
    Rebuilt,
}

/// Progress of a start, readable while it runs. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct StartProgress {
    done: Arc<AtomicU64>,
    total: Arc<AtomicU64>,
}

impl StartProgress {
    /// Adds the documents of a further collection.
    pub fn add_total(&self, documents: u64) {
        self.total.fetch_add(documents, Ordering::Relaxed);
    }

    pub fn add_done(&self, documents: u64) {
        self.done.fetch_add(documents, Ordering::Relaxed);
    }

    /// The number of documents recovered so far, and the total (0 while unknown).
    pub fn get(&self) -> (u64, u64) {
        let total = self.total.load(Ordering::Relaxed);
        // Documents of a broken snapshot are recovered and counted twice.
        (self.done.load(Ordering::Relaxed).min(total), total)
    }
}
