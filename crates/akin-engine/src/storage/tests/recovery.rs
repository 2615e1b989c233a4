//! Reads for the start.

use std::collections::HashSet;

use super::*;
use crate::storage::counters::Counters;
use crate::storage::log::{Logged, Operation};

fn ordinals(list: &[u32]) -> Vec<Ordinal> {
    list.iter().copied().map(Ordinal::from).collect()
}

#[tokio::test]
async fn replacement_logs_a_removal_and_an_insertion() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 3).await;
    let replacement = Record { id: record(1).id, ..record(3) };
    let replaces = Some(Ordinal::from(1));
    write(&store, Write::Put { record: encoded(&replacement), replaces }).await;
    assert_eq!(fetch(&store, 1).await.unwrap(), None);
    assert_eq!(fetch(&store, 3).await.unwrap(), Some(replacement));

    let tail = store.tail(3).unwrap();
    assert_eq!((tail.last_sequence, tail.dead), (5, HashSet::from([Ordinal::from(1)])));
    assert_eq!(tail.born, ordinals(&[3]));
    assert_eq!(store.tail(0).unwrap().born, ordinals(&[0, 2, 3]));
}

#[tokio::test]
async fn tail_has_removed_and_inserted_ordinals() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 4).await;
    for ordinal in [7, 5, 6] {
        write(&store, put(&record(ordinal))).await;
    }
    write(&store, remove(6)).await;
    write(&store, remove(2)).await;
    let tail = store.tail(4).unwrap();
    assert_eq!(tail.last_sequence, 9);
    assert_eq!(tail.dead, HashSet::from([Ordinal::from(6), Ordinal::from(2)]));
    assert_eq!(tail.born, ordinals(&[5, 7]));
    assert_eq!(store.tail(0).unwrap().born, ordinals(&[0, 1, 3, 5, 7]));
    assert_eq!(store.tail(9).unwrap(), Tail { last_sequence: 9, ..Tail::default() });
}

#[tokio::test]
async fn ordinals_and_sequences_are_never_given_again() {
    let home = Home::new();
    let store = home.open();
    assert_eq!((store.next_ordinal().unwrap(), store.applied_sequence()), (0, 0));
    fill(&store, 3).await;
    write(&store, remove(2)).await;
    assert_eq!(store.trim_log(u64::MAX).await.unwrap(), 3, "the last row stays");
    drop(store);
    let store = home.open();
    assert_eq!((store.next_ordinal().unwrap(), store.applied_sequence()), (3, 4));
    write(&store, put(&record(3))).await;
    assert_eq!(store.tail(4).unwrap().born, ordinals(&[3]));
}

#[tokio::test]
async fn trimmed_log_is_an_error() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 5).await;
    assert_eq!(store.trim_log(2).await.unwrap(), 2);
    assert_eq!(store.trim_log(2).await.unwrap(), 0);
    assert_eq!(store.tail(2).unwrap().born, ordinals(&[2, 3, 4]));
    let error = store.tail(1).unwrap_err();
    assert!(matches!(error, StorageError::TrimmedTail { after: 1, kept_after: 2 }), "{error}");
    // The last row has the counters.
    store.trim_log(5).await.unwrap();
    assert_eq!(store.tail(5).unwrap().born, []);
    assert_eq!(store.tail(4).unwrap().born, ordinals(&[4]));
    assert!(matches!(store.tail(3), Err(StorageError::TrimmedTail { .. })));
}

#[tokio::test]
async fn long_log_is_trimmed_in_steps() {
    let home = Home::new();
    drop(home.open());
    let raw = home.raw();
    let mut counters = Counters::default();
    for transaction in [1, 4_000, 4_096 * 3, 90, 6] {
        log_puts(&raw, &mut counters, transaction);
    }
    let last = counters.last_sequence;
    let store = home.open();
    let read = |connection: &Connection| log::kept_after(connection, last);
    let kept = || last - store.readers.read_here(read).unwrap();
    assert_eq!(kept(), last);
    assert_eq!(store.tail(5_000).unwrap().born.len() as u64, last - 5_000);
    // Operations in the same row as later operations are kept.
    assert_eq!(store.trim_log(last - 40).await.unwrap(), last - 96);
    assert_eq!(kept(), 96);
    let kept_after = last - 96;
    let error = store.tail(kept_after - 1).unwrap_err();
    assert!(matches!(error, StorageError::TrimmedTail { .. }), "{error}");
    assert_eq!(store.tail(last - 40).unwrap().born.len(), 40);
    assert_eq!(store.trim_log(last - 6).await.unwrap(), 90);
    assert_eq!(store.trim_log(last).await.unwrap(), 0, "the last row stays");
}

/// Logs a transaction with a number of operations, as the committer does.
fn log_puts(raw: &Connection, counters: &mut Counters, operations: u32) {
    let mut logged = Logged::default();
    for _ in 0..operations {
        let ordinal = Ordinal::try_from(counters.next_ordinal).unwrap();
        counters.next_ordinal += 1;
        logged.append(counters, Operation::Put, ordinal);
    }
    logged.write(raw, counters).unwrap();
}

#[tokio::test]
async fn log_has_ordinals_beyond_32_bits() {
    let home = Home::new();
    drop(home.open());
    let raw = home.raw();
    let first = u64::from(u32::MAX) - 49;
    let mut counters = Counters { next_ordinal: first, ..Counters::default() };
    for operations in [20, 60, 20] {
        log_puts(&raw, &mut counters, operations);
    }
    let store = home.open();
    for after in [0, 19, 20, 49, 50, 51, 79, 99] {
        let born: Vec<u64> =
            store.tail(after).unwrap().born.iter().map(|ordinal| ordinal.get()).collect();
        assert_eq!(born, (first + after..first + 100).collect::<Vec<_>>(), "after {after}");
    }
    assert_eq!(store.next_ordinal().unwrap(), first + 100);
}

#[tokio::test]
async fn pieces_have_all_documents_and_none_is_empty() {
    let home = Home::new();
    let store = home.open();
    for ordinal in [0, 1, 9, 10, 4_000_000_000] {
        write(&store, put(&record(ordinal))).await;
    }
    let pieces = |ordinals| store.pieces(ordinals, 10).unwrap();
    assert_eq!(pieces(0..1 << 40), [0..10, 10..20, 4_000_000_000..4_000_000_010]);
    assert_eq!(pieces(1..10), vec![1..10]);
    assert_eq!(pieces(11..4_000_000_000), []);
}

#[tokio::test]
async fn a_store_behind_its_snapshot_is_refused() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 2).await;
    let error = store.tail(3).unwrap_err();
    assert!(matches!(error, StorageError::LostTail { store: 2, snapshot: 3 }), "{error}");
}

#[tokio::test]
async fn scan_reads_sketches_without_contents() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 5).await;
    write(&store, remove(3)).await;
    write(&store, put(&Record { metadata: None, ..record(5) })).await;
    let mut seen = vec![];
    let mut see = |row: SketchRow<'_>| {
        seen.push(check(&row));
        Ok(())
    };
    store.scan(1..5, &mut see).unwrap();
    store.scan(5..9, &mut see).unwrap();
    assert_eq!(seen, [1, 2, 4, 5]);
}

fn check(row: &SketchRow<'_>) -> u32 {
    let record = record(row.ordinal.get() as u32);
    assert_eq!((row.id, row.fingerprint), (record.id.as_str(), record.fingerprint));
    assert_eq!((row.shingles, row.sketch), (record.shingles, record.sketch.as_bytes()));
    assert_eq!(row.has_metadata(), row.ordinal.get() != 5);
    row.ordinal.get() as u32
}
