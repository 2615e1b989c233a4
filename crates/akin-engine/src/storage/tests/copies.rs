//! Copies of an open store, and verification of all its rows.

use std::fs;
use std::io::Write as _;

use super::*;

/// Puts a copy of the store in a directory of its own.
fn copied(store: &Store) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let mut copy = store.copy(&CopyStop::default()).unwrap();
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut copy, &mut bytes).unwrap();
    fs::File::create(dir.path().join("store.sqlite")).unwrap().write_all(&bytes).unwrap();
    dir
}

#[tokio::test]
async fn copy_equals_the_store_and_is_unlinked() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 20).await;
    write(&store, remove(3)).await;
    let dir = copied(&store);
    write(&store, put(&record(30))).await;
    assert!(!home.path().join("copy.sqlite").exists());
    assert_eq!(verified(dir.path()).unwrap(), 19);
    let copy = open(dir.path(), &home.settings, IDENTITY, shingler()).unwrap();
    assert_eq!(fetch(&copy, 7).await.unwrap(), Some(record(7)));
    assert_eq!(fetch(&copy, 30).await.unwrap(), None);
    assert_eq!(copy.next_ordinal().unwrap(), 20);
}

#[tokio::test]
async fn verify_finds_damaged_rows() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 5).await;
    for damage in [
        "UPDATE documents SET content = x'00' WHERE ordinal = 4",
        "UPDATE documents SET metadata = '{}' WHERE ordinal = 4",
        "DELETE FROM documents WHERE ordinal = 4",
        "UPDATE log SET operations = x'0109000000' WHERE sequence = 2",
        "DELETE FROM log WHERE sequence = 2",
        "UPDATE log SET next_ordinal = 4 WHERE sequence = (SELECT max(sequence) FROM log)",
    ] {
        let dir = copied(&store);
        let raw = Connection::open(dir.path().join("store.sqlite")).unwrap();
        raw.execute_batch(damage).unwrap();
        drop(raw);
        assert!(verified(dir.path()).is_err(), "{damage}");
    }
}

#[tokio::test]
async fn cancelled_copy_leaves_no_file() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 1).await;
    let stop = CopyStop::default();
    stop.stop();
    assert!(store.copy(&stop).is_err());
    fs::write(home.path().join("copy.sqlite"), "what a crash left").unwrap();
    drop(store);
    home.open();
    assert!(!home.path().join("copy.sqlite").exists());
}

#[tokio::test]
async fn copy_of_a_damaged_row_fails_by_name() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 5).await;
    let raw = home.raw();
    for damage in [
        "UPDATE documents SET content = x'00' WHERE ordinal = 4",
        "UPDATE documents SET metadata = '{}' WHERE ordinal = 4",
        "UPDATE documents SET fingerprint = 1 WHERE ordinal = 4",
    ] {
        raw.execute_batch("CREATE TEMP TABLE sound AS SELECT * FROM documents").unwrap();
        raw.execute_batch(damage).unwrap();
        let error = store.copy(&CopyStop::default()).unwrap_err().to_string();
        assert!(error.contains("'https://example.org/4'"), "{error}");
        assert!(error.contains("remove it and add it again"), "{error}");
        assert!(!home.path().join("copy.sqlite").exists());
        raw.execute_batch(
            "DELETE FROM documents; INSERT INTO documents SELECT * FROM sound; DROP TABLE sound",
        )
        .unwrap();
    }
    write(&store, remove(4)).await;
    assert_eq!(verified(copied(&store).path()).unwrap(), 4);
}
