//! Answers are those of a local collection to which the same was done.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use akin::backend::{BackendError, LocalCollection};
use akin::document::{Content, Document, DocumentId, Metadata};
use akin::engine::{
    AddOptions, AddStatus, Clock, ClusterQuery, CollectionSettings, Discovery, DocumentChange,
    Engine, EngineError, Linkage, Lookup, Mode, OnDuplicate, Opening, Order, Probe,
};
use akin::storage::StorageSettings;
use futures_util::StreamExt;
use serde_json::{Value, json};

use crate::postgres_server::Database;
use crate::{document, id, of_family, open};

const START_MS: i64 = 1_800_000_000_000;

struct Both {
    local: Engine,
    postgres: Engine,
    now_ms: Arc<AtomicI64>,
    _dir: tempfile::TempDir,
    _database: Database,
}

fn local(dir: &Path, mut settings: CollectionSettings, opening: &Opening) -> Engine {
    settings.sketch.seed.get_or_insert(0);
    let stored = LocalCollection::new(dir.to_owned(), settings, StorageSettings::default());
    Engine::open(&stored, opening).unwrap()
}

async fn both(settings: Value) -> Option<Both> {
    let settings: CollectionSettings = serde_json::from_value(settings).unwrap();
    let database = Database::new()?;
    let dir = tempfile::tempdir().unwrap();
    let now_ms = Arc::new(AtomicI64::new(START_MS));
    let time = Arc::clone(&now_ms);
    let clock = Clock::new(move || time.load(Ordering::Relaxed));
    let opening = || Opening { clock: clock.clone(), ..Opening::default() };
    Some(Both {
        local: local(dir.path(), settings.clone(), &opening()),
        postgres: open(&database.url(), settings, opening()).await,
        now_ms,
        _dir: dir,
        _database: database,
    })
}

/// An answer without what need not be the same: the keys that a document shares with another are
/// counted in all tables if it was in flight, and whether the search went on after a near-duplicate
/// that decides depends on the order in which they were found.
fn plain(answer: Result<Value, EngineError>) -> Value {
    let mut answer = answer.unwrap_or_else(|error| json!(error.to_string()));
    if let Some(added) = answer.as_object_mut().filter(|of| of.contains_key("duplicates")) {
        added.remove("truncated");
        for found in added["duplicates"].as_array_mut().unwrap() {
            found.as_object_mut().unwrap().remove("keys_shared");
        }
    }
    answer
}

/// Fails with the first parts that differ.
fn assert_same(postgres: &Value, local: &Value) {
    if let (Some(a), Some(b)) = (postgres.as_array(), local.as_array()) {
        let ids = |of: &[Value]| of.len();
        assert_eq!(ids(a), ids(b), "{postgres:#} {local:#}");
        a.iter().zip(b).for_each(|(a, b)| assert_same(a, b));
    } else {
        assert_eq!(postgres, local);
    }
}

async fn record(engine: &Engine, name: &DocumentId) -> Value {
    let record = engine.get(name).await.map(|of| {
        json!([
            of.id.as_str(),
            of.stored_at_ms,
            of.expires_at_ms,
            format!("{:?}", of.content),
            format!("{:?}", of.metadata),
            of.shingles,
            of.fingerprint,
            of.whole_document,
        ])
    });
    plain(record)
}

async fn similar(engine: &Engine, probe: Probe, lookup: Lookup) -> Value {
    plain(engine.similar(probe, lookup).await.map(|answer| json!(answer.matches)))
}

