//! A write-ahead log that is missing or damaged is noticed, and so are rows that damage hides.

use std::fs;

use super::*;

const WAL: &str = "store.sqlite-wal";

/// The directory of a store with five documents as a crash leaves it: all of it in the log.
async fn crashed() -> Home {
    let running = Home::new();
    let store = running.open();
    fill(&store, 5).await;
    let home = Home::new();
    for file in ["store.sqlite", WAL, "acknowledged"] {
        fs::copy(running.path().join(file), home.path().join(file)).unwrap();
    }
    home
}

fn is_lost(home: &Home) -> bool {
    match home.try_open() {
        Ok(_) => false,
        Err(StorageError::LostWrites { acknowledged: 5, .. }) => true,
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn truncated_log_is_refused_and_left_unchanged() {
    let home = crashed().await;
    let wal = home.path().join(WAL);
    let whole = fs::read(&wal).unwrap();
    for bytes in [whole.len() - 1, whole.len() / 2] {
        fs::write(&wal, &whole[..bytes]).unwrap();
        assert!(is_lost(&home), "{bytes} of {}", whole.len());
        assert_eq!(fs::read(&wal).unwrap(), whole[..bytes]);
    }
    fs::write(&wal, &whole).unwrap();
    assert_eq!(fetch(&home.open(), 4).await.unwrap(), Some(record(4)));
}

#[tokio::test]
async fn flipped_bit_in_the_log_is_detected_or_harmless() {
    let home = crashed().await;
    let wal = home.path().join(WAL);
    let whole = fs::read(&wal).unwrap();
    let (mut lost, step) = (0, whole.len() / 40);
    for place in (0..whole.len()).step_by(step) {
        let flipped = crashed_copy(&home);
        let mut bytes = whole.clone();
        bytes[place] ^= 1 << (place % 8);
        fs::write(flipped.path().join(WAL), bytes).unwrap();
        if is_lost(&flipped) {
            lost += 1;
            continue;
        }
        for ordinal in 0..5 {
            let found = fetch(&flipped.open(), ordinal).await.unwrap();
            assert_eq!(found, Some(record(ordinal)), "{place}");
        }
    }
    assert!(lost > 30, "{lost}");
}

fn crashed_copy(home: &Home) -> Home {
    let copy = Home::new();
    for file in ["store.sqlite", "acknowledged"] {
        fs::copy(home.path().join(file), copy.path().join(file)).unwrap();
    }
    copy
}

#[tokio::test]
async fn store_without_log_opens_after_its_mark_is_removed() {
    let home = crashed().await;
    // Some of the documents are in the database itself.
    drop(home.open());
    fs::remove_file(home.path().join(WAL)).unwrap();
    let raw = home.raw();
    raw.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    drop(raw);
    let error = home.try_open().err().map(|error| error.to_string());
    if let Some(error) = error {
        assert!(error.contains("delete") && error.contains("acknowledged"), "{error}");
        fs::remove_file(home.path().join("acknowledged")).unwrap();
    }
    home.open();
}

#[tokio::test]
async fn scans_miss_hidden_rows_and_fail() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 5).await;
    home.raw().execute_batch("DELETE FROM documents WHERE ordinal = 3").unwrap();
    let is_missed = |error: StorageError| error.to_string().contains("4 rows are found of 5");
    let mut export = store.export(Detail::All, Order::Stored, NOW_MS).await;
    for _ in 0..4 {
        export.recv().await.unwrap().unwrap();
    }
    assert!(is_missed(export.recv().await.unwrap().unwrap_err()));
    assert!(is_missed(store.select(NOW_MS, |_| true).await.unwrap_err()));
    let visit = |(): &mut (), _: &SetRow<'_>| Ok(std::ops::ControlFlow::Continue(()));
    assert!(is_missed(store.visit_sets(NOW_MS, (), visit).await.unwrap_err()));
    let view = store.view(NOW_MS).await.unwrap();
    let seen = view.sketches(|_| std::ops::ControlFlow::Continue(()));
    assert!(is_missed(seen.unwrap_err()));
    assert!(is_missed(store.check_seen(4).unwrap_err()));
}
