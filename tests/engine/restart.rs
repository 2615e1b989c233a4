//! What was there before a restart is there after it, to the letter.

use std::fs;
use std::path::Path;

use akin::document::{Document, Metadata};
use akin::engine::{Clock, CollectionSettings, Engine, Lookup, Mode, Probe, RecoverySource};
use akin::storage::{StorageSettings, Sync};
use akin_core::text::Normalize;
use futures_util::FutureExt;
use futures_util::future::join_all;
use tempfile::tempdir;

use crate::corpus::families;
use crate::{CACHE_BYTES, add, id, open, open_with, text, try_open};

fn documents() -> Vec<Document> {
    let with_metadata = |(n, (name, words)): (usize, (String, String))| {
        let mut document = text(&name, &words);
        if n % 3 == 0 {
            document.metadata = Metadata::from_json(&format!("{{\"n\": {n}}}")).ok();
        }
        document
    };
    families(40, 9).into_iter().enumerate().map(with_metadata).collect()
}

/// Every document's near-duplicates, in both modes, as texts.
async fn answers(engine: &Engine) -> Vec<String> {
    let mut all = Vec::new();
    for name in engine.list(None, 10_000).await.unwrap() {
        for mode in [Mode::Verified, Mode::Estimated] {
            let threshold = Some(0.7.try_into().unwrap());
            let lookup = Lookup {
                threshold,
                points: None,
                limit: 100,
                mode: Some(mode),
                ..Lookup::default()
            };
            let answer = engine.similar(Probe::Stored(name.clone()), lookup).await.unwrap();
            all.push(format!("{name} {answer:?}"));
        }
        all.push(format!("{:?}", engine.get(&name).await.unwrap()));
    }
    all
}

async fn fill(engine: &Engine) {
    join_all(documents().into_iter().map(|document| add(engine, document))).await;
}

async fn change(engine: &Engine) {
    for n in 0..20 {
        engine.remove(&id(&format!("f{n}/1"))).await.unwrap();
        add(engine, text(&format!("f{n}/2"), &format!("another text for page {n}"))).await;
        add(engine, text(&format!("new/{n}"), &format!("another text for page {n}"))).await;
    }
}

async fn reopened(dir: &Path, source: RecoverySource, before: &[String]) -> Engine {
    let engine = open(dir);
    assert_eq!(engine.stats().await.unwrap().backend.recovery.unwrap().source, source);
    assert_eq!(answers(&engine).await, before);
    engine
}

fn snapshots(dir: &Path) -> Vec<std::path::PathBuf> {
    let files = fs::read_dir(dir.join("snapshots")).unwrap();
    let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    files
}

#[tokio::test]
async fn without_a_snapshot_the_index_is_rebuilt() {
    let dir = tempdir().unwrap();
    let engine = open(dir.path());
    fill(&engine).await;
    change(&engine).await;
    let before = answers(&engine).await;
    drop(engine);
    reopened(dir.path(), RecoverySource::Rebuilt, &before).await;
}

#[tokio::test]
async fn a_snapshot_and_its_log_give_equal_answers() {
    let dir = tempdir().unwrap();
    let engine = open(dir.path());
    fill(&engine).await;
    engine.snapshot().await.unwrap();
    change(&engine).await;
    let before = answers(&engine).await;
    drop(engine);
    let engine = reopened(dir.path(), RecoverySource::Snapshot, &before).await;
    assert_eq!(engine.stats().await.unwrap().backend.recovery.unwrap().replayed, 20 + 2 * 20 + 20);
    engine.close().await.unwrap();
    drop(engine);
    let engine = reopened(dir.path(), RecoverySource::Snapshot, &before).await;
    assert_eq!(engine.stats().await.unwrap().backend.recovery.unwrap().replayed, 0);
}

#[tokio::test]
async fn a_broken_snapshot_loses_no_data() {
    let dir = tempdir().unwrap();
    let engine = open(dir.path());
    fill(&engine).await;
    engine.snapshot().await.unwrap();
    change(&engine).await;
    engine.snapshot().await.unwrap();
    let before = answers(&engine).await;
    drop(engine);
    for (broken, source) in [(1, RecoverySource::Snapshot), (0, RecoverySource::Rebuilt)] {
        let path = &snapshots(dir.path())[broken];
        let mut bytes = fs::read(path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(path, bytes).unwrap();
        drop(reopened(dir.path(), source, &before).await);
    }
}

/// A disk that loses the write of a section over an older file leaves the older section, which is
/// whole.
#[tokio::test]
async fn a_section_of_an_older_snapshot_loses_no_data() {
    let dir = tempdir().unwrap();
    let engine = open(dir.path());
    let [(a, words), .., (_, others)] = &families(40, 9)[..] else { panic!("there are two") };
    add(&engine, text(a, words)).await;
    engine.snapshot().await.unwrap();
    add(&engine, text(a, others)).await;
    engine.snapshot().await.unwrap();
    add(&engine, text("copy", others)).await;
    let before = answers(&engine).await;
    drop(engine);
    let [older, newer] = &snapshots(dir.path())[..] else { panic!("there are two") };
    let (bytes, mut damaged) = (fs::read(older).unwrap(), fs::read(newer).unwrap());
    // The sets come after the header, which is after 16 bytes.
    let length = |at: usize| u64::from_le_bytes(bytes[at + 8..at + 16].try_into().unwrap());
    let sets = 16 + 24 + length(16) as usize;
    let sets = sets..sets + 24 + length(sets) as usize;
    assert_eq!(bytes.len(), damaged.len());
    damaged[sets.clone()].copy_from_slice(&bytes[sets]);
    fs::write(newer, damaged).unwrap();
    fs::remove_file(older).unwrap();
    reopened(dir.path(), RecoverySource::Rebuilt, &before).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_snapshot_during_writes_restores_all_documents() {
    let dir = tempdir().unwrap();
    let engine = open(dir.path());
    fill(&engine).await;
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let engine = engine.clone();
            tokio::spawn(async move {
                for n in 0..100 {
                    let name = format!("w{writer}/{}", n % 10);
                    add(&engine, text(&name, &format!("revision {n} by writer {writer}"))).await;
                    if n % 5 == 0 {
                        engine.remove(&id(&name)).await.unwrap();
                    }
                }
            })
        })
        .collect();
    while !writers.iter().all(tokio::task::JoinHandle::is_finished) {
        engine.snapshot().await.unwrap();
    }
    for writer in writers {
        writer.await.unwrap();
    }
    let before = answers(&engine).await;
    drop(engine);
    reopened(dir.path(), RecoverySource::Snapshot, &before).await;
}

