use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::*;
use crate::backend::testing::{add, prepared};
use crate::backend::{RecoverySource, Stored};
use crate::storage::{
    SnapshotEntry, SnapshotHeader, SnapshotListing, SnapshotRecord, StorageSettings,
    set_next_ordinal,
};

pub(super) fn open(dir: &Path) -> Arc<Local> {
    let storage = StorageSettings::default();
    Arc::new(Local::open(dir, &settings(), storage, &Opening::default()).unwrap())
}

fn settings() -> CollectionSettings {
    let mut settings = CollectionSettings::default();
    settings.sketch.seed = Some(0);
    settings
}

pub(super) fn text(id: &str, version: u32) -> String {
    format!("the text of {id} in its version {version}")
}

pub(super) async fn post(
    local: &Arc<Local>,
    id: &str,
    version: u32,
) -> Result<Stored, BackendError> {
    add(Arc::clone(local) as Arc<dyn Backend>, prepared(id, &text(id, version))).await
}

/// Asserts that a lookup of each version finds the document under its id and ordinal if this
/// version is stored, and nothing otherwise.
async fn assert_stored(local: &Local, stored: &BTreeMap<&str, Option<u32>>) {
    for (id, current) in stored {
        for version in 0..4 {
            let probe = prepared(id, &text(id, version));
            let filed = local.memory.index.size_and_sketch_of(probe.analysis.fingerprint).is_some();
            assert_eq!(filed, *current == Some(version), "{id} {version}");
        }
        let record = local.record(&DocumentId::new(*id).unwrap(), Detail::All).await.unwrap();
        let found = record.and_then(|record| record.content);
        assert_eq!(found, current.map(|version| Content::Text(text(id, version))), "{id}");
    }
    let documents = stored.values().flatten().count() as u64;
    assert_eq!(local.stats().await.unwrap().size.documents, documents);
}

#[tokio::test]
async fn ordinals_beyond_32_bits_are_stored_replaced_removed() {
    let dir = tempfile::tempdir().unwrap();
    open(dir.path()).close().await.unwrap();
    set_next_ordinal(dir.path(), (1 << 32) - 3);
    let mut stored = BTreeMap::new();
    let local = open(dir.path());
    for id in ["a", "b", "c", "d", "e", "f"] {
        post(&local, id, 0).await.unwrap();
        stored.insert(id, Some(0));
    }
    let ordinal = |local: &Local, id| local.memory.catalog.ordinal(&DocumentId::new(id).unwrap());
    assert_eq!(ordinal(&local, "c"), Some(Ordinal::from(u32::MAX)));
    assert_eq!(ordinal(&local, "d").map(Ordinal::get), Some(1 << 32));
    local.snapshot().await.unwrap();
    // After the snapshot, a document on each side of the limit is replaced, and another document
    // removed.
    for (id, version) in [("a", Some(1)), ("d", Some(1)), ("b", None), ("e", None)] {
        match version {
            Some(version) => {
                assert!(matches!(
                    post(&local, id, version).await.unwrap(),
                    Stored::Replaced(Some(_))
                ));
            }
            None => assert!(local.remove(&DocumentId::new(id).unwrap()).await.unwrap()),
        }
        stored.insert(id, version);
    }
    assert_stored(&local, &stored).await;
    local.close().await.unwrap();
    drop(local);

    let local = open(dir.path());
    assert_eq!((local.recovery.source, local.recovery.replayed), (RecoverySource::Snapshot, 6));
    assert_stored(&local, &stored).await;
    post(&local, "d", 2).await.unwrap();
    post(&local, "g", 0).await.unwrap();
    stored.extend([("d", Some(2)), ("g", Some(0))]);
    local.snapshot().await.unwrap();
    local.close().await.unwrap();
    drop(local);

    // From that snapshot alone, and without any.
    let local = open(dir.path());
    assert_eq!((local.recovery.source, local.recovery.replayed), (RecoverySource::Snapshot, 0));
    assert_stored(&local, &stored).await;
    local.close().await.unwrap();
    drop(local);
    fs::remove_dir_all(dir.path().join("snapshots")).unwrap();
    let local = open(dir.path());
    assert_eq!(local.recovery.source, RecoverySource::Rebuilt);
    assert_stored(&local, &stored).await;
}

/// It has right checksums: the directory may be someone else's.
#[tokio::test]
async fn a_snapshot_of_other_sketches_is_not_read() {
    let dir = tempfile::tempdir().unwrap();
    let local = open(dir.path());
    post(&local, "a", 0).await.unwrap();
    local.close().await.unwrap();
    drop(local);
    let shingler = settings().unlimited_shingler();
    let identity = settings().identity(&Scheme::new(&settings().scheme, &settings().sketch));
    let store = Store::open(dir.path(), &StorageSettings::default(), |_| {
        Ok::<_, StorageError>((identity.clone(), shingler))
    });
    let store = store.unwrap();
    let (sequence, next_ordinal) = (store.applied_sequence(), store.next_ordinal().unwrap());
    let header =
        SnapshotHeader { identity, sequence, next_ordinal, sketch_bytes: 2, created_at_ms: 0 };
    let mut writer = store.snapshots().begin(&header).unwrap();
    let (fingerprint, ordinal) = (7, Ordinal::from(0));
    let members = &[ordinal];
    let entry = SnapshotEntry { fingerprint, shingles: 3, sketch: &[1, 2], members };
    writer.write(&SnapshotRecord::Entry(entry)).unwrap();
    let (expires_at_ms, has_metadata) = (None, false);
    let listing = SnapshotListing { ordinal, id: "a", fingerprint, expires_at_ms, has_metadata };
    writer.write(&SnapshotRecord::Listing(listing)).unwrap();
    writer.finish().unwrap();
    drop(store);
    let local = open(dir.path());
    assert_eq!(local.recovery.source, RecoverySource::Rebuilt);
    assert_stored(&local, &BTreeMap::from([("a", Some(0))])).await;
}

#[tokio::test]
async fn ordinals_are_never_reused_at_the_end() {
    let dir = tempfile::tempdir().unwrap();
    open(dir.path()).close().await.unwrap();
    set_next_ordinal(dir.path(), Ordinal::MAX.get() - 1);
    let local = open(dir.path());
    post(&local, "a", 0).await.unwrap();
    let refused = post(&local, "b", 0).await.unwrap_err();
    assert!(matches!(refused, BackendError::OrdinalsExhausted), "{refused:?}");
    assert_stored(&local, &BTreeMap::from([("a", Some(0)), ("b", None)])).await;
}

/// Of a removal that a reindex supersedes midway, the removed documents are counted.
#[tokio::test]
async fn a_superseded_removal_counts_what_it_removed() {
    const DOCUMENTS: u64 = 2_000;
    let dir = tempfile::tempdir().unwrap();
    let local = open(dir.path());
    let ids: Vec<String> = (0..DOCUMENTS).map(|n| format!("d{n}")).collect();
    for posted in futures_util::future::join_all(ids.iter().map(|id| post(&local, id, 0))).await {
        posted.unwrap();
    }
    let supersede = async {
        while local.documents().await.unwrap() == DOCUMENTS {
            tokio::task::yield_now().await;
        }
        local.pause_writes().await.unwrap().supersede();
    };
    let mut removed = Removed::default();
    let removal = local.remove_where(Box::new(|_| true), &mut removed);
    let (ended, ()) = tokio::join!(removal, supersede);
    assert!(matches!(ended, Err(BackendError::Superseded)));
    let left = local.documents().await.unwrap();
    assert!(left > 0);
    assert_eq!([removed.matched, removed.removed], [DOCUMENTS - left; 2]);
}
