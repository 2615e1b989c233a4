//! After a failed write no further write is acknowledged, and acknowledged writes are kept.

use std::fs;

use super::*;
use crate::storage::schema::WriterConnection;
use crate::storage::store::Files;

/// A store with a database of limited pages, which simulates a full disk.
fn open_with_pages(home: &Home, pages: u32) -> Store {
    let files = Files::of(home.path());
    let connection =
        WriterConnection::connect(&files.database).unwrap().open(&home.settings, IDENTITY).unwrap();
    connection.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(())).unwrap();
    start(home, files, connection)
}

fn start(home: &Home, files: Files, connection: Connection) -> Store {
    let lock = directory::lock(home.path()).unwrap();
    let snapshots = Snapshots::open(home.path().join("snapshots")).unwrap();
    Store::start(lock, files, connection, snapshots, &home.settings, shingler()).unwrap()
}

async fn is_poisoned(store: &Store) -> bool {
    let write =
        store.write_all(vec![put(&record(999))], |_| panic!("it must not be applied")).await;
    matches!(write, Err(StorageError::Poisoned { .. })) && store.poisoned().borrow().is_some()
}

#[tokio::test]
async fn full_disk_refuses_writes_until_there_is_room() {
    let home = Home::new();
    let store = open_with_pages(&home, 30);
    let mut acknowledged = 0;
    let error = loop {
        match store.write_all(vec![put(&record(acknowledged))], |_| ()).await {
            Ok(()) => acknowledged += 1,
            Err(error) => break error,
        }
    };
    assert!(acknowledged > 100);
    assert!(matches!(error, StorageError::DiskFull { .. }), "{error}");
    let never = |_| panic!("it must not be applied");
    let refused = store.write_all(vec![put(&record(999))], never).await;
    assert!(matches!(refused, Err(StorageError::DiskFull { .. })), "{refused:?}");
    assert_eq!(fetch(&store, 0).await.unwrap(), Some(record(0)), "reads go on");

    // Removals need no room, and make some.
    for ordinal in 1..=60 {
        write(&store, remove(ordinal)).await;
    }
    write(&store, put(&record(1_000))).await;
    store.close().unwrap();
    drop(store);

    let store = home.open();
    let expected = [0].into_iter().chain(61..acknowledged).chain([1_000]);
    let mut export = store.export(Detail::All, Order::Stored, NOW_MS).await;
    for ordinal in expected {
        assert_eq!(export.recv().await.unwrap().unwrap(), record(ordinal));
    }
    assert!(export.recv().await.is_none());
    drop(store);
    verified(home.path()).unwrap();
}

#[tokio::test]
async fn below_disk_free_min_only_removals_are_accepted() {
    let mut home = Home::new();
    fill(&home.open(), 2).await;
    home.settings.disk_free_min_bytes = 1 << 60;
    let store = home.open();
    let refused =
        store.write_all(vec![put(&record(2))], |_| panic!("it must not be applied")).await;
    let error = refused.unwrap_err().to_string();
    assert!(error.contains("disk_free_min_bytes is 1152921504606846976"), "{error}");
    write(&store, remove(1)).await;
    assert_eq!(fetch(&store, 0).await.unwrap(), Some(record(0)));
    assert!(matches!(store.check_room_for_copy(), Err(StorageError::NoRoom { .. })));
    store.close().unwrap();
    drop(store);
    home.settings.disk_free_min_bytes = 0;
    write(&home.open(), put(&record(2))).await;
}

#[tokio::test]
async fn removed_or_replaced_directory_refuses_writes() {
    let removed = |home: &Home| fs::remove_dir_all(home.path()).unwrap();
    let replaced = |home: &Home| {
        let (database, copy) = (home.path().join("store.sqlite"), home.path().join("copy"));
        fs::copy(&database, &copy).unwrap();
        fs::rename(copy, database).unwrap();
    };
    for take_away in [removed as fn(&Home), replaced] {
        let home = Home::new();
        let store = home.open();
        write(&store, put(&record(0))).await;
        take_away(&home);
        let refused =
            store.write_all(vec![put(&record(1))], |_| panic!("it must not be applied")).await;
        let error = refused.unwrap_err().to_string();
        assert!(error.contains("was removed or replaced while it was in use"), "{error}");
        assert!(is_poisoned(&store).await);
        assert_eq!(fetch(&store, 0).await.unwrap(), Some(record(0)), "reads go on");
        fs::create_dir_all(home.path()).unwrap();
    }
}

#[tokio::test]
async fn one_bad_write_takes_its_group_with_it() {
    let home = Home::new();
    let store = home.open();
    let (held, applied) = Held::new();
    let first = queue(store.write_all(vec![put(&record(0))], applied));
    held.wait();
    let never = |_| panic!("it must not be applied");
    let good = queue(store.write_all(vec![put(&record(1))], never));
    let bad = queue(store.write_all(vec![remove(7)], never));
    let after = queue(store.write_all(vec![put(&record(2))], never));
    held.release();
    first.await.unwrap();
    for outcome in [good.await, bad.await, after.await] {
        assert!(matches!(outcome, Err(StorageError::Poisoned { .. })), "{outcome:?}");
    }
    drop(store);
    assert_eq!(home.open().documents().unwrap(), 1);
}

#[tokio::test]
async fn a_panic_while_applying_poisons() {
    let home = Home::new();
    let store = home.open();
    let outcome = store.write_all(vec![put(&record(0))], |_| panic!("as the test wants it")).await;
    assert!(matches!(outcome, Err(StorageError::Poisoned { .. })), "{outcome:?}");
    assert_eq!(store.applied_sequence(), 0);
    assert!(is_poisoned(&store).await);
    drop(store);
    // It was committed, though never acknowledged.
    assert_eq!(fetch(&home.open(), 0).await.unwrap(), Some(record(0)));
}

#[tokio::test]
async fn a_missing_table_poisons() {
    let home = Home::new();
    let store = home.open();
    home.raw().execute_batch("DROP TABLE log").unwrap();
    assert!(is_poisoned(&store).await);
}

/// A store that syncs at intervals, without its write-ahead log.
fn without_log(sync_interval_ms: u64) -> (Home, Store) {
    let mut home = Home::new();
    home.settings.sync = Sync::Interval;
    home.settings.sync_interval_ms = sync_interval_ms;
    let store = home.open();
    fs::remove_file(home.path().join("store.sqlite-wal")).unwrap();
    (home, store)
}

#[tokio::test]
async fn last_sync_runs_without_writes_and_poisons_on_failure() {
    let (_home, store) = without_log(1);
    let _ = store.write_all(vec![put(&record(0))], |_| ()).await;
    let mut poisoned = store.poisoned();
    let reason = poisoned.wait_for(Option::is_some).await.unwrap().clone().unwrap();
    assert!(reason.contains("store.sqlite-wal was removed"), "{reason}");
}

#[tokio::test]
async fn requested_sync_runs_before_the_interval_ends() {
    let (_home, store) = without_log(3_600_000);
    write(&store, put(&record(1))).await;
    let error = store.sync().await.unwrap_err();
    assert!(error.to_string().contains("store.sqlite-wal was removed"), "{error}");
}
