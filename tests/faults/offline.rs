//! Power cuts during restores and reindexes of `default`, calls that fail during the latter, and
//! what `akin verify` says.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;

use serde_json::Value;

use crate::client::Client;
use crate::model::Model;
use crate::power::scenario;
use crate::server::{Disk, EXIT_CUT, Server, verify};
use crate::{Random, is_whole};

/// Cuts in the ordinary form.
const CUTS: u64 = 12;

/// Faults of each kind during a reindex, in the ordinary form.
const REINDEXES: u64 = 3;

/// A stopped data directory with two collections, a backup of it and what is in it.
struct Filled {
    disk: Disk,
    backup: PathBuf,
    model: Model,
}

impl Filled {
    fn new() -> Self {
        let (disk, mut model) = (Disk::new(), Model::new());
        let server = Server::start(&disk, "none:0:0").unwrap();
        let client = Client::new(&server.url);
        scenario(&mut model, &client, 0).unwrap();
        model.check(&client).unwrap();
        let backup = disk.data().with_file_name("backup.tar");
        fs::write(&backup, client.bytes("/backup").unwrap()).unwrap();
        assert!(server.stop().0.success());
        Self { disk, backup, model }
    }
}

fn restore(disk: &Disk, fault: &str, backup: &Path) -> Output {
    let data = disk.data();
    let arguments = ["restore", "-q", "--data-dir", data.to_str().unwrap()];
    disk.akin(fault, &arguments).arg(backup).output().unwrap()
}

/// A restore moves several collections into place. A power cut between two renames must leave each
/// collection whole or absent: half a collection would be served by the next start, and the second
/// restore would be refused because the name exists.
#[test]
fn interrupted_restore_can_be_repeated() {
    let mut filled = Filled::new();
    let mut random = Random::new("restore");
    let disk = Disk::new();
    assert!(restore(&disk, "none:0:0", &filled.backup).status.success());
    let end = disk.calls().len() as u64;
    let calls: Vec<u64> = match is_whole() {
        true => (1..=end).collect(),
        false => (0..CUTS).map(|n| 1 + (n * end + random.below(end)) / CUTS).collect(),
    };
    for (number, call) in calls.iter().enumerate() {
        let fault = format!("cut:{call}:{}", random.below(u64::MAX));
        println!("{fault}");
        let disk = Disk::new();
        let cut = restore(&disk, &fault, &filled.backup);
        assert_eq!(cut.status.code(), Some(EXIT_CUT), "{}", String::from_utf8_lossy(&cut.stderr));
        disk.verify();
        // Each collection is there whole or not at all: those that are not are restored again.
        for name in ["default", "news"] {
            let data = disk.data();
            let one = ["restore", "-q", "--collection", name, "--data-dir", data.to_str().unwrap()];
            let again = disk.akin("none:0:0", &one).arg(&filled.backup).output().unwrap();
            let told = String::from_utf8_lossy(&again.stderr).into_owned();
            assert!(again.status.success() || told.contains("exists already"), "{name}: {told}");
        }
        disk.verify();
        if number % 4 == 0 {
            let server = Server::start(&disk, "none:0:0").unwrap();
            filled.model.check(&Client::new(&server.url)).unwrap();
            assert!(server.stop().0.success());
        }
    }
    println!("{} power cuts during a restore", calls.len());
}

/// `default` under other settings each time.
fn reindex(disk: &Disk, fault: &str, round: u64) -> Output {
    let data = disk.data();
    let mut command = disk.akin(fault, &["reindex", "-q", "--data-dir", data.to_str().unwrap()]);
    command.env("AKIN__COLLECTION__SHINGLES__SIZE", size(round)).output().unwrap()
}

fn size(round: u64) -> String {
    (2 + round % 3).to_string()
}

/// Serves `default` under the settings of this round or, if they are refused, of the one before.
fn serve_either(disk: &Disk, round: u64) -> (Server, u64) {
    let serve = |round| {
        let data = disk.data();
        let arguments = ["serve", "--listen", "127.0.0.1:0", "--data-dir", data.to_str().unwrap()];
        let mut command = disk.akin("none:0:0", &arguments);
        command.env("AKIN__COLLECTION__SHINGLES__SIZE", size(round));
        Server::spawn(command)
    };
    match serve(round) {
        Ok(server) => (server, round),
        Err(log) => {
            assert!(log.contains("settings"), "{log}");
            (serve(round - 1).expect("it has the settings of one or the other"), round - 1)
        }
    }
}

