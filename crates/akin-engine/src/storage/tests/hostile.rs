//! A database that another program made or changed is refused before anything in it runs.

use std::fs::{self, File};

use rusqlite::config::DbConfig;
use rustix::fs::{Mode, mkfifoat};

use super::*;
use crate::storage::schema;
use crate::storage::snapshot_file::{Place, Section, SectionKind};

/// A closed store of three documents, changed by SQL.
async fn changed(sql: &str) -> Home {
    let home = Home::new();
    let store = home.open();
    fill(&store, 3).await;
    store.close().unwrap();
    drop(store);
    home.raw().execute_batch(sql).unwrap();
    home
}

#[tokio::test]
async fn foreign_objects_are_refused_by_every_way_in() {
    for (sql, named) in [
        (
            "CREATE TRIGGER t AFTER DELETE ON documents BEGIN DELETE FROM documents; END",
            "trigger 't'",
        ),
        ("CREATE VIEW v AS SELECT * FROM documents", "view 'v'"),
        ("CREATE TABLE theirs (a)", "table 'theirs'"),
        ("CREATE INDEX i ON documents (abs(ordinal))", "index 'i'"),
        ("CREATE INDEX i ON documents (id)", "index 'i'"),
        ("ALTER TABLE documents ADD COLUMN twice INTEGER AS (ordinal * 2)", "table 'documents'"),
        ("ANALYZE", "table 'sqlite_stat1'"),
        ("DROP TABLE removals", "lacks table 'removals'"),
        (
            "ALTER TABLE settings RENAME TO kept;
             CREATE VIEW settings AS SELECT * FROM kept",
            "view 'settings'",
        ),
    ] {
        let home = changed(sql).await;
        let before = fs::read(home.path().join("store.sqlite")).unwrap();
        let error = home.try_open().err().expect(sql);
        assert!(matches!(error, StorageError::ForeignSchema { .. }), "{sql}: {error}");
        assert!(error.to_string().contains(named), "{sql}: {error}");
        let error = stored_identity(home.path()).unwrap_err();
        assert!(matches!(error, StorageError::ForeignSchema { .. }), "{sql}: {error}");
        let damage = verified(home.path()).expect_err(sql);
        assert!(damage.what.contains(named), "{sql}: {damage:?}");
        assert!(fs::read(home.path().join("store.sqlite")).unwrap() == before, "{sql}");
    }
}

#[tokio::test]
async fn a_schema_that_does_not_parse_is_an_error() {
    let home = changed("PRAGMA user_version = 1").await;
    let raw = home.raw();
    raw.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, false).unwrap();
    let rewritten = [
        "UPDATE sqlite_schema SET sql = 'CREATE TABLE log (' WHERE name = 'log'".to_owned(),
        format!(
            "UPDATE sqlite_schema SET sql = 'CREATE TABLE log (sequence{})' WHERE name = 'log'",
            ", a".repeat(100_000)
        ),
    ];
    for sql in rewritten {
        raw.execute_batch(&format!("PRAGMA writable_schema = ON; {sql}")).unwrap();
        assert!(home.try_open().is_err());
        assert!(verified(home.path()).is_err());
    }
}

