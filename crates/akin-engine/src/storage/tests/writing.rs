//! Group commit: order, effect and acknowledgement of writes.

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use super::*;

#[tokio::test]
async fn queued_writes_commit_together_and_apply_in_order() {
    let home = Home::new();
    let store = home.open();
    let (held, applied) = Held::new();
    let mut writes = vec![];
    let first = queue(store.write_all(vec![put(&record(0))], applied));
    held.wait();
    let seen = Arc::new(Mutex::new(vec![]));
    for ordinal in 1..=16 {
        let (seen, database) = (Arc::clone(&seen), home.path().join("store.sqlite"));
        writes.push(queue(store.write_all(vec![put(&record(ordinal))], move |sequence| {
            let raw = Connection::open(database).unwrap();
            let query = "SELECT count(*) FROM documents";
            let stored: u32 = raw.query_row(query, [], |row| row.get(0)).unwrap();
            seen.lock().unwrap().push((sequence, stored));
        })));
    }
    held.release();
    first.await.unwrap();
    for write in writes {
        write.await.unwrap();
    }
    // Every one of the 16 is in the database before the first of them is applied.
    let expected = (2..=17).map(|sequence| (sequence, 17)).collect::<Vec<_>>();
    assert_eq!(*seen.lock().unwrap(), expected);
    assert_eq!(store.applied_sequence(), 17);
}

#[tokio::test]
async fn groups_stay_within_their_limits() {
    let mut home = Home::new();
    home.settings.group_writes_max = 3;
    let by_writes = group_sizes(&home, 7).await;
    assert_eq!(by_writes, [3, 3, 1]);

    let mut home = Home::new();
    home.settings.group_bytes_max = encoded(&record(1)).bytes() * 3 / 2;
    assert_eq!(group_sizes(&home, 5).await, [2, 2, 1]);
}

/// The numbers of queued writes that became visible at a time.
async fn group_sizes(home: &Home, queued: u32) -> Vec<u32> {
    let store = home.open();
    let (held, applied) = Held::new();
    let first = queue(store.write_all(vec![put(&record(0))], applied));
    held.wait();
    let visible = Arc::new(Mutex::new(vec![1]));
    let mut writes = vec![];
    for ordinal in 1..=queued {
        let (visible, raw) = (Arc::clone(&visible), home.raw());
        let change = put(&record(ordinal));
        let applied = move |_| {
            let query = "SELECT count(*) FROM documents";
            visible.lock().unwrap().push(raw.query_row(query, [], |row| row.get(0)).unwrap());
        };
        writes.push(queue(store.write_all(vec![change], applied)));
    }
    held.release();
    first.await.unwrap();
    for write in writes {
        write.await.unwrap();
    }
    let mut visible = visible.lock().unwrap().clone();
    visible.dedup();
    visible.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_writers_are_applied_in_the_order_of_sequences() {
    let home = Home::new();
    let store = Arc::new(home.open());
    let applied = Arc::new(Mutex::new(vec![]));
    let writers = (0..16).map(|writer| {
        let (store, applied) = (Arc::clone(&store), Arc::clone(&applied));
        tokio::spawn(async move {
            for number in 0..20 {
                let applied = Arc::clone(&applied);
                let change = put(&record(writer * 20 + number));
                let note = move |sequence| applied.lock().unwrap().push(sequence);
                store.write_all(vec![change], note).await.unwrap();
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    assert_eq!(*applied.lock().unwrap(), (1..=320).collect::<Vec<u64>>());
    assert_eq!(store.documents().unwrap(), 320);
}

#[tokio::test]
async fn cancelled_write_is_still_applied() {
    let home = Home::new();
    let store = home.open();
    let (held, applied) = Held::new();
    let first = queue(store.write_all(vec![put(&record(0))], applied));
    held.wait();
    let (tell, told) = channel();
    drop(queue(
        store.write_all(vec![put(&record(1))], move |sequence| tell.send(sequence).unwrap()),
    ));
    held.release();
    first.await.unwrap();
    store.close().unwrap();
    assert_eq!(told.try_recv(), Ok(2));
    assert_eq!(fetch(&home.open(), 1).await.unwrap(), Some(record(1)));
}

#[tokio::test]
async fn close_does_not_wait_for_unread_exports() {
    let home = Home::new();
    let store = Arc::new(home.open());
    let unfetched = queue(store.write_all(vec![put(&record(0))], |_| ()));
    let (closed, is_closed) = channel();
    let closing = Arc::clone(&store);
    std::thread::spawn(move || closed.send(closing.close()).unwrap());
    is_closed.recv_timeout(std::time::Duration::from_secs(60)).unwrap().unwrap();
    unfetched.await.unwrap();
}

#[tokio::test]
async fn a_full_queue_makes_writes_wait() {
    let mut home = Home::new();
    home.settings.queue_writes_max = 1;
    let store = home.open();
    let (held, applied) = Held::new();
    let first = queue(store.write_all(vec![put(&record(0))], applied));
    held.wait();
    let second = queue(store.write_all(vec![put(&record(1))], |_| ()));
    // The third never got into the queue, so dropping it withdraws it.
    drop(queue(store.write_all(vec![put(&record(2))], |_| ())));
    held.release();
    first.await.unwrap();
    second.await.unwrap();
    store.close().unwrap();
    assert_eq!(fetch(&home.open(), 2).await.unwrap(), None);
}

#[tokio::test]
async fn an_ordinal_may_be_given_after_encoding() {
    let home = Home::new();
    let store = home.open();
    let mut encoded = encoded(&record(7));
    encoded.ordinal = Ordinal::from(3);
    write(&store, Write::Put { record: encoded, replaces: None }).await;
    assert_eq!(
        fetch(&store, 3).await.unwrap(),
        Some(Record { ordinal: Ordinal::from(3), ..record(7) })
    );
}
