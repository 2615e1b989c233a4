//! A backup of a running server, restored where no server runs.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_64;

use crate::serving::Serving;
use crate::{Ended, akin, akin_with_stdin};

#[track_caller]
fn done(ended: Ended) -> String {
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    ended.stdout
}

#[track_caller]
fn refused(arguments: &[&str], why: &str) {
    let ended = akin(arguments);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{}", ended.stderr);
    assert!(ended.stderr.contains(why), "{}", ended.stderr);
}

fn utf8(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Documents of which neighbours are nearly the same.
fn documents(count: usize) -> String {
    let words = |from: usize| -> String {
        (from..from + 60).map(|word| format!("word{word}")).collect::<Vec<_>>().join(" ")
    };
    let document =
        |n: usize| json!({"id": format!("d{n}"), "text": words(n), "metadata": {"n": n}});
    (0..count).map(|n| document(n).to_string()).collect::<Vec<_>>().join("\n")
}

/// What a server answers of its collections: their documents, and the near-duplicates of some.
fn answers(url: &str) -> Vec<String> {
    let mut answers = Vec::new();
    for collection in ["default", "news"] {
        let of = ["--collection", collection, "--url", url];
        answers.push(done(akin(&[&["export"], &of[..]].concat())));
        for id in ["d0", "d17"] {
            answers.push(done(akin(&[&["similar", "--id", id], &of[..]].concat())));
        }
    }
    answers
}

/// A server with two collections.
fn filled(dir: &Path) -> Serving {
    let settings = dir.join("settings.json");
    fs::write(&settings, r#"{"shingles": {"size": 2}, "scheme": {"threshold": 0.7}}"#).unwrap();
    let serving = Serving::start_in(&dir.join("first"));
    serving.wait_until_ready();
    let import = ["import", "-", "--url", &serving.url];
    done(akin_with_stdin(&import, documents(40).as_bytes()));
    let news = ["--collection", "news", "--settings", utf8(&settings)];
    done(akin_with_stdin(&[&import, &news[..]].concat(), documents(30).as_bytes()));
    serving
}

#[test]
fn a_backup_after_a_kill_restores_all_answers() {
    let dir = tempfile::tempdir().unwrap();
    let (backup, second) = (dir.path().join("all.tar.zst"), dir.path().join("second"));
    let (backup, data_dir) = (utf8(&backup), utf8(&second));
    let serving = filled(dir.path());
    let save = ["backup", "-o", backup, "--url", &serving.url];
    done(akin(&save));
    let saved = fs::read(backup).unwrap();
    refused(&save, "exists already");
    assert!(fs::read(backup).unwrap() == saved, "the backup is overwritten");
    let before = answers(&serving.url);
    assert!(before[1].contains("d1\n") && before[3].lines().count() == 30, "{before:?}");
    // What comes after the backup is not in it.
    done(akin_with_stdin(&["import", "-", "--url", &serving.url], documents(50).as_bytes()));
    refused(&["restore", backup, "--data-dir", utf8(&serving.data_dir)], "in use");
    serving.kill();

    let restored = done(akin(&["restore", backup, "--data-dir", data_dir]));
    assert_eq!(restored, "default  40 documents\nnews  30 documents\n");
    refused(&["restore", backup, "--data-dir", data_dir], "'default' exists already");
    let news = ["restore", backup, "--data-dir", data_dir, "--collection", "news"];
    refused(&news, "'news' exists already");
    let restored = done(akin(&[&news[..], &["--as", "old-news"]].concat()));
    assert_eq!(restored, "old-news  30 documents\n");

    let serving = Serving::start_in(&second);
    serving.wait_until_ready();
    assert_eq!(answers(&serving.url), before);
    let settings = dir.path().join("restored.json");
    let export = ["export", "--collection", "old-news", "--settings", utf8(&settings)];
    let exported = done(akin(&[&export[..], &["--url", &serving.url]].concat()));
    assert_eq!(exported, before[3]);
    let settings: Value = serde_json::from_str(&fs::read_to_string(settings).unwrap()).unwrap();
    assert_eq!(settings["scheme"]["threshold"], 0.7);
    // It goes on as any other does.
    done(akin_with_stdin(&["import", "-", "--url", &serving.url], documents(45).as_bytes()));
    assert_eq!(serving.stop().code(), Some(0));
}

#[test]
fn an_incomplete_backup_is_refused_and_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let serving = filled(dir.path());
    let whole = path("whole.tar");
    done(akin(&["backup", "-o", &whole, "--collection", "news", "--url", &serving.url]));
    assert_eq!(serving.stop().code(), Some(0));
    let whole = fs::read(whole).unwrap();
    let (broken, data_dir) = (path("broken.tar"), path("data"));
    let restore = ["restore", &broken, "--data-dir", &data_dir];

    for cut in [0, 100, 600, whole.len() / 2, whole.len() - 2048] {
        fs::write(&broken, &whole[..cut]).unwrap();
        refused(&restore, "not a complete akin backup");
    }
    // One byte anywhere: in a page of the store, in the manifest.
    let in_manifest = whole.windows(9).rposition(|bytes| bytes == b"threshold").unwrap();
    for flipped in [512 + 4096 + 17, in_manifest] {
        let mut bytes = whole.clone();
        bytes[flipped] ^= 1;
        fs::write(&broken, bytes).unwrap();
        refused(&restore, "checksum");
    }
    let collections = Path::new(&data_dir).join("collections");
    let names: Vec<_> =
        fs::read_dir(&collections).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["default"]);
    fs::write(&broken, whole).unwrap();
    assert_eq!(done(akin(&restore)), "news  30 documents\n");
}

