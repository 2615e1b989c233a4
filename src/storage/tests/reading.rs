//! Reads return what was written.

use rusqlite::types::Value;

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
async fn documents_come_in_the_order_asked_and_without_content_if_asked() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 3).await;
    let asked = [2, 9, 0, 2].map(Ordinal::from).to_vec();
    let got = store.fetch(asked, Detail::Set).await.unwrap();
    let expected = |ordinal| Some(without_content(record(ordinal)));
    assert_eq!(got, [expected(2), None, expected(0), expected(2)]);
}

#[tokio::test]
async fn a_set_is_stored_only_where_it_does_not_follow_from_the_content() {
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
async fn a_content_that_gives_another_set_than_it_did_is_an_error() {
    let home = Home::new();
    write(&home.open(), put(&record(1))).await;
    let longer = ShingleSettings { size: 4, ..ShingleSettings::default() };
    let other = Shingler::new(longer, 0, usize::MAX);
    let store = Store::open(home.path(), &home.settings, IDENTITY, other).unwrap();
    let error = store.fetch(vec![Ordinal::from(1)], Detail::Set).await.unwrap_err();
    assert!(error.to_string().contains("document 'https://example.org/1'"), "{error}");
    assert!(error.to_string().contains("does not give the set"), "{error}");
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
        write(&store, Write::Put { record: replacement.encode(1), replaces }).await;
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
    // More than may run concurrently: the last ones begin only when the first ones end.
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
    let sizes = store.sizes().await.unwrap();
    assert_eq!((sizes.documents, sizes.log_rows), (2, 4));
    assert!(sizes.wal_bytes > 0);
    assert_eq!(store.trim_log(3).await.unwrap(), 3);
    store.close().unwrap();
    let sizes = home.open().sizes().await.unwrap();
    assert_eq!((sizes.documents, sizes.log_rows), (2, 1));
    assert_eq!(sizes.database_bytes % 4096, 0);
    assert!(sizes.database_bytes > 4096);
}

#[tokio::test]
async fn the_example_in_the_layout() {
    let home = Home::new();
    let store = home.open();
    let example = Record {
        ordinal: Ordinal::from(1),
        id: DocumentId::new("a").unwrap(),
        stored_at_ms: 1_800_000_000_000,
        expires_at_ms: None,
        content: Some(Content::Text("x y z".to_owned())),
        metadata: Some(Metadata::from_json("{}").unwrap()),
        set: None,
        shingles: 1,
        fingerprint: u64::MAX,
        content_hash: 7,
        sketch: Sketch::from_bytes([0xc0, 0xc1].into()),
        whole_document: false,
        sampled_to_one: false,
    };
    write(&store, put(&example)).await;
    let lines = layout_of(&home.raw(), "documents");
    assert!(include_str!("../mod.rs").contains(&lines), "{lines}");
}

#[tokio::test]
async fn the_example_of_the_log_in_the_layout() {
    let home = Home::new();
    let store = home.open();
    // Fifteen insertions and a removal come before.
    for ordinal in (0..16).filter(|ordinal| *ordinal != 9) {
        write(&store, put(&record(ordinal))).await;
    }
    write(&store, remove(0)).await;
    store.trim_log(16).await.unwrap();
    let replaces = Some(Ordinal::from(4));
    write(&store, Write::Put { record: record(9).encode(1), replaces }).await;
    let lines = layout_of(&home.raw(), "log");
    assert!(include_str!("../mod.rs").contains(&lines), "{lines}");
}

/// The single row of a table, in the form of the layout's examples.
fn layout_of(raw: &Connection, table: &str) -> String {
    let mut statement = raw.prepare(&format!("SELECT * FROM {table}")).unwrap();
    let names = statement.column_names().map(str::to_owned).collect::<Vec<_>>();
    let mut rows = statement.query([]).unwrap();
    let row = rows.next().unwrap().unwrap();
    let line = |(column, name): (usize, String)| {
        let value = match row.get(column).unwrap() {
            Value::Text(text) => text,
            Value::Integer(number) => number.to_string(),
            Value::Blob(bytes) => {
                let hex = |byte: &u8| format!("{byte:02x}");
                format!("x'{}'", bytes.iter().map(hex).collect::<String>())
            }
            other => panic!("{other:?}"),
        };
        format!("//! {name:<18}{value}\n")
    };
    names.into_iter().enumerate().map(line).collect()
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
