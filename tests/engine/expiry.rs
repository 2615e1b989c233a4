//! What has expired is as if it were not there, from its moment on, swept or not.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use akin::document::Document;
use akin::engine::{
    AddOptions, AddStatus, Clock, CollectionSettings, CompareOptions, Engine, EngineError, Mode,
    OnDuplicate, Order, Probe, StoreSettings,
};
use akin::storage::StorageSettings;
use futures_util::StreamExt;
use futures_util::future::join_all;
use tempfile::tempdir;

use crate::{CACHE_BYTES, add, id, lookup, of_index, open_with, similar, snapshot, text};

const START_MS: i64 = 1_800_000_000_000;

const PAGE: &str = "one two three four five six seven eight nine ten";

/// A clock that is set by hand.
#[derive(Clone)]
struct Time(Arc<AtomicI64>);

impl Time {
    fn new() -> Self {
        Self(Arc::new(AtomicI64::new(START_MS)))
    }

    /// So many milliseconds after the start.
    fn set(&self, after_ms: i64) {
        self.0.store(START_MS + after_ms, Ordering::Relaxed);
    }

    fn open(&self, dir: &Path, ttl_s: Option<u64>) -> Engine {
        let store = StoreSettings { ttl_s, ..StoreSettings::default() };
        let settings = CollectionSettings { store, ..CollectionSettings::default() };
        let storage = StorageSettings::default();
        let time = self.clone();
        let clock = Clock::new(move || time.0.load(Ordering::Relaxed));
        open_with(dir, settings, &storage, CACHE_BYTES, clock).unwrap()
    }
}

/// A document that expires so many milliseconds after the start.
fn expiring(name: &str, words: &str, after_ms: i64) -> Document {
    Document { expires_at_ms: Some(START_MS + after_ms), ..text(name, words) }
}

async fn expires_after_ms(engine: &Engine, name: &str) -> Option<i64> {
    engine.get(&id(name)).await.unwrap().expires_at_ms.map(|at| at - START_MS)
}

async fn exported(engine: &Engine) -> Vec<String> {
    engine
        .export(Order::Stored)
        .await
        .map(|document| document.unwrap().id.to_string())
        .collect()
        .await
}

async fn found(engine: &Engine, name: &str) -> Vec<String> {
    similar(engine, name, 0.8).await.into_iter().map(|(name, _)| name).collect()
}

/// Nobody can tell that there ever was a document `a`; `b` is still there.
async fn assert_gone(engine: &Engine) {
    let not_found = |error| matches!(error, EngineError::DocumentNotFound { .. });
    assert!(not_found(engine.get(&id("a")).await.unwrap_err()));
    assert!(not_found(engine.remove(&id("a")).await.unwrap_err()));
    for mode in [Mode::Verified, Mode::Estimated] {
        let probe = Probe::Stored(id("a"));
        assert!(not_found(engine.similar(probe, lookup(0.8, mode)).await.unwrap_err()));
    }
    let (a, b) = (Probe::Stored(id("a")), Probe::Stored(id("b")));
    assert!(not_found(
        engine
            .compare(b, a, CompareOptions { explain: true, ..CompareOptions::default() })
            .await
            .unwrap_err()
    ));
    assert_eq!(found(engine, "b").await, [] as [&str; 0]);
    assert_eq!(engine.list(None, 9).await.unwrap(), [id("b")]);
    assert_eq!(exported(engine).await, ["b"]);
    assert_eq!(engine.stats().await.unwrap().backend.size.documents, 1);
}

#[tokio::test]
async fn a_document_expires_at_its_exact_time() {
    let dir = tempdir().unwrap();
    let time = Time::new();
    let engine = time.open(dir.path(), None);
    add(&engine, expiring("a", PAGE, 1_000)).await;
    let told = add(&engine, text("b", PAGE)).await.duplicates;
    assert_eq!(told[0].id, id("a"));
    time.set(999);
    assert_eq!(found(&engine, "b").await, ["a"]);
    assert_eq!(expires_after_ms(&engine, "a").await, Some(1_000));
    assert_eq!(expires_after_ms(&engine, "b").await, None);
    time.set(1_000);
    assert_gone(&engine).await;
    let before = engine.stats().await.unwrap().backend.sequence;
    assert_eq!(engine.remove_expired().await.unwrap(), 1);
    assert_eq!(engine.remove_expired().await.unwrap(), 0);
    assert_gone(&engine).await;
    let after = engine.stats().await.unwrap().backend.sequence;
    assert_eq!(after, before.map(|before| before + 1));
}

#[tokio::test]
async fn removing_expired_documents_leaves_no_trace() {
    let dir = tempdir().unwrap();
    let time = Time::new();
    let engine = time.open(dir.path(), None);
    let documents =
        (0..3_000).map(|n| expiring(&format!("{n}"), &format!("{PAGE} {}", n % 50), 1_000 + n));
    let unchecked = AddOptions { check: false, ..AddOptions::default() };
    join_all(documents.map(|document| engine.add(document, unchecked.clone()))).await;
    time.set(1_999);
    assert_eq!(engine.remove_expired().await.unwrap(), 1_000);
    assert_eq!(engine.stats().await.unwrap().backend.size.documents, 2_000);
    time.set(10_000);
    assert_eq!(engine.remove_expired().await.unwrap(), 2_000);
    let stats = engine.stats().await.unwrap().backend;
    assert_eq!((stats.size.documents, stats.size.distinct_sets), (0, of_index(0)));
    assert_eq!((stats.size.keys, stats.size.postings), (of_index(0), of_index(0)));
}

