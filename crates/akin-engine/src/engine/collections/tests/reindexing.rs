use std::collections::BTreeMap;

use futures_util::TryStreamExt;

use super::*;
use crate::engine::{ReindexState, ReindexStatus, rebuild_default};
use crate::stored::Order;

/// Settings that give other shingles.
fn other_settings() -> CollectionSettings {
    let mut settings = CollectionSettings::default();
    settings.shingles.size = 1;
    settings.sketch.slots = 64;
    settings
}

async fn add_text(collection: &Engine, id: &str, text: &str) {
    let id = DocumentId::new(id).unwrap();
    let content = Content::Text(text.to_owned());
    let document = Document { id, content, metadata: None, expires_at_ms: None };
    collection.add(document, AddOptions::default()).await.unwrap();
}

/// The text of each document, and when it was stored.
async fn texts(collection: &Engine) -> BTreeMap<String, (String, i64)> {
    let documents: Vec<_> = collection.export(Order::Id).await.try_collect().await.unwrap();
    let text = |content| match content {
        Some(Content::Text(text)) => text,
        other => panic!("{other:?}"),
    };
    let entry = |document: crate::engine::Record| {
        (document.id.to_string(), (text(document.content), document.stored_at_ms))
    };
    documents.into_iter().map(entry).collect()
}

async fn ended(collections: &Arc<Collections>, of: &str) -> ReindexStatus {
    let ended = async {
        loop {
            let status = collections.reindex_status(&name(of)).unwrap();
            if status.state != ReindexState::Running {
                return status;
            }
            tokio::task::yield_now().await;
        }
    };
    let limit = std::time::Duration::from_secs(60);
    tokio::time::timeout(limit, ended).await.expect("it ends")
}

fn directories(dir: &TempDir) -> usize {
    fs::read_dir(dir.path()).unwrap().count()
}

#[tokio::test]
async fn a_reindex_keeps_documents_under_new_settings() {
    let dir = TempDir::new().unwrap();
    let collections = open(&dir);
    let old = make(&collections, "news").await;
    for number in 0..600 {
        add_text(&old, &format!("{number}"), &format!("one two {number} three")).await;
    }
    old.remove(&DocumentId::new("7").unwrap()).await.unwrap();
    let before = texts(&old).await;
    let begun = collections.reindex(&name("news"), other_settings()).await.unwrap();
    assert_eq!((begun.state, begun.ended_at_ms), (ReindexState::Running, None));
    let status = ended(&collections, "news").await;
    assert_eq!((status.state, status.done, status.total), (ReindexState::Done, 599, 599));

    let new = collections.get(&name("news")).unwrap();
    assert_eq!(*new.settings(), other_settings());
    assert_eq!(texts(&new).await, before, "they keep when they were stored");
    let stored = new.get(&DocumentId::new("9").unwrap()).await.unwrap();
    assert_eq!((stored.shingles, stored.sketch.as_bytes().len()), (4, 64));
    assert!(new.stats().await.unwrap().backend.last_snapshot.is_some());
    drop((old, new));
    collections.close().await.unwrap();
    drop(collections);
    let collections = open(&dir);
    let new = collections.get(&name("news")).unwrap();
    assert_eq!((texts(&new).await, new.settings()), (before, &other_settings()));
    assert_eq!(directories(&dir), 2, "the old one is gone");
    add_text(&new, "600", "one two three").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_that_come_meanwhile_are_not_lost() {
    write_meanwhile(storage()).await;
}

/// Each round compares all documents.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_that_no_feed_of_changes_keeps_are_not_lost() {
    write_meanwhile(StorageSettings { changes_kept: 0, ..storage() }).await;
}

