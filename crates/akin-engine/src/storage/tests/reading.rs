//! Reads return the written records.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use futures_util::FutureExt;

use super::*;

#[tokio::test]
async fn every_kind_of_content_survives() {
    let home = Home::new();
    let store = home.open();
    let contents = [
        Content::Text("Ünï cödé 漢字 ".repeat(500)),
        Content::Text("x".to_owned()),
        tokens(&[("ab", 1), ("c", 7), ("", u32::MAX)]),
    ];
    let mut written = Vec::new();
    let records = (0..).zip(contents).map(|(ordinal, content)| record_of(ordinal, content));
    for record in records.chain([without_content(record(3))]) {
        write(&store, put(&record)).await;
        written.push(Some(record));
    }
    let without_metadata = Record { metadata: None, ..record(4) };
    write(&store, put(&without_metadata)).await;
    written.push(Some(without_metadata));

    let ordinals = (0..5).map(Ordinal::from).collect::<Vec<_>>();
    assert_eq!(store.fetch(ordinals.clone(), Detail::All).await.unwrap(), written);
    drop(store);
    assert_eq!(home.open().fetch(ordinals, Detail::All).await.unwrap(), written);
}

#[tokio::test]
async fn fetch_keeps_the_requested_order_and_detail() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 3).await;
    let asked = [2, 9, 0, 2].map(Ordinal::from).to_vec();
    let got = store.fetch(asked, Detail::Set).await.unwrap();
    let expected = |ordinal| Some(without_content(record(ordinal)));
    assert_eq!(got, [expected(2), None, expected(0), expected(2)]);
}

#[tokio::test]
async fn sets_are_stored_only_without_a_content() {
    let home = Home::new();
    let store = home.open();
    write(&store, put(&record(0))).await;
    write(&store, put(&without_content(record(1)))).await;
    let query = "SELECT length(elements) FROM documents ORDER BY ordinal";
    let raw = home.raw();
    let mut statement = raw.prepare(query).unwrap();
    let lengths = statement.query_map([], |row| row.get::<_, u32>(0)).unwrap();
    let lengths: Vec<u32> = lengths.map(Result::unwrap).collect();
    assert_eq!(lengths[0], 0);
    assert!(lengths[1] > 30 * 7, "{lengths:?}");
    let sets = store.fetch(vec![Ordinal::from(0), Ordinal::from(1)], Detail::Set).await.unwrap();
    let sets: Vec<_> = sets.into_iter().map(|record| record.unwrap().set).collect();
    assert_eq!(sets, [record(0).set, record(1).set]);
    let without_sets = store.fetch(vec![Ordinal::from(0)], Detail::Content).await.unwrap();
    assert_eq!(without_sets, [Some(Record { set: None, ..record(0) })]);
}

#[tokio::test]
async fn content_with_another_set_is_an_error() {
    let home = Home::new();
    write(&home.open(), put(&record(1))).await;
    let longer = ShingleSettings { size: 4, ..ShingleSettings::default() };
    let other = Shingler::new(longer, 0, usize::MAX);
    let store = open(home.path(), &home.settings, IDENTITY, other).unwrap();
    let error = store.fetch(vec![Ordinal::from(1)], Detail::Set).await.unwrap_err();
    assert!(error.to_string().contains("document 'https://example.org/1'"), "{error}");
    assert!(error.to_string().contains("another set than the stored set"), "{error}");
    assert_eq!(store.fetch(vec![Ordinal::from(1)], Detail::Content).await.unwrap().len(), 1);
}

#[tokio::test]
async fn an_export_is_in_the_order_asked() {
    let home = Home::new();
    let store = home.open();
    let texts = ["é", "b", "B", "a", "aa", "z"];
    let id = |text: &str| DocumentId::new(text).unwrap();
    for (ordinal, text) in (0..).zip(texts) {
        write(&store, put(&Record { id: id(text), ..record(ordinal) })).await;
    }
    assert_eq!(exported_ids(&store, Order::Stored, NOW_MS).await, texts.map(id));
    let by_bytes = ["B", "a", "aa", "b", "z", "é"];
    assert_eq!(exported_ids(&store, Order::Id, NOW_MS).await, by_bytes.map(id));
}