/// A power cut after it could otherwise leave a snapshot of what the store has lost.
#[tokio::test]
async fn a_snapshot_is_not_finished_before_the_store_is_synced() {
    let dir = tempdir().unwrap();
    let storage = StorageSettings {
        sync: Sync::Interval,
        sync_interval_ms: 3_600_000,
        ..StorageSettings::default()
    };
    let settings = CollectionSettings::default();
    let engine = open_with(dir.path(), settings, &storage, CACHE_BYTES, Clock::system()).unwrap();
    add(&engine, text("a", "one two three four")).await;
    // SQLite goes on with the file that it has open; a sync notices that it is gone.
    fs::remove_file(dir.path().join("store.sqlite-wal")).unwrap();
    assert!(engine.snapshot().await.is_err());
    assert!(snapshots(dir.path()).is_empty());
}

#[tokio::test]
async fn a_dropped_snapshot_does_not_block_the_last() {
    let dir = tempdir().unwrap();
    let engine = open(dir.path());
    fill(&engine).await;
    for version in 0..20 {
        add(&engine, text("changing", &format!("version {version} of a page"))).await;
        // Begun and given up, but for one now and then that is done at once.
        drop(engine.snapshot().now_or_never());
        engine.snapshot().await.unwrap();
    }
    engine.close().await.unwrap();
}

#[tokio::test]
async fn removed_ids_and_ordinals_stay_gone_after_restart() {
    let dir = tempdir().unwrap();
    let engine = open(dir.path());
    add(&engine, text("a", "one two three four")).await;
    engine.snapshot().await.unwrap();
    engine.remove(&id("a")).await.unwrap();
    drop(engine);
    let engine = open(dir.path());
    assert!(engine.get(&id("a")).await.is_err());
    assert!(add(&engine, text("b", "one two three four")).await.duplicates.is_empty());
}

#[tokio::test]
async fn other_settings_are_refused_and_both_are_named() {
    let dir = tempdir().unwrap();
    drop(open(dir.path()));
    let mut settings = CollectionSettings::default();
    settings.shingles.size = 5;
    let message = try_open(dir.path(), settings).err().unwrap().to_string();
    assert!(message.contains(r#""size":3"#), "{message}");
    assert!(message.contains(r#""size":5"#), "{message}");
    let mut settings = CollectionSettings::default();
    settings.scheme.threshold = 0.9.try_into().unwrap();
    settings.limits.candidates_max = 5;
    try_open(dir.path(), settings).unwrap();
}

/// The refusal has the settings of the store and the given ones.
#[tokio::test]
async fn a_store_opens_only_with_its_normalisation() {
    let dir = tempdir().unwrap();
    let mut settings = CollectionSettings::default();
    settings.shingles.normalize = Normalize::None;
    drop(try_open(dir.path(), settings.clone()).unwrap());
    let message = try_open(dir.path(), CollectionSettings::default()).err().unwrap().to_string();
    assert!(message.contains(r#""normalize":"nfkc""#), "{message}");
    assert!(message.contains(r#""normalize":"none""#), "{message}");
    try_open(dir.path(), settings).unwrap();
}

/// Nobody sees the seed, and each store keeps its own.
#[tokio::test]
async fn a_store_keeps_its_secret_seed() {
    let open = |dir: &Path, seed: Option<u64>| {
        let mut settings = CollectionSettings::default();
        settings.sketch.seed = seed;
        let storage = StorageSettings::default();
        open_with(dir, settings, &storage, CACHE_BYTES, Clock::system())
    };
    let [first, second] = [tempdir().unwrap(), tempdir().unwrap()];
    let [seed, other_seed] = [&first, &second].map(|dir| {
        drop(open(dir.path(), None).unwrap());
        let refusal = open(dir.path(), Some(0)).err().unwrap().to_string();
        let (_, stored) = refusal.split_once(r#""seed":"#).unwrap();
        stored.split_once(',').unwrap().0.parse::<u64>().unwrap()
    });
    assert_ne!(seed, other_seed);
    let engine = open(first.path(), None).unwrap();
    assert_eq!(engine.settings().sketch.seed, None);
    add(&engine, text("a", "one two three four five six")).await;
    drop(engine);
    let engine = open(first.path(), None).unwrap();
    let added = add(&engine, text("b", "one two three four five six")).await;
    assert_eq!(added.duplicates.len(), 1);
}