async fn everything(engine: &Engine) -> Value {
    let ids = engine.list(None, 10_000).await.unwrap();
    let mut all = Vec::new();
    for name in &ids {
        all.push(record(engine, name).await);
        let lookup = || Lookup { limit: 50, ..Lookup::default() };
        all.push(similar(engine, Probe::Stored(name.clone()), lookup()).await);
    }
    let probe = || Probe::Content(Content::Text(of_family(3, 999)));
    for (k, mode) in [(None, Mode::Exact), (None, Mode::Estimated), (Some(7), Mode::Verified)] {
        let k = k.and_then(std::num::NonZeroUsize::new);
        let lookup = Lookup { k, mode: Some(mode), limit: 50, ..Lookup::default() };
        all.push(similar(engine, probe(), lookup).await);
    }
    let exported = engine.export(Order::Id).await.map(|of| of.unwrap().id.to_string());
    all.push(json!(exported.collect::<Vec<_>>().await));
    let exported = engine.export(Order::Stored).await.map(|of| of.unwrap().id.to_string());
    // Unlike documents that arrive together may be stored in another order.
    let mut exported: Vec<String> = exported.collect().await;
    exported.sort();
    all.push(json!(exported));
    all.push(json!(engine.stats().await.unwrap().backend.size.documents));
    all.push(joined(engine).await);
    json!(all)
}

async fn joined(engine: &Engine) -> Value {
    let discovery = || Discovery { threshold: None, mode: Some(Mode::Verified) };
    let pairs = engine.pairs(discovery(), ()).await.unwrap().map(Result::unwrap);
    let mut pairs: Vec<String> =
        pairs.collect::<Vec<_>>().await.concat().iter().map(|of| format!("{of:?}")).collect();
    pairs.sort();
    let query = ClusterQuery { linkage: Linkage::Single, min_size: 2, id: None };
    let clusters = engine.clusters(discovery(), query, ()).await.unwrap().map(Result::unwrap);
    let clusters = format!("{:?}", clusters.collect::<Vec<_>>().await.concat());
    json!([pairs, clusters])
}

impl Both {
    async fn add(&self, documents: Vec<Document>, options: &AddOptions) {
        let add = |engine: &Engine| {
            let prepared = documents.iter().map(|of| engine.prepare(of.clone()).unwrap());
            let adding = engine.add_all(prepared.map(|of| (of, options.clone())).collect());
            async move {
                let added = adding.await.into_iter();
                json!(added.map(|of| plain(of.map(|of| json!(of)))).collect::<Vec<_>>())
            }
        };
        assert_same(&add(&self.postgres).await, &add(&self.local).await);
    }

    async fn assert_same(&self) {
        assert_same(&everything(&self.postgres).await, &everything(&self.local).await);
    }

    async fn remove(&self, name: &str) {
        let remove = async |engine: &Engine| {
            plain(engine.remove(&id(name)).await.map(|()| json!("removed")))
        };
        assert_eq!(remove(&self.postgres).await, remove(&self.local).await);
    }