/// Each write uses the handle that the writer got at the beginning.
async fn write_meanwhile(storage: StorageSettings) {
    let dir = TempDir::new().unwrap();
    let forgets_changes = storage.changes_kept == 0;
    let default = CollectionSettings::default();
    let collections = Arc::new(open_stored(&dir, &default, storage).unwrap());
    let old = make(&collections, "news").await;
    for number in 0..500 {
        add_text(&old, &format!("{number}"), &format!("first {number}")).await;
    }
    collections.reindex(&name("news"), other_settings()).await.unwrap();
    let write = |writer: usize| {
        let (collections, old) = (Arc::clone(&collections), Arc::clone(&old));
        tokio::spawn(async move {
            let mut left = BTreeMap::new();
            let mut round = 0;
            // Continue for some rounds after the end.
            let mut rounds_left = 5;
            while rounds_left > 0 {
                let status = collections.reindex_status(&name("news")).unwrap();
                rounds_left -= usize::from(status.state != ReindexState::Running);
                round += 1;
                if forgets_changes {
                    // The log is trimmed with a snapshot, which a replaced collection refuses.
                    let _ = old.snapshot().await;
                }
                for number in (writer..500).step_by(40) {
                    let id = format!("{number}");
                    match (number + round) % 3 {
                        0 => {
                            let removed = old.remove(&DocumentId::new(id.as_str()).unwrap()).await;
                            assert_eq!(
                                removed.is_ok(),
                                left.get(&id) != Some(&None),
                                "{removed:?}"
                            );
                            left.insert(id, None);
                        }
                        _ => {
                            let text = format!("round {round} of {number}");
                            add_text(&old, &id, &text).await;
                            left.insert(id, Some(text));
                        }
                    }
                }
            }
            left
        })
    };
    let writers: Vec<_> = (0..4).map(write).collect();
    let mut expected: BTreeMap<String, Option<String>> =
        (0..500).map(|number| (format!("{number}"), Some(format!("first {number}")))).collect();
    for writer in writers {
        expected.extend(writer.await.unwrap());
    }
    let status = ended(&collections, "news").await;
    assert_eq!(status.state, ReindexState::Done, "{status:?}");
    let new = collections.get(&name("news")).unwrap();
    let check = async |engine: &Engine| {
        let found = texts(engine).await.into_iter().map(|(id, (text, _))| (id, text));
        let expected = expected.iter().filter_map(|(id, text)| Some((id.clone(), text.clone()?)));
        assert_eq!(found.collect::<BTreeMap<_, _>>(), expected.collect());
    };
    check(&new).await;
    drop((old, new));
    collections.close().await.unwrap();
    drop(collections);
    check(&open(&dir).get(&name("news")).unwrap()).await;
}

#[tokio::test]
async fn documents_that_arrive_before_a_reindex_keep_their_order() {
    let dir = TempDir::new().unwrap();
    let collections = open(&dir);
    let old = make(&collections, "news").await;
    let prepared = |id: &str, text: &str| {
        let id = DocumentId::new(id).unwrap();
        let content = Content::Text(text.to_owned());
        let document = Document { id, content, metadata: None, expires_at_ms: None };
        (old.prepare(document).unwrap(), AddOptions::default())
    };
    let documents = [("a", "one two"), ("b", "three"), ("a", "four")];
    let adding = old.add_all(documents.map(|(id, text)| prepared(id, text)).into());
    collections.reindex(&name("news"), other_settings()).await.unwrap();
    assert_eq!(ended(&collections, "news").await.state, ReindexState::Done);
    for added in adding.await {
        added.unwrap();
    }
    let new = collections.get(&name("news")).unwrap();
    let texts = texts(&new).await.into_values().map(|(text, _)| text);
    assert_eq!(texts.collect::<Vec<_>>(), ["four", "three"]);
}

#[tokio::test]
async fn failed_or_cancelled_reindexes_change_nothing() {
    let dir = TempDir::new().unwrap();
    let collections = open(&dir);
    let old = make(&collections, "news").await;
    add_text(&old, "short", "one").await;
    add_text(&old, "long", "one two three four five six").await;
    let mut settings = other_settings();
    settings.limits.shingles_max = 3;
    collections.reindex(&name("news"), settings).await.unwrap();
    let status = ended(&collections, "news").await;
    assert_eq!(status.state, ReindexState::Failed);
    let failure = status.failure.unwrap().to_string();
    assert!(failure.contains("'long' does not fit the settings"), "{failure}");

    let database = rusqlite::Connection::open(dir.path().join("news/store.sqlite")).unwrap();
    database.execute_batch("UPDATE documents SET content = x'00' WHERE id = 'long'").unwrap();
    collections.reindex(&name("news"), other_settings()).await.unwrap();
    let failure = ended(&collections, "news").await.failure.unwrap();
    assert!(
        matches!(failure, EngineError::Backend(BackendError::DocumentDamaged { .. })),
        "{failure}"
    );
    old.remove(&DocumentId::new("long").unwrap()).await.unwrap();

    collections.reindex(&name("news"), other_settings()).await.unwrap();
    collections.cancel_reindex(&name("news")).unwrap();
    let status = ended(&collections, "news").await;
    assert!(matches!(status.failure, Some(EngineError::ReindexCancelled)), "{status:?}");
    assert_eq!(*collections.get(&name("news")).unwrap().settings(), CollectionSettings::default());
    for number in 2..5 {
        gone(&dir.path().join(format!("news.{number}"))).await;
    }
    add_text(&old, "more", "one two").await;
    assert_eq!(ids(&old).await, ["more", "short"]);
}

