//! The room that removed documents leave is used again, and given back to the disk.

use super::*;
use crate::storage::room::{self, DiskRoom};
use crate::storage::schema::WriterConnection;
use crate::storage::store::Files;

/// All pages of the database, and the unused of them.
fn pages(home: &Home) -> (u32, u32) {
    let raw = home.raw();
    let value = |pragma| raw.pragma_query_value(None, pragma, |row| row.get(0)).unwrap();
    (value("page_count"), value("freelist_count"))
}

async fn remove_all(store: &Store, count: u32) {
    store.write_all((0..count).map(remove).collect(), |_| ()).await.unwrap();
}

#[tokio::test]
async fn the_file_shrinks_after_removals() {
    let home = Home::new();
    let store = home.open();
    let all = (0..6_000).map(|ordinal| put(&record(ordinal))).collect();
    store.write_all(all, |_| ()).await.unwrap();
    write(&store, put(&record(6_000))).await;
    let (full, _) = pages(&home);
    remove_all(&store, 6_000).await;
    let is_large = async || {
        let (left, unused) = pages(&home);
        let file_bytes = store.sizes().await.unwrap().0;
        unused > 128 || file_bytes != u64::from(left) * 8192
    };
    while is_large().await {
        tokio::task::yield_now().await;
    }
    let (left, _) = pages(&home);
    assert!(left < full / 3, "{left} of {full} pages");
    assert_eq!(fetch(&store, 6_000).await.unwrap(), Some(record(6_000)));
    store.close().unwrap();
    drop(store);
    verified(home.path()).unwrap();
}

/// The writer's connection to a database, before any thread has it.
fn writer(home: &Home) -> (Connection, Files) {
    let files = Files::of(home.path());
    let writer = WriterConnection::connect(&files.database).unwrap();
    (writer.open(&home.settings, IDENTITY).unwrap(), files)
}

/// Fills as many pages as given, a row in each.
fn fill_pages(connection: &Connection, rows: u32) {
    let fill = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
                INSERT INTO removals SELECT i, hex(zeroblob(3500)), 0 FROM n";
    connection.execute(fill, [rows]).unwrap();
}

fn is_due(room: &DiskRoom) -> bool {
    room.give_back_at().is_some_and(|at| at <= std::time::Instant::now())
}

/// A step is small, so that a write that comes meanwhile waits for milliseconds.
#[test]
fn steps_are_small_and_leave_an_eighth() {
    let home = Home::new();
    let (connection, files) = writer(&home);
    fill_pages(&connection, 4_000);
    // The last pages have to be moved.
    connection.execute("DELETE FROM removals WHERE sequence <= 2000", []).unwrap();
    let mut room = DiskRoom::new(&files, 0);
    let (all, mut unused) = pages(&home);
    assert!(all > 4_000 && unused > 1_900, "{unused} of {all}");
    loop {
        room.give_back(&connection).unwrap();
        let (_, left) = pages(&home);
        assert!(left <= unused && unused - left <= 64, "{left} after {unused}");
        unused = left;
        if !is_due(&room) {
            break;
        }
    }
    let (left, unused) = pages(&home);
    assert!(left < 2_400 && (left / 8 - 64..=left / 8).contains(&unused), "{unused} of {left}");
    // Removing some documents leaves less unused, so it moves no pages.
    connection.execute("DELETE FROM removals WHERE sequence = 3000", []).unwrap();
    let before = pages(&home);
    room.written();
    room.give_back(&connection).unwrap();
    assert_eq!((pages(&home), room.give_back_at()), (before, None));
}

/// A long read keeps the log, which would otherwise grow by all that is given back.
#[test]
fn a_kept_log_stops_giving_back() {
    let home = Home::new();
    let (connection, files) = writer(&home);
    fill_pages(&connection, 12_000);
    connection.execute("DELETE FROM removals WHERE sequence <= 6000", []).unwrap();
    room::truncate_log(&connection).unwrap();
    let reader = home.raw();
    reader.execute_batch("BEGIN; SELECT * FROM settings").unwrap();
    let mut room = DiskRoom::new(&files, 0);
    let log = || files.wal.metadata().unwrap().len();
    room.give_back(&connection).unwrap();
    while is_due(&room) {
        room.give_back(&connection).unwrap();
    }
    let (all, unused) = pages(&home);
    assert!(unused > all / 8 && room.give_back_at().is_some(), "{unused} of {all}");
    assert!((32 << 20..40 << 20).contains(&log()), "{}", log());
    drop(reader);
    room.give_back(&connection).unwrap();
    while is_due(&room) {
        room.give_back(&connection).unwrap();
    }
    let (all, unused) = pages(&home);
    assert!(unused <= all / 8, "{unused} of {all}");
}

/// Nothing is to be given back, and yet the log does not stay as large as a long read made it.
#[test]
fn a_log_that_a_read_kept_is_truncated_after_the_read() {
    let home = Home::new();
    let (connection, files) = writer(&home);
    let reader = home.raw();
    reader.execute_batch("BEGIN; SELECT * FROM settings").unwrap();
    fill_pages(&connection, 6_000);
    let log = || files.wal.metadata().unwrap().len();
    let mut room = DiskRoom::new(&files, 0);
    room.give_back(&connection).unwrap();
    assert!(log() > 32 << 20 && room.give_back_at().is_some() && !is_due(&room), "{}", log());
    drop(reader);
    room.give_back(&connection).unwrap();
    assert_eq!((log(), room.give_back_at()), (0, None));
}
