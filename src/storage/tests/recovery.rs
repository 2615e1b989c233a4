//! What a start finds out.

use std::collections::HashSet;

use super::*;
use crate::storage::counters::Counters;

fn ordinals(list: &[u32]) -> Vec<Ordinal> {
    list.iter().copied().map(Ordinal).collect()
}

#[tokio::test]
async fn a_replacement_is_the_death_of_one_and_the_birth_of_another() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 3).await;
    let replacement = Record { id: record(1).id, ..record(3) };
    let replaces = Some(Ordinal(1));
    write(&store, Write::Put { record: replacement.encode(1), replaces }).await;
    assert_eq!(fetch(&store, 1).await.unwrap(), None);
    assert_eq!(store.fetch_by_id(record(1).id).await.unwrap(), Some(replacement));

    let raw = home.raw();
    let mut statement = raw.prepare("SELECT sequence, operation, ordinal FROM log").unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
    let rows = rows.unwrap().collect::<Result<Vec<(u32, u32, u32)>, _>>().unwrap();
    assert_eq!(rows, [(1, 1, 0), (2, 1, 1), (3, 1, 2), (4, 2, 1), (5, 1, 3)]);
}

#[tokio::test]
async fn the_tail_says_who_died_and_who_was_born_since() {
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
    assert_eq!(tail.dead, HashSet::from([Ordinal(6), Ordinal(2)]));
    assert_eq!(tail.born, ordinals(&[5, 7]));
    assert_eq!(store.tail(0).unwrap().born, ordinals(&[0, 1, 3, 5, 7]));
    assert_eq!(store.tail(9).unwrap(), Tail { last_sequence: 9, ..Tail::default() });
}

#[tokio::test]
async fn ordinals_and_sequences_are_never_given_again() {
    let home = Home::new();
    let store = home.open();
    assert_eq!((store.next_ordinal().unwrap(), store.last_sequence().unwrap()), (0, 0));
    fill(&store, 3).await;
    write(&store, remove(2)).await;
    assert_eq!(store.trim_log(u64::MAX).await.unwrap(), 4);
    drop(store);
    let store = home.open();
    assert_eq!((store.next_ordinal().unwrap(), store.last_sequence().unwrap()), (3, 4));
    assert_eq!(store.applied_sequence(), 4);
    write(&store, put(&record(3))).await;
    assert_eq!(store.tail(4).unwrap().born, ordinals(&[3]));
}

#[tokio::test]
async fn a_trimmed_log_does_not_pass_for_a_quiet_one() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 5).await;
    assert_eq!(store.trim_log(2).await.unwrap(), 2);
    assert_eq!(store.trim_log(2).await.unwrap(), 0);
    assert_eq!(store.tail(2).unwrap().born, ordinals(&[2, 3, 4]));
    let error = store.tail(1).unwrap_err();
    assert!(matches!(error, StorageError::TrimmedTail { after: 1, kept_after: 2 }), "{error}");
    store.trim_log(5).await.unwrap();
    assert_eq!(store.tail(5).unwrap().born, []);
    assert!(matches!(store.tail(4), Err(StorageError::TrimmedTail { .. })));
}

#[tokio::test]
async fn a_log_longer_than_a_step_is_trimmed_all_the_way() {
    let home = Home::new();
    drop(home.open());
    let rows = 3 * 4096 + 7;
    let series = format!(
        "WITH RECURSIVE series(value) AS
             (SELECT 1 UNION ALL SELECT value + 1 FROM series WHERE value < {rows})
         INSERT INTO log SELECT value, 1, 0, 0 FROM series"
    );
    let raw = home.raw();
    raw.execute_batch(&series).unwrap();
    Counters { last_sequence: rows, ..Counters::default() }.write(&raw).unwrap();
    let store = home.open();
    assert_eq!(store.trim_log(rows - 5).await.unwrap(), rows - 5);
    assert_eq!(store.sizes().await.unwrap().log_rows, 5);
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
async fn all_documents_can_be_filed_anew_without_their_contents() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 5).await;
    write(&store, remove(3)).await;
    write(&store, put(&Record { metadata: None, ..record(5) })).await;
    let mut seen = vec![];
    store.scan(1..5, |row| seen.push(check(&row))).unwrap();
    assert_eq!(seen, [1, 2, 4]);
    store.scan(5..9, |row| seen.push(check(&row))).unwrap();
    assert_eq!(seen, [1, 2, 4, 5]);
}

fn check(row: &FilingRow<'_>) -> u32 {
    let record = record(row.ordinal.0);
    let expected = FilingRow {
        ordinal: record.ordinal,
        id: record.id,
        fingerprint: record.fingerprint,
        shingles: 30,
        sketch: record.sketch.as_bytes(),
        has_metadata: row.ordinal.0 != 5,
    };
    assert_eq!(*row, expected);
    row.ordinal.0
}
