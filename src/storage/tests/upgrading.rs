//! Stores of older formats are upgraded.

use super::*;
use crate::storage::checksum::Digest;

/// The log and the column names of format 2.
const FORMAT_2: &str = "
ALTER TABLE documents RENAME COLUMN sketch_checksum TO filing_checksum;
ALTER TABLE documents RENAME COLUMN details_checksum TO set_checksum;
DROP TABLE log;
CREATE TABLE log (
    sequence INTEGER PRIMARY KEY,
    operation INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    checksum INTEGER NOT NULL
) STRICT;
PRAGMA user_version = 2;
";

/// Insertions of consecutive ordinals, from `sequences.start` on.
fn log_births(raw: &Connection, sequences: std::ops::Range<u64>) {
    raw.execute_batch("BEGIN").unwrap();
    for (ordinal, sequence) in (0_u32..).zip(sequences) {
        let checksum = Digest::new().number(sequence).number(1).number(ordinal.into()).finish();
        let row = (sequence.cast_signed(), 1, ordinal, checksum.cast_signed());
        raw.execute("INSERT INTO log VALUES (?1, ?2, ?3, ?4)", row).unwrap();
    }
    raw.execute_batch("COMMIT").unwrap();
}

/// A store of format 2 with three documents, and a log that was trimmed up to 0.
async fn of_format_2() -> Home {
    let home = Home::new();
    fill(&home.open(), 3).await;
    let raw = home.raw();
    raw.execute_batch(FORMAT_2).unwrap();
    // The constraint of the column made this index.
    raw.execute_batch("CREATE UNIQUE INDEX by_id ON documents (id)").unwrap();
    log_births(&raw, 1..4);
    home
}

fn format(home: &Home) -> u32 {
    home.raw().pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn a_store_of_the_second_format_keeps_its_documents_and_its_log() {
    let home = of_format_2().await;
    let store = home.open();
    assert_eq!(format(&home), 4);
    write(&store, put(&record(3))).await;
    for ordinal in 0..4 {
        assert_eq!(fetch(&store, ordinal).await.unwrap(), Some(record(ordinal)));
    }
    assert_eq!(store.tail(1).unwrap().born, [1, 2, 3].map(Ordinal::from));
    assert_eq!(store.sizes().await.unwrap().log_rows, 4);
    assert_eq!(exported_ids(&store, Order::Id, NOW_MS).await.len(), 4);
    drop(store);
    assert_eq!(verify(home.path(), &home.settings, IDENTITY, shingler()).unwrap(), 4);
}

#[tokio::test]
async fn a_long_log_is_packed_whole_and_from_where_it_was_trimmed() {
    let home = of_format_2().await;
    let raw = home.raw();
    raw.execute_batch("DELETE FROM log; UPDATE counters SET last_sequence = 10007").unwrap();
    counters::Counters { documents: 3, next_ordinal: 3, last_sequence: 10_007 }
        .write(&raw)
        .unwrap();
    log_births(&raw, 8..10_008);
    let store = home.open();
    assert_eq!(store.sizes().await.unwrap().log_rows, 10_000);
    let born = store.tail(9).unwrap().born;
    assert_eq!((born.len(), born[0]), (9_998, Ordinal::from(2)));
    assert!(matches!(store.tail(6), Err(StorageError::TrimmedTail { kept_after: 7, .. })));
}

#[tokio::test]
async fn a_store_of_the_first_format_is_brought_to_this_one() {
    let home = Home::new();
    let store = home.open();
    write(&store, put(&record(2))).await;
    drop(store);
    let raw = home.raw();
    raw.execute_batch(FORMAT_2).unwrap();
    raw.execute_batch("DROP TABLE expiries; DELETE FROM log; PRAGMA user_version = 1").unwrap();
    log_births(&raw, 1..2);
    let refused = Store::open(home.path(), &home.settings, "{}", shingler()).err().unwrap();
    assert!(matches!(refused, StorageError::OtherSettings { .. }), "{refused}");
    assert_eq!(format(&home), 1, "what is refused stays as it is");

    let store = home.open();
    assert_eq!(format(&home), 4);
    write(&store, put(&record(3))).await;
    assert_eq!(fetch(&store, 2).await.unwrap(), Some(record(2)));
    assert_eq!(fetch(&store, 3).await.unwrap(), Some(record(3)));
}

#[tokio::test]
async fn a_log_that_is_not_what_was_written_is_refused_and_stays() {
    let home = of_format_2().await;
    home.raw().execute_batch("UPDATE log SET ordinal = 7 WHERE sequence = 2").unwrap();
    assert!(matches!(home.try_open(), Err(StorageError::Corrupt { .. })));
    assert_eq!(format(&home), 2);
    home.raw().execute_batch("UPDATE log SET ordinal = 1 WHERE sequence = 2").unwrap();
    home.open();
}

/// Stores that were kept as the first two formats made them.
#[tokio::test]
async fn stores_of_the_first_formats_are_read() {
    let kept: [(&str, &[u32]); 2] =
        [(include_str!("format_1.sql"), &[2]), (include_str!("format_2.sql"), &[0, 1, 2])];
    for (sql, ordinals) in kept {
        let home = Home::new();
        home.raw().execute_batch(sql).unwrap();
        let store = home.open();
        for &ordinal in ordinals {
            let expected = record(ordinal);
            let found = store.fetch(vec![expected.ordinal], Detail::Content).await.unwrap();
            let found = found.into_iter().flatten().next().unwrap();
            assert_eq!((found.id, found.content), (expected.id, expected.content));
            assert_eq!(found.metadata, expected.metadata);
        }
        assert_eq!(store.last_sequence().unwrap(), ordinals.len() as u64);
    }
}

/// Rows of format 3 store sets beside contents; they are kept, so even another shingler reads them.
#[tokio::test]
async fn a_store_of_the_third_format_keeps_its_rows_and_their_sets() {
    let home = Home::new();
    let raw = home.raw();
    raw.execute_batch(include_str!("format_3.sql")).unwrap();
    let query = "SELECT value FROM settings WHERE name = 'identity'";
    let identity: String = raw.query_row(query, [], |row| row.get(0)).unwrap();
    drop(raw);
    let longer = ShingleSettings { size: 9, ..ShingleSettings::default() };
    let other = Shingler::new(longer, 0, usize::MAX);
    let store = Store::open(home.path(), &home.settings, &identity, other.clone()).unwrap();
    assert_eq!(format(&home), 4);
    let records = store.fetch((0..4).map(Ordinal::from).collect(), Detail::All).await.unwrap();
    let records: Vec<Record> = records.into_iter().flatten().collect();
    let shingles = |record: &Record| (record.id.to_string(), record.shingles);
    let expected = [("news/1", 6), ("news/2", 11), ("bag/3", 3), ("news/4", 1)];
    let expected = expected.map(|(id, shingles)| (id.to_owned(), shingles));
    assert_eq!(records.iter().map(shingles).collect::<Vec<_>>(), expected);
    for record in &records {
        assert_eq!(record.set.as_ref().unwrap().fingerprint(), record.fingerprint);
    }
    assert_eq!(records[2].content, Some(tokens(&[("red", 1), ("green", 3), ("blue", 1)])));
    assert_eq!(records[1].expires_at_ms, Some(4_070_908_800_000));
    drop(store);
    assert_eq!(verify(home.path(), &home.settings, &identity, other).unwrap(), 4);
}