#[tokio::test]
async fn an_export_is_one_view_while_writes_go_on() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 100).await;
    let mut export = store.export(Detail::All, Order::Stored, NOW_MS).await;
    let first = export.recv().await.unwrap().unwrap();
    for ordinal in 0..100 {
        let replacement = Record { id: record(ordinal).id, ..record(100 + ordinal) };
        let replaces = Some(Ordinal::from(ordinal));
        write(&store, Write::Put { record: encoded(&replacement), replaces }).await;
    }
    let mut exported = vec![first];
    while let Some(record) = export.recv().await {
        exported.push(record.unwrap());
    }
    assert_eq!(exported, (0..100).map(record).collect::<Vec<_>>());
}

#[tokio::test]
async fn an_export_leaves_contents_out_if_asked() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 3).await;
    let mut export = store.export(Detail::Set, Order::Stored, NOW_MS).await;
    for ordinal in 0..3 {
        let expected = without_content(record(ordinal));
        assert_eq!(export.recv().await.unwrap().unwrap(), expected);
    }
    assert!(export.recv().await.is_none());
}

#[tokio::test]
async fn further_reads_wait_for_a_reader() {
    let home = Home::new();
    let store = home.open();
    let readers_max = StorageSettings::default().readers;
    let (release, released) = std::sync::mpsc::channel::<()>();
    let released = Arc::new(std::sync::Mutex::new(released));
    let running = Arc::new(AtomicU32::new(0));
    let read = || {
        let (released, running) = (Arc::clone(&released), Arc::clone(&running));
        store.readers.read(move |_| {
            running.fetch_add(1, Ordering::SeqCst);
            released.lock().unwrap().recv().unwrap();
            Ok(())
        })
    };
    let mut reads: Vec<_> = (0..=readers_max).map(|_| read().boxed()).collect();
    for read in &mut reads {
        assert!(read.now_or_never().is_none());
    }
    while running.load(Ordering::SeqCst) < readers_max {
        tokio::task::yield_now().await;
    }
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(running.load(Ordering::SeqCst), readers_max);
    for _ in 0..=readers_max {
        release.send(()).unwrap();
    }
    for read in reads {
        read.await.unwrap();
    }
    assert_eq!(running.load(Ordering::SeqCst), readers_max + 1);
}

#[tokio::test]
async fn further_exports_wait() {
    let home = Home::new();
    let store = home.open();
    // More records than an export reads ahead of its receiver.
    fill(&store, 200).await;
    let mut exports = Vec::new();
    for _ in 0..4 {
        exports.push(store.export(Detail::Content, Order::Stored, NOW_MS).await);
    }
    let mut further = store.export(Detail::Content, Order::Stored, NOW_MS).boxed();
    for _ in 0..100 {
        tokio::task::yield_now().await;
        assert!((&mut further).now_or_never().is_none(), "four are open");
    }
    exports.pop();
    further.await;
}

#[tokio::test]
async fn one_read_sees_one_state_of_the_database() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 1).await;
    let raw = home.raw();
    let counts = store.readers.read_here(|connection| {
        let query = "SELECT count(*) FROM documents";
        let count = || connection.query_row(query, [], |row| row.get::<_, u32>(0)).unwrap();
        let before = count();
        raw.execute_batch("DELETE FROM documents").unwrap();
        Ok((before, count()))
    });
    assert_eq!(counts.unwrap(), (1, 1));
}

#[tokio::test]
async fn an_export_nobody_receives_ends() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 100).await;
    // More than may run concurrently: the last reads begin only when the first reads end.
    for _ in 0..9 {
        let mut export = store.export(Detail::All, Order::Stored, NOW_MS).await;
        assert_eq!(export.recv().await.unwrap().unwrap(), record(0));
    }
}

#[tokio::test]
async fn sizes_follow_what_is_stored() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 3).await;
    write(&store, remove(1)).await;
    assert_eq!(store.documents().unwrap(), 2);
    let (_, wal_bytes) = store.sizes().await.unwrap();
    assert!(wal_bytes > 0);
    store.close().unwrap();
    let store = home.open();
    assert_eq!(store.documents().unwrap(), 2);
    let (database_bytes, _) = store.sizes().await.unwrap();
    assert_eq!(database_bytes % 4096, 0);
    assert!(database_bytes > 4096);
}

#[test]
fn the_page_cache_is_shared_out_among_the_connections() {
    let mut home = Home::new();
    (home.settings.page_cache_bytes, home.settings.readers) = (12 << 20, 2);
    let store = home.open();
    let read = store.readers.read_here(|connection| {
        Ok(connection.query_row("PRAGMA cache_size", [], |row| row.get::<_, i64>(0))?)
    });
    assert_eq!(read.unwrap(), -(4 << 10), "in KiB: two readers and the writer");
}