/// `akin verify` under the settings of this round; what it says if something is damaged.
fn verify_as(disk: &Disk, round: u64) -> Result<(), String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_akin"));
    command.arg("verify").arg(disk.data()).env("AKIN__COLLECTION__SHINGLES__SIZE", size(round));
    let verified = command.output().unwrap();
    let says = String::from_utf8_lossy(&verified.stdout).into_owned();
    if verified.status.success() { Ok(()) } else { Err(says) }
}

/// `akin reindex` swaps the directory of `default`. A start that found neither directory, or the
/// new directory half filled, would take `default` for new and serve an empty collection.
#[test]
fn reindex_of_default_leaves_old_or_new_settings() {
    let filled = Filled::new();
    let mut random = Random::new("reindex");
    let whole = Disk::new();
    assert!(restore(&whole, "none:0:0", &filled.backup).status.success());
    assert!(reindex(&whole, "none:0:0", 0).status.success());
    let end = whole.calls().len() as u64;
    thread::scope(|scope| {
        for kind in ["cut", "fail", "full", "short"] {
            let calls: Vec<u64> = match is_whole() {
                true => (1..=end).collect(),
                false => {
                    (0..REINDEXES).map(|n| 1 + (n * end + random.below(end)) / REINDEXES).collect()
                }
            };
            let faults: Vec<String> = calls
                .iter()
                .map(|call| format!("{kind}:{call}:{}", random.below(u64::MAX)))
                .collect();
            let (backup, model) = (&filled.backup, filled.model.clone());
            scope.spawn(move || reindex_with_each(&faults, backup, model));
        }
    });
    println!("{end} calls of a reindex of default");
}

/// One fault after the other in one directory.
fn reindex_with_each(faults: &[String], backup: &Path, mut model: Model) {
    let disk = Disk::new();
    assert!(restore(&disk, "none:0:0", backup).status.success());
    let mut standing = 1;
    for fault in faults {
        println!("{fault}");
        let ended = reindex(&disk, fault, standing + 1);
        let told = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(!told.contains("panicked"), "{fault}: {told}");
        let status = ended.status.code();
        assert!([Some(0), Some(1), Some(EXIT_CUT)].contains(&status), "{fault}: {status:?} {told}");
        let verified = [standing + 1, standing].map(|round| verify_as(&disk, round));
        assert!(verified.iter().any(Result::is_ok), "{fault}: {verified:?} {told}");
        let (server, found) = serve_either(&disk, standing + 1);
        if status == Some(0) {
            assert_eq!(found, standing + 1, "{fault}: it said that it was done");
        }
        standing = found;
        model.check(&Client::new(&server.url)).unwrap();
        assert!(server.stop().0.success());
    }
    println!("{} faults during a reindex of default", faults.len());
}

/// Every file and what is in it.
fn contents(data: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = fs::read_dir(data).unwrap().map(|entry| entry.unwrap().path());
    let below = |path: PathBuf| match path.is_dir() {
        true => contents(&path).into_iter().chain([(path, Vec::new())]).collect(),
        false => vec![(path.clone(), fs::read(&path).unwrap())],
    };
    entries.flat_map(below).collect()
}

/// Closing a store after a refused start once copied the write-ahead log into the database and
/// deleted it. `akin verify` of a damaged store must not destroy the evidence in the same way.
#[test]
fn verify_changes_no_byte() {
    let mut filled = Filled::new();
    let data = filled.disk.data();
    let store = data.join("collections/default/store.sqlite");
    let [log, index] =
        ["-wal", "-shm"].map(|end| PathBuf::from(format!("{}{end}", store.display())));
    let is_unchanged = || {
        let before = contents(&data);
        assert_eq!(damage(&data), Vec::<String>::new());
        assert!(contents(&data) == before);
    };
    is_unchanged();
    for path in [&log, &index] {
        let _ = fs::remove_file(path);
    }
    is_unchanged();

    let server = Server::start(&filled.disk, "none:0:0").unwrap();
    let client = Client::new(&server.url);
    filled.model.add(&client, "default", "before-the-kill").unwrap();
    server.kill();
    assert!(log.metadata().unwrap().len() > 0, "what was written last is in the log alone");
    is_unchanged();
    fs::remove_file(&index).unwrap();
    is_unchanged();
    let server = Server::start(&filled.disk, "none:0:0").unwrap();
    filled.model.check(&Client::new(&server.url)).unwrap();
    assert!(server.stop().0.success());

    // A rollback journal that a start would roll back.
    let journal = PathBuf::from(format!("{}-journal", store.display()));
    fs::write(&journal, [0xd9, 0xd5, 5, 0xf9, 0x20, 0xa1, 0x63, 0xd7].repeat(512)).unwrap();
    let before = contents(&data);
    let _ = damage(&data);
    assert!(contents(&data) == before);
}

