//! After a failed write no more writes are acknowledged, and acknowledged ones are kept.

use super::*;
use crate::storage::store::Files;

/// A store whose database is limited to a number of pages, which simulates a full disk.
fn open_with_pages(home: &Home, pages: u32) -> Store {
    let files = Files::of(home.path());
    let connection = schema::open_writer(&files.database, &home.settings, IDENTITY).unwrap();
    connection.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(())).unwrap();
    start(home, files, connection)
}

fn start(home: &Home, files: Files, connection: Connection) -> Store {
    let lock = directory::lock(home.path()).unwrap();
    let snapshots = Snapshots::open(home.path().join("snapshots"), 2).unwrap();
    Store::start(lock, files, connection, snapshots, &home.settings, shingler()).unwrap()
}

async fn is_poisoned(store: &Store) -> bool {
    let write = store.write(put(&record(999)), |_| panic!("it must not be applied")).await;
    matches!(write, Err(StorageError::Poisoned { .. })) && store.poisoned().borrow().is_some()
}

#[tokio::test]
async fn a_full_disk_stops_writes_and_loses_none_that_was_acknowledged() {
    let home = Home::new();
    let store = open_with_pages(&home, 40);
    let mut acknowledged = 0;
    let error = loop {
        match store.write(put(&record(acknowledged)), |_| ()).await {
            Ok(()) => acknowledged += 1,
            Err(error) => break error,
        }
    };
    assert!(acknowledged > 10);
    assert!(error.to_string().contains("full"), "{error}");
    assert!(is_poisoned(&store).await);
    assert_eq!(fetch(&store, 0).await.unwrap(), Some(record(0)), "reads go on");
    assert!(matches!(store.close(), Err(StorageError::Poisoned { .. })));

    let store = home.open();
    let mut export = store.export(Detail::All, Order::Stored, NOW_MS).await;
    for ordinal in 0..acknowledged {
        assert_eq!(export.recv().await.unwrap().unwrap(), record(ordinal));
    }
    assert!(export.recv().await.is_none());
    assert_eq!(store.last_sequence().unwrap(), u64::from(acknowledged));
    write(&store, put(&record(acknowledged))).await;
}

#[tokio::test]
async fn one_bad_write_takes_its_group_with_it() {
    let home = Home::new();
    let store = home.open();
    let (held, applied) = Held::new();
    let first = queue(store.write(put(&record(0)), applied));
    held.wait();
    let never = |_| panic!("it must not be applied");
    let good = queue(store.write(put(&record(1)), never));
    let bad = queue(store.write(remove(7), never));
    let after = queue(store.write(put(&record(2)), never));
    held.release();
    first.await.unwrap();
    for outcome in [good.await, bad.await, after.await] {
        assert!(matches!(outcome, Err(StorageError::Poisoned { .. })), "{outcome:?}");
    }
    drop(store);
    assert_eq!(home.open().sizes().await.unwrap().documents, 1);
}

#[tokio::test]
async fn a_panic_while_applying_poisons() {
    let home = Home::new();
    let store = home.open();
    let outcome = store.write(put(&record(0)), |_| panic!("as the test wants it")).await;
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

#[tokio::test]
async fn a_sync_is_made_also_when_no_more_is_written_and_its_failure_poisons() {
    let mut home = Home::new();
    home.settings.sync = Sync::Interval;
    home.settings.sync_interval_ms = 1;
    let mut files = Files::of(home.path());
    let connection = schema::open_writer(&files.database, &home.settings, IDENTITY).unwrap();
    files.wal = home.path().join("nothing");
    let store = start(&home, files, connection);
    let _ = store.write(put(&record(0)), |_| ()).await;
    let mut poisoned = store.poisoned();
    let reason = poisoned.wait_for(Option::is_some).await.unwrap().clone().unwrap();
    assert!(reason.contains("nothing"), "{reason}");
}

#[tokio::test]
async fn a_sync_that_is_asked_for_does_not_wait_for_its_time() {
    let mut home = Home::new();
    home.settings.sync = Sync::Interval;
    home.settings.sync_interval_ms = 3_600_000;
    let store = home.open();
    write(&store, put(&record(0))).await;
    store.sync().await.unwrap();
    drop(store);

    let mut files = Files::of(home.path());
    let connection = schema::open_writer(&files.database, &home.settings, IDENTITY).unwrap();
    files.wal = home.path().join("nothing");
    let store = start(&home, files, connection);
    write(&store, put(&record(1))).await;
    let error = store.sync().await.unwrap_err();
    assert!(error.to_string().contains("nothing"), "{error}");
}
