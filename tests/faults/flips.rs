//! Files with a flipped bit, a lost sector or a missing end, at random places: the collection is
//! refused or tells the truth, and nothing panics.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use akin::backend::LocalCollection;
use akin::document::{Content, Document, DocumentId, Metadata};
use akin::engine::{
    AddOptions, CollectionSettings, Engine, EngineError, Lookup, Opening, Order, Probe,
};
use akin::storage::StorageSettings;
use futures_util::StreamExt;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::{Random, is_whole};

/// Damages in the ordinary form, and in the long one.
const DAMAGES: u64 = 200;
const DAMAGES_WHOLE: u64 = 20_000;

const DOCUMENTS: u32 = 45;
const SECTOR: usize = 512;

fn id(number: u32) -> DocumentId {
    DocumentId::new(format!("document/{number:03}")).unwrap()
}

fn text(number: u32) -> String {
    let words = if number.is_multiple_of(20) { 3_000 } else { 10 + number % 40 };
    let word = |n: u32| format!("w{}", (number * 7_919 + n).wrapping_mul(2_654_435_761) % 100_003);
    (0..words).map(word).collect::<Vec<_>>().join(" ")
}

/// Documents of every kind but the removed ones.
fn is_removed(number: u32) -> bool {
    number % 13 == 5
}

fn try_open(dir: &Path) -> Result<Engine, EngineError> {
    let storage = StorageSettings { readers: 1, ..StorageSettings::default() };
    let settings = CollectionSettings::default();
    Engine::open(&LocalCollection::new(dir.to_owned(), settings, storage), &Opening::default())
}

async fn add(engine: &Engine, number: u32) -> Result<(), EngineError> {
    let metadata = number.is_multiple_of(3).then(|| Metadata::from_json("{\"n\": 1}").unwrap());
    let expires_at_ms = number.is_multiple_of(4).then_some(32_503_680_000_000);
    let content = Content::Text(text(number));
    let document = Document { id: id(number), content, metadata, expires_at_ms };
    engine.add(document, AddOptions::default()).await.map(drop)
}

/// A collection that was closed, and the same as a crash leaves it, with a log.
async fn collections(root: &Path) -> [PathBuf; 2] {
    let [closed, crashed] = ["closed", "crashed"].map(|name| root.join(name));
    let engine = try_open(&closed).unwrap();
    for number in 0..DOCUMENTS {
        add(&engine, number).await.unwrap();
        if is_removed(number) {
            engine.remove(&id(number)).await.unwrap();
        }
        if number == DOCUMENTS / 2 {
            engine.snapshot().await.unwrap();
        }
    }
    copy(&closed, &crashed);
    engine.close().await.unwrap();
    [closed, crashed]
}

fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to.join(entry.file_name())),
            false => drop(fs::copy(entry.path(), to.join(entry.file_name())).unwrap()),
        }
    }
}

/// All files that are not empty and no shared memory.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(self::files(&path));
        } else if path.metadata().unwrap().len() > 0 && !path.to_string_lossy().ends_with("-shm") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// Damages one file; what was done, in words.
fn damage(dir: &Path, random: &mut Random) -> String {
    let files = files(dir);
    // The database is most of what there is.
    let database = dir.join("store.sqlite");
    let file = match random.below(2) {
        0 => &database,
        _ => &files[random.below(files.len() as u64) as usize],
    };
    let mut bytes = fs::read(file).unwrap();
    let place = random.below(bytes.len() as u64) as usize;
    let what = match random.below(4) {
        0 => {
            bytes.truncate(place);
            "ends at"
        }
        1 => {
            let start = place / SECTOR * SECTOR;
            let end = bytes.len().min(start + SECTOR);
            bytes[start..end].fill(0);
            "lost the sector of"
        }
        _ => {
            bytes[place] ^= 1 << random.below(8);
            "has a flipped bit at"
        }
    };
    fs::write(file, bytes).unwrap();
    format!("{} {what} {place}", file.file_name().unwrap().to_string_lossy())
}

/// Asks for everything that was stored: each answer is right or an error.
async fn assert_true(engine: &Engine, damage: &str) {
    for number in 0..DOCUMENTS {
        match engine.get(&id(number)).await {
            Ok(document) => {
                assert!(!is_removed(number), "{damage}: {number} came back");
                assert_eq!(document.content, Some(Content::Text(text(number))), "{damage}");
            }
            Err(EngineError::DocumentNotFound { .. }) => {
                assert!(is_removed(number), "{damage}: {number} is not found");
            }
            Err(_) => {}
        }
    }
    let export: Vec<_> = engine.export(Order::Stored).await.collect().await;
    let whole = (0..DOCUMENTS).filter(|number| !is_removed(*number)).count();
    let is_told = export.iter().any(Result::is_err);
    assert!(is_told || export.len() == whole, "{damage}: {} exported", export.len());
    for number in (0..DOCUMENTS).step_by(7).filter(|number| !is_removed(*number)) {
        let probe = Probe::Content(Content::Text(text(number)));
        let lookup =
            Lookup { threshold: None, points: None, limit: 10, mode: None, ..Lookup::default() };
        let Ok(answer) = engine.similar(probe, lookup).await else { continue };
        let is_found = answer.matches.iter().any(|found| found.id == id(number));
        assert!(is_found, "{damage}: {number} is not found by its text");
    }
}

static PANICS: AtomicU64 = AtomicU64::new(0);

/// A document in a row that a damaged B-tree page hid was answered with 404, and was missing from
/// exports, discoveries and exact lookups, without an error.
#[test]
fn damaged_files_give_an_error_or_right_answers() {
    let mut random = Random::new("flips");
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        PANICS.fetch_add(1, Ordering::Relaxed);
        before(info);
    }));
    let dir = TempDir::new().unwrap();
    let runtime = Runtime::new().unwrap();
    let sound = runtime.block_on(collections(dir.path()));
    let damages = if is_whole() { DAMAGES_WHOLE } else { DAMAGES };
    let (mut refused, mut answered) = (0, 0);
    for number in 0..damages {
        let damaged = dir.path().join("damaged");
        copy(&sound[(number % 2) as usize], &damaged);
        let damage = damage(&damaged, &mut random);
        match try_open(&damaged) {
            Err(_) => refused += 1,
            Ok(engine) => {
                answered += 1;
                runtime.block_on(async {
                    assert_true(&engine, &damage).await;
                    // A damaged tree may refuse it, and the store with it.
                    let _ = add(&engine, DOCUMENTS).await;
                    let _ = engine.close().await;
                });
            }
        }
        assert_eq!(PANICS.load(Ordering::Relaxed), 0, "{damage}: a panic");
    }
    println!("{damages} damages: {refused} collections refused, {answered} answered right");
    assert!(refused > damages / 10 && answered > damages / 10);
}
