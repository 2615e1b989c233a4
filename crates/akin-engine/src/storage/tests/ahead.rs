//! A large group is applied while the next is written: order, effect and failure.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::*;

/// A document with a set that alone makes its group large: it keeps no content.
fn large(ordinal: u32) -> Record {
    let elements = (1..=60_000_u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let set = ShingleSet::from_shingles(elements.collect()).unwrap();
    let (shingles, fingerprint) = (60_000, set.fingerprint());
    Record { set: Some(set), shingles, fingerprint, ..without_content(record(ordinal)) }
}

/// Returns once the database has this many documents.
fn wait_for_documents(home: &Home, count: u32) {
    let raw = home.raw();
    let stored = || raw.query_row("SELECT count(*) FROM documents", [], |row| row.get::<_, u32>(0));
    let begun = Instant::now();
    while stored().unwrap() < count {
        assert!(begun.elapsed() < Duration::from_secs(60), "it is not written meanwhile");
        std::thread::yield_now();
    }
}

#[tokio::test]
async fn next_group_is_written_during_a_sync() {
    let home = Home::new();
    let store = home.open();
    let (held, hold) = Held::new();
    let applied = Arc::new(Mutex::new(vec![]));
    let note = |applied: &Arc<Mutex<Vec<u64>>>| {
        let applied = Arc::clone(applied);
        move |sequence| applied.lock().unwrap().push(sequence)
    };
    let note_first = note(&applied);
    let first = queue(store.write_all(vec![put(&large(0))], move |sequence| {
        hold(sequence);
        note_first(sequence);
    }));
    held.wait();
    let mut second = queue(store.write_all(vec![put(&record(1))], note(&applied)));
    wait_for_documents(&home, 2);
    let waiting = second.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(waiting.is_pending() && applied.lock().unwrap().is_empty());
    assert_eq!(store.applied_sequence(), 0);
    held.release();
    first.await.unwrap();
    second.await.unwrap();
    assert_eq!(*applied.lock().unwrap(), [1, 2]);
    assert_eq!(store.applied_sequence(), 2);
}

#[tokio::test]
async fn failed_sync_applies_no_later_write() {
    let home = Home::new();
    let store = home.open();
    let (held, hold) = Held::new();
    let first = queue(store.write_all(vec![put(&large(0))], |sequence| {
        hold(sequence);
        panic!("as the test wants it");
    }));
    held.wait();
    let never = |_| panic!("it must not be applied");
    let second = queue(store.write_all(vec![put(&record(1))], never));
    wait_for_documents(&home, 2);
    let third = queue(store.write_all(vec![put(&record(2))], never));
    held.release();
    for outcome in [first.await, second.await, third.await] {
        assert!(matches!(outcome, Err(StorageError::Poisoned { .. })), "{outcome:?}");
    }
    assert_eq!(store.applied_sequence(), 0);
    assert!(matches!(store.close(), Err(StorageError::Poisoned { .. })));
    drop(store);
    assert_eq!(home.open().documents().unwrap(), 2, "the third was never written");
}

#[tokio::test]
async fn nothing_is_answered_that_is_not_synced() {
    for document in [record(0), large(0)] {
        let home = Home::new();
        let store = home.open();
        std::fs::remove_file(home.path().join("store.sqlite-wal")).unwrap();
        let never = |_| panic!("it must not be applied");
        let first = store.write_all(vec![put(&document)], never);
        let second = store.write_all(vec![put(&record(1))], never);
        let (first, second) = tokio::join!(first, second);
        for outcome in [first, second] {
            let error = outcome.unwrap_err().to_string();
            assert!(error.contains("store.sqlite-wal was removed"), "{error}");
        }
    }
}