/// The findings about damage, after the exit code was held against them.
fn damage(data: &Path) -> Vec<String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_akin"));
    let verified = command.arg("verify").arg(data).arg("--json").output().unwrap();
    let report: Value = serde_json::from_slice(&verified.stdout).unwrap();
    let of_collections = report["collections"].as_array().unwrap().iter();
    let findings = of_collections.flat_map(|of| of["findings"].as_array().unwrap());
    let damage: Vec<String> = findings
        .chain(report["findings"].as_array().unwrap())
        .filter(|finding| finding["severity"] == "damage")
        .map(|finding| format!("{}: {}", finding["what"], finding["remedy"]))
        .collect();
    assert_eq!(verified.status.code(), Some(i32::from(!damage.is_empty())));
    assert_eq!(report["sound"], damage.is_empty());
    damage
}

/// A name that belonged to a collection and to a directory without readable settings was served and
/// unavailable at once. `akin verify` must name both directories, and every other damage, before a
/// start meets it.
#[test]
fn verify_names_each_damage() {
    let filled = Filled::new();
    let data = filled.disk.data();
    assert_eq!(damage(&data), Vec::<String>::new());
    let store = data.join("collections/default/store.sqlite");
    let sound = fs::read(&store).unwrap();
    let with_store = |bytes: &[u8]| {
        fs::write(&store, bytes).unwrap();
        let found = damage(&data);
        assert_eq!(fs::read(&store).unwrap(), bytes, "nothing is changed");
        found.join("\n")
    };
    let halved = with_store(&sound[..sound.len() / 2]);
    assert!(halved.contains("malformed") || halved.contains("store.sqlite"), "{halved}");
    let zeros = with_store(&[0; 4096]);
    assert!(zeros.contains("not a database"), "{zeros}");
    fs::write(&store, &sound).unwrap();
    let sql = |sql: &str| {
        let raw = rusqlite::Connection::open(&store).unwrap();
        raw.execute_batch(sql).unwrap();
        drop(raw);
        let found = damage(&data).join("\n");
        fs::write(&store, &sound).unwrap();
        found
    };
    let deleted = sql("DELETE FROM documents WHERE ordinal = (SELECT max(ordinal) FROM documents)");
    assert!(deleted.contains("rows are found of"), "{deleted}");
    let changed = sql("UPDATE documents SET metadata = '{}'");
    assert!(changed.contains("is damaged") && changed.contains("add it again"), "{changed}");
    let log = sql("UPDATE log SET checksum = checksum + 1");
    assert!(log.contains("the log row") && log.contains("checksum"), "{log}");
    let twice = sql("UPDATE documents SET id = 'twice'");
    assert!(twice.contains("several documents have the id 'twice'"), "{twice}");

    let mark = data.join("collections/default/acknowledged");
    let marked = fs::read(&mark).unwrap();
    let older = sql("UPDATE settings SET value = '1' WHERE name = 'created_at_ms'");
    assert_eq!(older, "", "a mark of another store says nothing");
    assert_eq!(fs::read(&mark).unwrap(), marked);
    let snapshots = data.join("collections/default/snapshots");
    let snapshot = fs::read_dir(snapshots).unwrap().next().unwrap().unwrap().path();
    let mut bytes = fs::read(&snapshot).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&snapshot, bytes).unwrap();
    let found = damage(&data).join("\n");
    assert!(found.contains("snapshot") && found.contains("delete the file"), "{found}");
    fs::remove_file(snapshot).unwrap();
    let news = data.join("collections/news");
    let renamed = data.join("collections/news.2");
    let news = if news.exists() { news } else { renamed };
    fs::rename(news.join("collection.json"), news.join("elsewhere")).unwrap();
    let found = damage(&data).join("\n");
    assert!(found.contains("no collection.json says what it is"), "{found}");
}

/// Reading a store while a server writes it reports damage that is none, and a check of a mistyped
/// path that finds no fault would pass for a check of the data.
#[test]
fn verify_refuses_directories_in_use_and_absent_directories() {
    let disk = Disk::new();
    let server = Server::start(&disk, "none:0:0").unwrap();
    let in_use = verify(&disk.data());
    assert_eq!(in_use.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&in_use.stderr).contains("in use by another process"));
    let second = Server::start(&disk, "none:0:0").err().unwrap();
    assert!(second.contains("in use by another process"), "{second}");
    assert!(server.stop().0.success());
    let nothing = verify(&disk.data().join("nothing"));
    assert_eq!(nothing.status.code(), Some(2));
}