    fn pass(&self, ms: i64) {
        self.now_ms.fetch_add(ms, Ordering::Relaxed);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn adds_lookups_replacements_and_removals_answer_as_those_of_a_local_collection() {
    let Some(both) = both(json!({})).await else { return };
    let keep = AddOptions::default();
    let skip = AddOptions { on_duplicate: OnDuplicate::Skip, ..AddOptions::default() };
    let unchecked = AddOptions { check: false, ..AddOptions::default() };
    let mut state = 7_u64;
    for step in 0..160 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let (choice, family) = (state >> 33, state >> 40 & 7);
        let name = format!("d{}", state >> 50 & 31);
        let text = of_family(family, state >> 55 & 3);
        both.pass(10);
        match choice % 10 {
            0..=4 => both.add(vec![document(&name, &text)], &keep).await,
            5 => both.add(vec![document(&name, &text)], &skip).await,
            6 => both.add(vec![document(&name, &text)], &unchecked).await,
            7 => both.remove(&name).await,
            8 => {
                let many = (0..8)
                    .map(|n| document(&format!("m{step}-{n}"), &of_family(n % 3, family + n)));
                both.add(many.collect(), if family > 3 { &skip } else { &keep }).await;
            }
            _ => {
                let metadata = Metadata::from_json(&format!("{{\"step\":{step}}}")).unwrap();
                let expires_at_ms = Some(START_MS + step * 10 + 200);
                let given = document(&name, &text);
                let given = Document { metadata: Some(metadata), expires_at_ms, ..given };
                both.add(vec![given], &keep).await;
            }
        }
        if step % 40 == 39 {
            both.assert_same().await;
            assert_eq!(
                both.postgres.remove_expired().await.unwrap(),
                both.local.remove_expired().await.unwrap()
            );
        }
    }
    both.assert_same().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_metadata_is_not_lost_and_removal_by_conditions_removes_what_matches() {
    let Some(both) = both(json!({})).await else { return };
    let documents = (0..20).map(|n| document(&format!("d{n}"), &of_family(n, 0))).collect();
    both.add(documents, &AddOptions::default()).await;
    both.pass(5);
    for n in 0..10 {
        let metadata = Some(Metadata::from_json(&format!(r#"{{"n": {n}}}"#)).ok());
        let change = DocumentChange { metadata, ..DocumentChange::default() };
        for engine in [&both.local, &both.postgres] {
            engine.update(&id(&format!("d{n}")), &change).await.unwrap();
        }
    }
    both.assert_same().await;
    let stored_after_ms = Some(START_MS + 1);
    for engine in [&both.local, &both.postgres] {
        let conditions =
            akin::engine::Conditions { stored_after_ms, ..akin::engine::Conditions::default() };
        let removed = engine.remove_where(conditions).await.unwrap();
        assert_eq!((removed.matched, removed.removed), (10, 10));
    }
    both.assert_same().await;
}

/// The call after one that replaced documents began without a question to the database, and took
/// the version that it did not know for a changed one.
#[tokio::test(flavor = "multi_thread")]
async fn a_document_over_a_version_is_stored_right_after_a_replacement() {
    let Some(database) = Database::new() else { return };
    let engine = crate::engine(&database).await;
    crate::add(&engine, "a", &of_family(1, 1)).await;
    for n in 2..6 {
        crate::add(&engine, "a", &of_family(n, n)).await;
        let version = engine.get(&id("a")).await.unwrap().ordinal;
        let prepared = engine.prepare(document("a", &of_family(n, 0))).unwrap().over(version);
        let stored = engine.add_all(vec![(prepared, AddOptions::default())]).await.remove(0);
        assert_eq!(stored.unwrap().status, AddStatus::Replaced);
        let outdated = engine.prepare(document("a", &of_family(n, 9))).unwrap().over(version);
        let refused = engine.add_all(vec![(outdated, AddOptions::default())]).await.remove(0);
        assert!(matches!(refused, Err(EngineError::Backend(BackendError::Changed))), "{refused:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn collections_without_texts_of_tokens_and_of_a_few_keys_answer_alike() {
    for settings in [json!({"store": {"text": false}}), json!({"scheme": {"threshold_min": 0.8}})] {
        let Some(both) = both(settings).await else { return };
        let documents = (0..30).map(|n| document(&format!("d{n}"), &of_family(n % 7, n))).collect();
        both.add(documents, &AddOptions::default()).await;
        both.remove("d3").await;
        both.assert_same().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn records_answer_alike() {
    let fields = json!({
        "shingles": {"unit": "field"},
        "scheme": {"kind": "fields", "fields": ["name", "city"]},
    });
    let Some(both) = both(fields).await else { return };
    let of = |n: u64, name: &str| {
        let fields = [("name", name), ("city", ["Rome", "Oslo"][n as usize % 2])];
        let fields = fields.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let content = Content::Fields(fields.into_iter().collect());
        Document { content, ..document(&format!("r{n}"), "") }
    };
    for (n, name) in
        ["Ada Lovelace", "Ada Lovelace", "Ada Lovelase", "Grace Hopper"].iter().enumerate()
    {
        both.add(vec![of(n as u64, name)], &AddOptions::default()).await;
    }
    for n in 0..4 {
        let probe = || Probe::Stored(id(&format!("r{n}")));
        let answers = [&both.postgres, &both.local];
        let [postgres, local] = answers.map(|of| similar(of, probe(), Lookup::default()));
        assert_eq!(postgres.await, local.await);
    }
}
