//! Automatic snapshots: after some time, and once much has changed.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use crate::backend::BackendError;
use crate::engine::{Collection, Collections, EngineError, SnapshotInfo};

/// How often the number of changes is checked.
const DUE_EVERY: Duration = Duration::from_secs(1);

/// The pause after a snapshot that failed.
const AFTER_FAILURE: Duration = Duration::from_secs(60);

pub(super) async fn take(collection: Arc<Collection>) {
    log(&collection, collection.snapshot_if_changed().await);
}

/// Bounds the number of log entries that a start replays. With 0 operations it does nothing.
pub(super) async fn take_due(collections: &Collections, operations: u64) -> Infallible {
    let mut ticks = super::ticks(if operations == 0 { Duration::ZERO } else { DUE_EVERY }).await;
    loop {
        ticks.tick().await;
        for collection in collections.list() {
            if !collection.is_snapshot_due(operations) {
                continue;
            }
            let taken = collection.snapshot().await;
            let failed = taken.is_err();
            log(&collection, taken.map(Some));
            if failed {
                tokio::time::sleep(AFTER_FAILURE).await;
            }
        }
    }
}

fn log(collection: &Collection, taken: Result<Option<SnapshotInfo>, EngineError>) {
    let name = collection.name();
    match taken {
        Ok(Some(snapshot)) => tracing::info!(
            collection = %name,
            sequence = snapshot.sequence,
            documents = snapshot.documents,
            bytes = snapshot.bytes,
            "took a snapshot"
        ),
        // The collection may have been removed.
        Ok(None) | Err(EngineError::Backend(BackendError::Closed)) => {}
        Err(error) => tracing::error!(collection = %name, %error, "a snapshot failed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::tests::{add, open};

    #[tokio::test(start_paused = true)]
    async fn a_snapshot_is_taken_once_much_has_changed() {
        let dir = tempfile::tempdir().unwrap();
        let collections = open(dir.path());
        let collection = collections.list().remove(0);
        let sequences = async || -> Vec<u64> {
            let snapshots = collection.snapshots().await.unwrap();
            snapshots.iter().map(|snapshot| snapshot.sequence).collect()
        };
        add(&collection, "a").await;
        add(&collection, "b").await;
        assert!(!collection.is_snapshot_due(3) && collection.is_snapshot_due(2));
        let taken = async {
            while sequences().await.is_empty() {
                tokio::time::sleep(DUE_EVERY).await;
            }
        };
        tokio::select! {
            never = take_due(&collections, 2) => match never {},
            () = taken => {}
        }
        assert_eq!(sequences().await, [2]);
        assert!(!collection.is_snapshot_due(1));
        add(&collection, "c").await;
        assert!(collection.is_snapshot_due(1));
    }
}