#[test]
fn a_default_collection_of_other_settings_needs_another_name() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let serving = filled(dir.path());
    let [backup, data_dir, config] = ["backup.tar.gz", "data", "akin.toml"].map(path);
    done(akin(&["backup", "-o", &backup, "--url", &serving.url]));
    assert_eq!(serving.stop().code(), Some(0));
    fs::write(&config, "[collection.shingles]\nsize = 5\n").unwrap();
    let restore = ["restore", &backup, "--data-dir", &data_dir, "--config", &config];
    refused(&restore, "the collection 'default' was made with the settings");
    let renamed = [&restore[..], &["--collection", "default", "--as", "first"]].concat();
    assert_eq!(done(akin(&renamed)), "first  40 documents\n");
    let absent = [&restore[..], &["--collection", "nowhere"]].concat();
    refused(&absent, "the backup has no collection 'nowhere', only default, news");
}

#[test]
fn a_backup_under_writes_restores_all_answers() {
    let dir = tempfile::tempdir().unwrap();
    let (backup, second) = (dir.path().join("backup.tar"), dir.path().join("second"));
    let serving = filled(dir.path());
    let before = answers(&serving.url);

    // Documents are added one after another until the backup is there.
    let save = ["backup", "-q", "-o", utf8(&backup), "--url", &serving.url].map(str::to_owned);
    let saving = std::thread::spawn(move || akin(&save.each_ref().map(String::as_str)));
    let mut added = 0;
    while !saving.is_finished() {
        let document = json!({"id": format!("late{added:06}"), "text": format!("late {added}")});
        let import = ["import", "-", "--url", &serving.url];
        done(akin_with_stdin(&import, document.to_string().as_bytes()));
        added += 1;
    }
    done(saving.join().unwrap());
    serving.kill();

    let restored = done(akin(&["restore", "-q", utf8(&backup), "--data-dir", utf8(&second)]));
    assert!(restored.contains("news  30 documents"), "{restored}");
    let serving = Serving::start_in(&second);
    serving.wait_until_ready();
    // Of those added meanwhile it has the first ones, of one moment.
    let exported = done(akin(&["export", "--url", &serving.url]));
    let (late, early): (Vec<_>, Vec<_>) =
        exported.lines().partition(|line| line.contains("\"id\":\"late"));
    assert_eq!(early.join("\n") + "\n", before[0]);
    assert!(late.len() <= added);
    for (number, line) in late.iter().enumerate() {
        assert!(line.contains(&format!("\"late{number:06}\"")), "{line}");
    }
    assert_eq!(answers(&serving.url)[1..], before[1..]);
    assert!(serving.stop().success());
}

/// The entries of an archive of one collection, and the archive of them with right checksums.
struct Unpacked {
    store: Vec<u8>,
    manifest: Value,
}

impl Unpacked {
    fn read(backup: &Path) -> Self {
        let mut archive = tar::Archive::new(fs::File::open(backup).unwrap());
        let mut entries = archive.entries().unwrap().map(|entry| {
            let mut bytes = Vec::new();
            entry.unwrap().read_to_end(&mut bytes).unwrap();
            bytes
        });
        let (store, manifest) = (entries.next().unwrap(), entries.next().unwrap());
        Self { store, manifest: serde_json::from_slice(&manifest).unwrap() }
    }

    fn change_store(&mut self, dir: &Path, sql: &str) {
        let file = dir.join("changed.sqlite");
        fs::write(&file, &self.store).unwrap();
        let database = rusqlite::Connection::open(&file).unwrap();
        database.execute_batch(sql).unwrap();
        drop(database);
        self.store = fs::read(&file).unwrap();
    }