#[tokio::test]
async fn an_id_whose_document_has_expired_is_free() {
    let dir = tempdir().unwrap();
    let time = Time::new();
    let engine = time.open(dir.path(), None);
    add(&engine, expiring("a", PAGE, 1_000)).await;
    time.set(1_000);
    let skip = AddOptions { on_duplicate: OnDuplicate::Skip, ..AddOptions::default() };
    let again = engine.add(expiring("a", PAGE, 5_000), skip).await.unwrap();
    assert_eq!((again.status, again.duplicates.len()), (AddStatus::Created, 0));
    assert_eq!(engine.remove_expired().await.unwrap(), 0, "the old one was replaced");
    assert_eq!(expires_after_ms(&engine, "a").await, Some(5_000));
    assert_eq!(engine.stats().await.unwrap().backend.size.documents, 1);
}

#[tokio::test]
async fn an_expiry_in_the_past_is_refused() {
    let dir = tempdir().unwrap();
    let engine = Time::new().open(dir.path(), None);
    for after_ms in [0, -1] {
        let document = expiring("a", PAGE, after_ms);
        let error = engine.add(document, AddOptions::default()).await.unwrap_err();
        assert!(matches!(error, EngineError::AlreadyExpired { .. }), "{error}");
    }
    assert_eq!(engine.list(None, 9).await.unwrap(), []);
}

#[tokio::test]
async fn posting_again_renews_the_expiry() {
    let dir = tempdir().unwrap();
    let time = Time::new();
    let engine = time.open(dir.path(), None);
    let skip = AddOptions { on_duplicate: OnDuplicate::Skip, ..AddOptions::default() };
    add(&engine, text("near", PAGE)).await;
    add(&engine, expiring("a", PAGE, 1_000)).await;
    assert_eq!(add(&engine, expiring("a", PAGE, 1_000)).await.status, AddStatus::Unchanged);
    assert_eq!(add(&engine, expiring("a", PAGE, 2_000)).await.status, AddStatus::Replaced);
    let later = engine.add(expiring("a", PAGE, 3_000), skip).await.unwrap();
    assert_eq!((later.status, later.duplicates.len()), (AddStatus::Replaced, 1));
    assert_eq!(expires_after_ms(&engine, "a").await, Some(3_000));
    assert_eq!(add(&engine, text("a", PAGE)).await.status, AddStatus::Replaced);
    time.set(10_000);
    assert_eq!(expires_after_ms(&engine, "a").await, None);
    assert_eq!(found(&engine, "near").await, ["a"]);
}

#[tokio::test]
async fn the_time_to_live_of_a_collection_applies() {
    let dir = tempdir().unwrap();
    let time = Time::new();
    let engine = time.open(dir.path(), Some(10));
    add(&engine, text("a", PAGE)).await;
    add(&engine, expiring("own", "a text of its own", 60_000)).await;
    assert_eq!(expires_after_ms(&engine, "a").await, Some(10_000));
    assert_eq!(expires_after_ms(&engine, "own").await, Some(60_000));
    time.set(9_000);
    assert_eq!(add(&engine, text("a", PAGE)).await.status, AddStatus::Replaced);
    time.set(18_999);
    assert_eq!(expires_after_ms(&engine, "a").await, Some(19_000));
    time.set(19_000);
    assert_eq!(engine.list(None, 9).await.unwrap(), [id("own")]);
    drop(engine);
    // How long documents live may be another thing after the next start.
    let engine = time.open(dir.path(), None);
    add(&engine, text("a", PAGE)).await;
    assert_eq!(expires_after_ms(&engine, "a").await, None);
}

#[tokio::test]
async fn expired_documents_stay_gone_after_a_restart() {
    for (snapshot_before, snapshot_after) in [(false, false), (true, false), (true, true)] {
        let dir = tempdir().unwrap();
        let time = Time::new();
        let engine = time.open(dir.path(), None);
        add(&engine, text("b", PAGE)).await;
        if snapshot_before {
            snapshot(&engine).await;
        }
        add(&engine, expiring("a", PAGE, 1_000)).await;
        if snapshot_after {
            snapshot(&engine).await;
        }
        drop(engine);
        let engine = time.open(dir.path(), None);
        assert_eq!(found(&engine, "b").await, ["a"], "it is still there");
        time.set(1_000);
        assert_gone(&engine).await;
        drop(engine);
        let engine = time.open(dir.path(), None);
        assert_gone(&engine).await;
        assert_eq!(engine.remove_expired().await.unwrap(), 1);
        drop(engine);
        time.set(0);
        assert_gone(&time.open(dir.path(), None)).await;
    }
}