#[tokio::test]
async fn what_cannot_be_reindexed_is_refused() {
    let dir = TempDir::new().unwrap();
    let collections = open(&dir);
    let refused =
        async |of: &str, settings| collections.reindex(&name(of), settings).await.unwrap_err();
    let error = refused("nowhere", other_settings()).await;
    assert!(matches!(error, EngineError::CollectionNotFound { .. }), "{error}");
    let error = refused("default", other_settings()).await;
    assert!(matches!(error, EngineError::ReindexOfDefault), "{error}");
    let mut textless = other_settings();
    textless.store.text = false;
    collections.create(name("textless"), textless).await.unwrap();
    let error = refused("textless", other_settings()).await;
    assert!(matches!(error, EngineError::TextsNotKept { .. }), "{error}");
    let mut wrong = other_settings();
    wrong.limits.checked_max = 0;
    let error = refused("textless", wrong).await;
    assert!(matches!(error, EngineError::CollectionSettings { .. }), "{error}");
    let error = collections.reindex_status(&name("textless")).unwrap_err();
    assert!(matches!(error, EngineError::ReindexNotFound { .. }), "{error}");

    make(&collections, "news").await;
    collections.reindex(&name("news"), other_settings()).await.unwrap();
    let error = refused("news", other_settings()).await;
    assert!(matches!(error, EngineError::Backend(BackendError::ReindexUnderWay)), "{error}");
    ended(&collections, "news").await;
    collections.reindex(&name("news"), other_settings()).await.unwrap();
    ended(&collections, "news").await;
}

#[tokio::test]
async fn a_reindex_does_not_restore_a_removed_collection() {
    let dir = TempDir::new().unwrap();
    let collections = open(&dir);
    let old = make(&collections, "news").await;
    let paused = old.engine.backend.pause_writes().await.unwrap();
    collections.reindex(&name("news"), other_settings()).await.unwrap();
    let reindex = collections.last_reindex(&name("news")).unwrap();
    collections.remove(name("news")).await.unwrap();
    make(&collections, "news").await;
    let status = collections.reindex_status(&name("news"));
    assert!(matches!(status, Err(EngineError::ReindexNotFound { .. })), "it is another's");
    drop(paused);
    let limit = std::time::Duration::from_secs(60);
    let failed = async {
        while reindex.status().state == ReindexState::Running {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(limit, failed).await.expect("it ends");
    assert_eq!(reindex.status().state, ReindexState::Failed);
    assert_eq!(*collections.get(&name("news")).unwrap().settings(), CollectionSettings::default());
}

/// The process ended right after the rename by which the new collection takes over.
#[tokio::test]
async fn a_crash_leaves_the_old_or_the_new() {
    let dir = TempDir::new().unwrap();
    let collections = open(&dir);
    add_text(&*make(&collections, "news").await, "old", "one").await;
    collections.close().await.unwrap();
    drop(collections);
    let building = dir.path().join("news.2");
    let json = serde_json::to_string(&other_settings()).unwrap();
    let build = || {
        fs::create_dir(&building).unwrap();
        fs::write(building.join("store.sqlite"), "").unwrap();
        fs::write(building.join("collection.json.building"), &json).unwrap();
        fs::write(building.join("replaces"), "news").unwrap();
    };
    build();
    let collections = open(&dir);
    assert_eq!(ids(&collections.get(&name("news")).unwrap()).await, ["old"]);
    assert!(!building.exists(), "what was not built to its end is cleared");
    collections.close().await.unwrap();
    drop(collections);

    build();
    fs::rename(building.join("collection.json.building"), building.join("collection.json"))
        .unwrap();
    let collections = open(&dir);
    let news = collections.get(&name("news")).unwrap();
    assert_eq!((ids(&news).await, news.settings()), (vec![], &other_settings()));
    assert!(!dir.path().join("news").exists() && !building.join("replaces").exists());
    assert_eq!(directories(&dir), 2);
}

#[tokio::test]
async fn default_is_rebuilt_without_a_server() {
    let dir = TempDir::new().unwrap();
    let collections = open(&dir);
    let default = collections.get(&CollectionName::default()).unwrap();
    for number in 0..300 {
        add_text(&default, &format!("{number}"), &format!("one two {number}")).await;
    }
    let before = texts(&default).await;
    let rebuild = async || rebuild_default(dir.path(), other_settings(), &storage(), |_| ()).await;
    let refused = rebuild().await.unwrap_err();
    assert!(refused.to_string().contains("in use"), "{refused}");
    drop(default);
    collections.close().await.unwrap();
    drop(collections);
    let reopen = |default| open_with(&dir, &default);
    let refused = reopen(other_settings()).err().unwrap().to_string();
    assert!(refused.contains("akin reindex"), "{refused}");

    assert_eq!(rebuild().await.unwrap(), 300);
    let collections = Arc::new(reopen(other_settings()).unwrap());
    let default = collections.get(&CollectionName::default()).unwrap();
    assert_eq!(texts(&default).await, before);
    let stored = default.get(&DocumentId::new("9").unwrap()).await.unwrap();
    assert_eq!((stored.shingles, stored.sketch.as_bytes().len()), (3, 64));
    assert_eq!(directories(&dir), 1);
}
