//! A store is opened by a single process, with its own settings, by a version that supports it.

use std::fs;

use super::*;

fn refusal(home: &Home) -> String {
    home.try_open().err().expect("it is refused").to_string()
}

#[test]
fn other_settings_are_refused_and_both_are_named() {
    let home = Home::new();
    drop(home.open());
    let error = open(home.path(), &home.settings, "{}", shingler()).err().unwrap();
    let StorageError::OtherSettings { stored, given, .. } = &error else { panic!("{error}") };
    assert_eq!((stored.as_str(), given.as_str()), (IDENTITY, "{}"));
    assert!(error.to_string().contains(IDENTITY) && error.to_string().contains("{}"));
    home.open();
}

#[test]
fn other_formats_are_refused_by_name_and_left_unchanged() {
    let home = Home::new();
    drop(home.open());
    for format in [0, 2, u32::MAX >> 1] {
        home.raw().pragma_update(None, "user_version", format).unwrap();
        let files = ["store.sqlite", "store.sqlite-wal", "acknowledged"];
        // SQLite creates an empty log where there is none.
        let contents = || files.map(|name| fs::read(home.path().join(name)).unwrap_or_default());
        let before = contents();
        let error = home.try_open().err().unwrap();
        assert!(
            matches!(error, StorageError::OtherFormat { found, known: 1, .. } if found == format),
            "{error}"
        );
        assert!(contents() == before, "another version's store stays as it is");
    }
}

#[test]
fn foreign_files_are_refused_and_left_unchanged() {
    let home = Home::new();
    let database = home.path().join("store.sqlite");
    fs::write(&database, "certainly not a database, but long enough to be one".repeat(99)).unwrap();
    assert!(refusal(&home).ends_with("is not an akin database"));

    fs::remove_file(&database).unwrap();
    home.raw().execute_batch("CREATE TABLE theirs (a)").unwrap();
    let before = fs::read(&database).unwrap();
    assert!(refusal(&home).ends_with("is not an akin database"));
    assert_eq!(fs::read(&database).unwrap(), before);
}

#[test]
fn a_directory_is_open_once() {
    let home = Home::new();
    let store = home.open();
    let error = home.try_open().err().unwrap();
    assert!(matches!(error, StorageError::InUse { .. }), "{error}");
    assert!(error.to_string().contains(&home.path().display().to_string()), "{error}");
    drop(store);
    home.open();
}

#[test]
fn faulty_settings_are_refused() {
    let mut home = Home::new();
    home.settings.readers = 0;
    assert!(refusal(&home).contains("readers"));
}

#[test]
fn empty_database_of_a_crash_is_filled() {
    let home = Home::new();
    fs::write(home.path().join("store.sqlite"), "").unwrap();
    assert_eq!(home.open().next_ordinal().unwrap(), 0);
}

#[tokio::test]
async fn closed_store_has_an_empty_log() {
    for sync in [Sync::Always, Sync::Interval] {
        let mut home = Home::new();
        home.settings.sync = sync;
        let store = home.open();
        fill(&store, 3).await;
        store.close().unwrap();
        let wal = home.path().join("store.sqlite-wal");
        assert_eq!(wal.metadata().map_or(0, |file| file.len()), 0);
        assert_eq!(fetch(&home.open(), 2).await.unwrap(), Some(record(2)));
    }
}
