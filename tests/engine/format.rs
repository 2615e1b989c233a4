//! Stores as released versions have left them, opened by this one.
//!
//! `first_format` has a store and a snapshot of format 1.
//! `AKIN_MAKE_FIXTURE=1 cargo test --test engine format` makes it anew, which only a change of the
//! format before its release may do: see "Formats" in docs/reliability.md.

use std::fs;
use std::path::{Path, PathBuf};

use akin::document::Metadata;
use akin::engine::{CollectionSettings, RecoverySource};
use tempfile::tempdir;

use super::{add, id, similar, text, try_open};

const FOX: &str = "the quick brown fox jumps over the lazy dog and runs back into the dark wood";
const FOXES: &str = "the quick brown fox jumps over the lazy dog and runs back into the old wood";

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/engine/first_format")
}

/// Copies the database and the snapshots.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to.join("snapshots")).unwrap();
    fs::copy(from.join("store.sqlite"), to.join("store.sqlite")).unwrap();
    for file in fs::read_dir(from.join("snapshots")).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), to.join("snapshots").join(file.file_name())).unwrap();
    }
}

/// Every table gets a row, and the log goes on behind the snapshot.
async fn make() {
    let dir = tempdir().unwrap();
    let engine = try_open(dir.path(), CollectionSettings::default()).unwrap();
    let mut fox = text("fox", FOX);
    fox.metadata = Metadata::from_json(r#"{"page": 1}"#).ok();
    fox.expires_at_ms = Some(4_102_444_800_000);
    add(&engine, fox).await;
    add(&engine, text("copy", FOX)).await;
    add(&engine, text("removed", "a text that is removed after the snapshot was taken")).await;
    engine.snapshot().await.unwrap();
    add(&engine, text("foxes", FOXES)).await;
    engine.remove(&id("removed")).await.unwrap();
    engine.close().await.unwrap();
    // The snapshot that a close takes has everything.
    let mut snapshots: Vec<_> = fs::read_dir(dir.path().join("snapshots")).unwrap().collect();
    snapshots.sort_by_key(|file| file.as_ref().unwrap().file_name());
    for newer in &snapshots[1..] {
        fs::remove_file(newer.as_ref().unwrap().path()).unwrap();
    }
    let _ = fs::remove_dir_all(fixture());
    copy(dir.path(), &fixture());
}

#[tokio::test]
async fn store_of_the_first_format_opens_and_answers() {
    if std::env::var_os("AKIN_MAKE_FIXTURE").is_some() {
        make().await;
    }
    for source in [RecoverySource::Snapshot, RecoverySource::Rebuilt] {
        let dir = tempdir().unwrap();
        copy(&fixture(), dir.path());
        if source == RecoverySource::Rebuilt {
            fs::remove_dir_all(dir.path().join("snapshots")).unwrap();
        }
        let engine = try_open(dir.path(), CollectionSettings::default()).unwrap();
        let recovery = engine.stats().await.unwrap().backend.recovery.unwrap();
        assert_eq!(recovery.source, source);
        let names = engine.list(None, 10).await.unwrap();
        assert_eq!(names, ["copy", "fox", "foxes"].map(id));
        let found = similar(&engine, "fox", 0.7).await;
        // Of 14 shingles each, 12 are shared.
        assert_eq!(found, [("copy".to_owned(), 1.0), ("foxes".to_owned(), 12.0 / 16.0)]);
        let fox = format!("{:?}", engine.get(&id("fox")).await.unwrap());
        assert!(fox.contains(FOX) && fox.contains("page"), "{fox}");
        assert!(fox.contains("4102444800000"), "it expires in the year 2100: {fox}");
        add(&engine, text("later", FOX)).await;
        assert_eq!(similar(&engine, "fox", 0.99).await.len(), 2);
    }
}
