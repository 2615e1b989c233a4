//! A changed bit anywhere in a row is an error, never a different document.

use std::ops::ControlFlow;

use super::*;

/// The columns with bytes, and the row part of each.
const BLOBS: [(usize, &str); 2] = [(1, "sketch"), (3, "content")];

/// Changes to values, by row part.
const CHANGES: [(usize, &str); 15] = [
    (1, "id = 'https://example.org/7'"),
    (1, "shingles = shingles + 1"),
    (1, "shingles = -1"),
    (1, "fingerprint = ~fingerprint"),
    (1, "flags = flags | 1"),
    (1, "flags = flags | 256"),
    (1, "sketch_checksum = sketch_checksum + 1"),
    (1, "sketch = x''"),
    (2, "stored_at = stored_at + 1"),
    (2, "content_hash = content_hash + 1"),
    (2, "metadata = NULL"),
    (2, "metadata = '{\"n\": 2}'"),
    (2, "details_checksum = -details_checksum"),
    (3, "content = NULL"),
    (3, "content_checksum = 0"),
];

/// A store of three documents, and a connection for damaging the second.
async fn spoilable() -> (Home, Store, Connection) {
    let home = Home::new();
    let store = home.open();
    fill(&store, 3).await;
    let raw = home.raw();
    raw.execute_batch(
        "PRAGMA synchronous = OFF; CREATE TEMP TABLE sound AS SELECT * FROM documents",
    )
    .unwrap();
    (home, store, raw)
}

fn repair(raw: &Connection) {
    raw.execute_batch("DELETE FROM documents; INSERT INTO documents SELECT * FROM sound").unwrap();
}

fn is_corrupt<T>(outcome: Result<T, StorageError>) -> bool {
    match outcome {
        Ok(_) => false,
        Err(StorageError::CorruptDocument { ordinal, .. }) => {
            assert_eq!(ordinal, Ordinal::from(1));
            true
        }
        Err(error) => panic!("{error}"),
    }
}

/// Every read must detect a change in a part that it reads.
async fn assert_noticed(store: &Store, part: usize, change: &str) {
    assert!(is_corrupt(fetch(store, 1).await), "{change}");
    assert!(is_corrupt(store.fetch(vec![Ordinal::from(1)], Detail::Set).await), "{change}");
    assert!(is_corrupt(store.fetch(vec![Ordinal::from(1)], Detail::Content).await), "{change}");
    // A damaged sketch or content does not prevent reading the metadata.
    assert_eq!(is_corrupt(store.details(vec![Ordinal::from(1)]).await), part == 2, "{change}");
    assert_eq!(is_corrupt(store.scan(0..9, |_| Ok(()))), part == 1, "{change}");
    let sets = store.scan_sets(0..9, |row| row.set().map(|_| ControlFlow::Continue(())));
    assert!(is_corrupt(sets), "{change}");
    assert_eq!(fetch(store, 2).await.unwrap(), Some(record(2)), "{change}");
}

#[tokio::test]
async fn changed_values_are_detected_by_every_read() {
    let (_home, store, raw) = spoilable().await;
    for (part, change) in CHANGES {
        let update = format!("UPDATE documents SET {change} WHERE ordinal = 1");
        assert_eq!(raw.execute(&update, []).unwrap(), 1);
        assert_noticed(&store, part, change).await;
        repair(&raw);
    }
    assert_eq!(fetch(&store, 1).await.unwrap(), Some(record(1)));
}

#[tokio::test]
async fn flipped_bit_in_any_byte_is_detected() {
    let (_home, store, raw) = spoilable().await;
    for (part, column) in BLOBS {
        let query = format!("SELECT {column} FROM documents WHERE ordinal = 1");
        let update = format!("UPDATE documents SET {column} = ?1 WHERE ordinal = 1");
        let sound: Vec<u8> = raw.query_row(&query, [], |row| row.get(0)).unwrap();
        for place in 0..sound.len() {
            let mut spoiled = sound.clone();
            spoiled[place] ^= 1 << (place % 8);
            raw.execute(&update, [spoiled]).unwrap();
            assert_noticed(&store, part, column).await;
        }
        repair(&raw);
    }
}

#[tokio::test]
async fn flipped_bit_in_a_stored_set_is_detected() {
    let home = Home::new();
    let store = home.open();
    write(&store, put(&without_content(record(1)))).await;
    let raw = home.raw();
    raw.execute_batch("PRAGMA synchronous = OFF").unwrap();
    let sound: Vec<u8> =
        raw.query_row("SELECT elements FROM documents", [], |row| row.get(0)).unwrap();
    for place in 0..sound.len() {
        let mut spoiled = sound.clone();
        spoiled[place] ^= 1 << (place % 8);
        raw.execute("UPDATE documents SET elements = ?1", [spoiled]).unwrap();
        assert!(is_corrupt(store.fetch(vec![Ordinal::from(1)], Detail::Set).await), "{place}");
    }
    raw.execute_batch("UPDATE documents SET elements = x''").unwrap();
    assert!(is_corrupt(store.fetch(vec![Ordinal::from(1)], Detail::Set).await));
}