    fn pack(mut self, path: &Path) {
        let saved = &mut self.manifest["collections"][0];
        saved["bytes"] = self.store.len().into();
        saved["xxh3"] = format!("{:016x}", xxh3_64(&self.store)).into();
        let name = format!("{}.sqlite", saved["name"].as_str().unwrap());
        let manifest = self.manifest.to_string();
        let checksum = format!("{:016x}", xxh3_64(manifest.as_bytes()));
        let mut archive = tar::Builder::new(fs::File::create(path).unwrap());
        for (name, bytes) in [
            (name.as_str(), self.store.as_slice()),
            ("akin-backup.json", manifest.as_bytes()),
            ("akin-backup.xxh3", checksum.as_bytes()),
        ] {
            let mut header = tar::Header::new_gnu();
            header.set_size(bytes.len() as u64);
            archive.append_data(&mut header, name, bytes).unwrap();
        }
        archive.into_inner().unwrap();
    }
}

#[test]
fn a_store_with_foreign_objects_is_not_restored() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let serving = filled(dir.path());
    let (whole, changed) = (path("whole.tar"), path("changed.tar"));
    let save = ["backup", "-o", utf8(&whole), "--collection", "news", "--url", &serving.url];
    done(akin(&save));
    assert!(serving.stop().success());
    let data_dir = path("data");
    let restore = ["restore", utf8(&changed), "--data-dir", utf8(&data_dir)];
    for (sql, named) in [
        (
            "CREATE TRIGGER t AFTER DELETE ON documents BEGIN DELETE FROM documents; END",
            "trigger 't'",
        ),
        ("ALTER TABLE settings RENAME TO s; CREATE VIEW settings AS SELECT * FROM s", "settings"),
        ("DROP TABLE removals", "removals"),
    ] {
        let mut unpacked = Unpacked::read(&whole);
        unpacked.change_store(dir.path(), sql);
        unpacked.pack(&changed);
        refused(&restore, named);
    }
    Unpacked::read(&whole).pack(&changed);
    assert_eq!(done(akin(&restore)), "news  30 documents\n");

    // The same, put into the directory of a collection by hand.
    let store = data_dir.join("collections/news/store.sqlite");
    let database = rusqlite::Connection::open(&store).unwrap();
    let trigger = "CREATE TRIGGER t AFTER DELETE ON documents BEGIN DELETE FROM documents; END";
    database.execute_batch(trigger).unwrap();
    drop(database);
    let verified = akin(&["verify", utf8(&data_dir)]);
    assert_eq!(verified.code, Some(1), "{}", verified.stderr);
    assert!(verified.stdout.contains("trigger 't'"), "{}", verified.stdout);
}

#[test]
fn declared_sizes_are_checked_before_unpacking() {
    let dir = tempfile::tempdir().unwrap();
    let (bomb, data_dir) = (dir.path().join("bomb.tar"), dir.path().join("data"));
    let restore = ["restore", utf8(&bomb), "--data-dir", utf8(&data_dir)];
    let header = |kind: tar::EntryType, declared: u64| {
        let mut header = tar::Header::new_gnu();
        header.set_path("news.sqlite").unwrap();
        header.set_entry_type(kind);
        header.set_size(declared);
        header.set_cksum();
        header.as_bytes().to_vec()
    };
    let zeros = vec![0; 1 << 20];
    for (kind, declared, why) in [
        // More than any disk has.
        (tar::EntryType::Regular, 1 << 60, "a store in the backup needs"),
        (tar::EntryType::Regular, 1 << 20, "not a database of the length that it declares"),
        // A name of so many bytes would be read into memory.
        (tar::EntryType::GNULongName, 1 << 40, "unexpected entry"),
        (tar::EntryType::XHeader, 1 << 40, "unexpected entry"),
        (tar::EntryType::GNUSparse, 1 << 40, "unexpected entry"),
    ] {
        fs::write(&bomb, [header(kind, declared), zeros.clone()].concat()).unwrap();
        refused(&restore, why);
    }
    let left = fs::read_dir(data_dir.join("collections")).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["default"], "only the lock is left");
}

#[test]
fn an_archive_has_a_bounded_number_of_collections() {
    let dir = tempfile::tempdir().unwrap();
    let (archive, data_dir) = (dir.path().join("many.tar"), dir.path().join("data"));
    let restore =
        ["restore", utf8(&archive), "--data-dir", utf8(&data_dir), "--collection", "news"];
    let write = |collections: usize| {
        let mut archive = tar::Builder::new(fs::File::create(&archive).unwrap());
        for number in 0..collections {
            let mut header = tar::Header::new_gnu();
            header.set_size(0);
            archive.append_data(&mut header, format!("c{number}.sqlite"), io::empty()).unwrap();
        }
        archive.into_inner().unwrap();
    };
    write(10_001);
    refused(&restore, "it has more than 10000 collections");
    write(10_000);
    refused(&restore, "it is truncated");
}