#[test]
fn triggers_and_views_do_not_run_on_our_connections() {
    let home = Home::new();
    drop(home.open());
    let path = home.path().join("store.sqlite");
    let later = "CREATE VIEW v AS SELECT 1";
    home.raw().execute_batch(later).unwrap();
    for connection in
        [schema::open_reader(&path, 64).unwrap(), schema::open_unchanged(&path, 64).unwrap()]
    {
        for (flag, expected) in [
            (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
            (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
            (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
            (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
        ] {
            assert_eq!(connection.db_config(flag).unwrap(), expected, "{flag:?}");
        }
        let checks: i64 =
            connection.pragma_query_value(None, "cell_size_check", |row| row.get(0)).unwrap();
        assert_eq!(checks, 1);
        let refused = connection.query_row("SELECT * FROM v", [], |_| Ok(())).unwrap_err();
        assert!(refused.to_string().contains("view"), "{refused}");
        let many = format!("SELECT 1{}", " UNION SELECT 1".repeat(10));
        assert!(connection.prepare(&many).is_err(), "limits are set");
    }
}

#[tokio::test]
async fn impossible_counters_are_refused_despite_their_checksum() {
    let documents = 3;
    for (documents, next_ordinal, last_sequence) in
        [(4, 3, 3), (documents, (1 << 48) + 1, 3), (documents, 3, u64::MAX - 1), (documents, 2, 3)]
    {
        let home = changed("DELETE FROM log").await;
        let after = counters::Counters { documents, next_ordinal, last_sequence };
        let mut logged = log::Logged::default();
        logged.append(&mut { after }, log::Operation::Put, Ordinal::MIN);
        logged.write(&home.raw(), &after).unwrap();
        let damage = verified(home.path()).unwrap_err();
        assert!(damage.what.contains("the store is corrupt"), "{damage:?}");
        if let Ok(store) = home.try_open() {
            let refused = store.next_ordinal();
            assert!(matches!(refused, Err(StorageError::Corrupt { .. })), "{refused:?}");
        }
    }
}

#[tokio::test]
async fn a_sketch_of_another_length_is_damage() {
    let home = Home::new();
    let store = home.open();
    write(&store, put(&Record { sketch: Sketch::from_bytes([1, 2].into()), ..record(0) })).await;
    let found = store.scan(0..9, |row| row.check_sketch(SKETCH_BYTES));
    assert!(matches!(found, Err(StorageError::CorruptDocument { .. })), "{found:?}");
    drop(store);
    let damage = verified(home.path()).unwrap_err();
    assert!(damage.what.contains("sketch"), "{damage:?}");
}

#[test]
fn fifos_and_endless_files_are_refused() {
    let home = Home::new();
    drop(home.open());
    let fifo = |name: &str| {
        let path = home.path().join(name);
        let _ = fs::remove_file(&path);
        mkfifoat(rustix::fs::CWD, &path, Mode::from_raw_mode(0o600)).unwrap();
        path
    };
    // A snapshot and a mark that cannot be read are as good as none.
    let snapshot = fifo("snapshots/00000000000000000001.snapshot");
    drop(home.open());
    fs::remove_file(snapshot).unwrap();
    let mark = fifo("acknowledged");
    assert!(home.try_open().is_err());
    fs::remove_file(mark).unwrap();
    fifo("lock");
    assert!(home.try_open().is_err());
    let endless = home.path().join("endless");
    File::create(&endless).unwrap().set_len(1 << 40).unwrap();
    let error = read_small(&endless, 1_000).unwrap_err().to_string();
    assert_eq!(error, "it has more than 1000 bytes");
}

#[test]
fn a_sparse_snapshot_takes_no_memory() {
    let home = Home::new();
    let store = home.open();
    let header = SnapshotHeader {
        identity: IDENTITY.to_owned(),
        sequence: 0,
        next_ordinal: 0,
        sketch_bytes: SKETCH_BYTES as u32,
        created_at_ms: 0,
    };
    store.snapshots().begin(&header).unwrap().finish().unwrap();
    let path = store.snapshots().path(0);
    let sound = fs::read(&path).unwrap();
    // The end stays at the end of a file of a terabyte, with a section that fills the file.
    let (head, end) = sound.split_at(sound.len() - 40);
    let snapshot = u64::from_le_bytes(head[32..40].try_into().unwrap());
    let place = Place { snapshot, at: (1 << 40) - 40 };
    let end = [&Section::of(SectionKind::End, 0, &end[24..], place).encode(), &end[24..]].concat();
    let section = [2, 0, 1 << 31, 0, 0, 0].map(u32::to_le_bytes);
    let mut head = [head, section.as_flattened()].concat();
    let bytes = (1 << 40) - 40 - head.len() as u64;
    let at = head.len() - 16;
    head[at..at + 8].copy_from_slice(&bytes.to_le_bytes());
    let file = File::create(&path).unwrap();
    file.set_len(1 << 40).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &head, 0).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &end, place.at).unwrap();
    assert_eq!(store.snapshots().readable(IDENTITY).unwrap().count(), 0);
}