#[tokio::test]
async fn exchanged_rows_and_parts_are_detected() {
    let (_home, store, raw) = spoilable().await;
    raw.execute_batch("UPDATE documents SET ordinal = 9 WHERE ordinal = 1").unwrap();
    assert!(fetch(&store, 9).await.is_err());
    repair(&raw);
    let moved = "UPDATE documents SET (content, content_checksum) =
                 (SELECT content, content_checksum FROM documents WHERE ordinal = 2)
                 WHERE ordinal = 1";
    raw.execute_batch(moved).unwrap();
    assert_noticed(&store, 3, moved).await;
}

#[tokio::test]
async fn an_export_notices_and_goes_on() {
    let (_home, store, raw) = spoilable().await;
    raw.execute_batch("UPDATE documents SET content = x'00' WHERE ordinal = 1").unwrap();
    let mut export = store.export(Detail::All, Order::Stored, NOW_MS).await;
    assert_eq!(export.recv().await.unwrap().unwrap(), record(0));
    assert!(is_corrupt(export.recv().await.unwrap()));
    assert_eq!(export.recv().await.unwrap().unwrap(), record(2));
    assert!(export.recv().await.is_none());
}

#[tokio::test]
async fn a_changed_log_is_noticed() {
    let spoil = [
        "UPDATE log SET operations = x'0105000000' WHERE sequence = 2",
        "UPDATE log SET operations = x'0201000000' WHERE sequence = 2",
        "UPDATE log SET operations = x'0301000000' WHERE sequence = 2",
        "UPDATE log SET operations = x'01010000' WHERE sequence = 2",
        "UPDATE log SET operations = x'' WHERE sequence = 2",
        "UPDATE log SET checksum = 3 WHERE sequence = 2",
        "UPDATE log SET sequence = 9 WHERE sequence = 2",
        "UPDATE log SET documents = 7 WHERE sequence = 2",
        "UPDATE log SET next_ordinal = 9 WHERE sequence = 2",
        "DELETE FROM log WHERE sequence = 2",
        "DELETE FROM log WHERE sequence = 3",
    ];
    let (_home, store, raw) = spoilable().await;
    raw.execute_batch("CREATE TEMP TABLE sound_log AS SELECT * FROM log").unwrap();
    for change in spoil {
        raw.execute_batch(change).unwrap();
        // As a start does; a log without its last row has the counters of before.
        let read = store.tail(0).and_then(|_| store.check_seen(3));
        assert!(matches!(read, Err(StorageError::Corrupt { .. })), "{change}");
        raw.execute_batch("DELETE FROM log; INSERT INTO log SELECT * FROM sound_log").unwrap();
    }
    store.tail(0).unwrap();
}

#[tokio::test]
async fn changed_counters_are_noticed() {
    let home = Home::new();
    fill(&home.open(), 3).await;
    for column in ["documents", "next_ordinal", "checksum"] {
        let change = |by| {
            let update = format!("UPDATE log SET {column} = {column} + ({by}) WHERE sequence = 3");
            home.raw().execute_batch(&update).unwrap();
        };
        change(-1);
        assert!(matches!(home.try_open(), Err(StorageError::Corrupt { .. })), "{column}");
        change(1);
    }
    assert_eq!(home.open().next_ordinal().unwrap(), 3);
}

#[tokio::test]
async fn damaged_documents_are_named_whatever_else_is_damaged() {
    let spoil = [
        "DELETE FROM settings WHERE name = 'identity'",
        "DELETE FROM settings WHERE name = 'created_at_ms'",
        "UPDATE log SET checksum = 3 WHERE sequence = 3",
    ];
    for change in spoil {
        let (home, store, raw) = spoilable().await;
        drop(store);
        raw.execute_batch("UPDATE documents SET content = x'00' WHERE ordinal > 0").unwrap();
        raw.execute_batch(change).unwrap();
        drop(raw);
        let inspection = inspected(home.path());
        let names = |id| inspection.findings.iter().any(|finding| finding.what.contains(id));
        let all = format!("{change}: {:?}", inspection.findings);
        assert_eq!((inspection.documents, inspection.findings.len()), (3, 3), "{all}");
        assert!(names("example.org/1") && names("example.org/2"), "{all}");
    }
}
