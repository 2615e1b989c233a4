//! Reading stored data: documents (get, list, export), changes and statistics; snapshots,
//! backups and closing.

pub(crate) mod backup;
mod changes;
mod listing;

pub use listing::ListedIds;

use futures_util::{Stream, StreamExt};
use tokio::sync::watch;

use crate::backend::{BackendError, SnapshotWriting};
use crate::document::DocumentId;
use crate::engine::{Engine, EngineError, Order, Record, SnapshotInfo, Stats, unsupported};
use crate::stored::Detail;

impl Engine {
    /// # Errors
    /// `DocumentNotFound`, `Store`.
    pub async fn get(&self, id: &DocumentId) -> Result<Record, EngineError> {
        let record = self.backend.record(id, Detail::All).await?;
        record.ok_or_else(|| EngineError::not_found(id))
    }

    /// Every document, from a consistent view. Stops when the stream is dropped.
    pub async fn export(
        &self,
        order: Order,
    ) -> impl Stream<Item = Result<Record, EngineError>> + Send + use<> {
        let records = self.backend.export(Detail::Content, order).await;
        records.map(|record| Ok(record?))
    }

    /// # Errors
    /// `Store`.
    pub async fn stats(&self) -> Result<Stats, EngineError> {
        let backend = self.backend.stats().await?;
        let discoveries = self.discoveries.list();
        let last_clusters = self.discoveries.last_clusters();
        let last_recall = self.recall_meter.last();
        let clusters = self.cluster_counts();
        Ok(Stats { backend, discoveries, last_clusters, clusters, last_recall })
    }

    fn snapshot_writing(&self) -> Result<&dyn SnapshotWriting, EngineError> {
        self.backend.snapshot_writing().ok_or(unsupported("snapshots"))
    }

    /// Writes a snapshot of the index and returns once it is on disk. Only one snapshot is written
    /// at a time; calls during it wait for the next.
    ///
    /// # Errors
    /// `Store`.
    pub async fn snapshot(&self) -> Result<SnapshotInfo, EngineError> {
        Ok(self.snapshot_writing()?.snapshot().await?)
    }

    /// # Errors
    /// `Unsupported`: there is no index here to copy.
    pub fn check_snapshots(&self) -> Result<(), EngineError> {
        self.snapshot_writing().map(drop)
    }

    /// Writes a snapshot, unless the newest snapshot is up to date.
    ///
    /// # Errors
    /// `Store`.
    pub async fn snapshot_if_changed(&self) -> Result<Option<SnapshotInfo>, EngineError> {
        match self.backend.snapshot_writing() {
            Some(writing) if writing.operations_since_snapshot() > 0 => {
                Ok(Some(writing.snapshot().await?))
            }
            _ => Ok(None),
        }
    }

    /// Whether a start would have to replay at least `operations_min` operations, or an eighth
    /// of the number of documents if that is more. Cheap.
    pub fn is_snapshot_due(&self, operations_min: u64) -> bool {
        let writing = self.backend.snapshot_writing();
        writing.is_some_and(|writing| writing.is_snapshot_due(operations_min))
    }

    /// # Errors
    /// `Store`.
    pub async fn snapshots(&self) -> Result<Vec<SnapshotInfo>, EngineError> {
        Ok(self.snapshot_writing()?.snapshots().await?)
    }

    /// Holds the reason once the store has failed; the process should then stop.
    pub fn poisoned(&self) -> watch::Receiver<Option<String>> {
        self.backend.poisoned()
    }

    /// Why requests are refused at present, if they are.
    pub fn outage(&self) -> Option<String> {
        self.poisoned().borrow().clone().or_else(|| self.backend.outage())
    }

    /// Stops discoveries, writes a last snapshot if anything changed, and closes the store, even if
    /// the snapshot fails.
    ///
    /// # Errors
    /// `Store`.
    pub async fn close(&self) -> Result<(), EngineError> {
        self.discoveries.close();
        let poisoned = self.poisoned().borrow().is_some();
        let snapshot = if poisoned { Ok(None) } else { self.snapshot_if_changed().await };
        self.backend.close().await?;
        match snapshot {
            // The next start replays more of the log.
            Err(EngineError::Backend(BackendError::NoRoom { reason })) => {
                tracing::warn!(reason, "no last snapshot");
            }
            snapshot => drop(snapshot?),
        }
        Ok(())
    }
}
