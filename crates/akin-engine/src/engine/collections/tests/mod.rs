mod following;
mod model;
mod reindexing;

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::*;
use crate::backend::directory::{StorageSettings, files};
use crate::backend::{LocalCollection, LocalCollections};
use crate::document::{Content, Document, DocumentId};
use crate::engine::AddOptions;

fn storage() -> StorageSettings {
    StorageSettings { readers: 1, ..StorageSettings::default() }
}

fn open_with(dir: &TempDir, default: &CollectionSettings) -> Result<Collections, EngineError> {
    open_stored(dir, default, storage())
}

fn open_stored(
    dir: &TempDir,
    default: &CollectionSettings,
    storage: StorageSettings,
) -> Result<Collections, EngineError> {
    let limits_max = LimitSettings::default().times(100);
    let of_all =
        CollectionsSettings { collections_max: 3, limits_max, opening: Opening::default() };
    let store = LocalCollections::new(dir.path().to_owned(), storage);
    Collections::open(Arc::new(store), default, of_all)
}

fn try_open(dir: &TempDir) -> Result<Arc<Collections>, EngineError> {
    open_with(dir, &CollectionSettings::default()).map(Arc::new)
}

fn open(dir: &TempDir) -> Arc<Collections> {
    try_open(dir).unwrap()
}

fn name(name: &str) -> CollectionName {
    name.parse().unwrap()
}

fn names(collections: &Collections) -> Vec<String> {
    collections.list().iter().map(|collection| collection.name().to_string()).collect()
}

async fn make(collections: &Arc<Collections>, made: &str) -> Arc<Collection> {
    let settings = CollectionSettings::default();
    let (collection, creation) = collections.create(name(made), settings).await.unwrap();
    assert_eq!(creation, Creation::Created);
    collection
}

async fn add(collection: &Collection, id: &str) -> Result<(), EngineError> {
    let id = DocumentId::new(id).unwrap();
    let content = Content::Text("one two three four".to_owned());
    let document = Document { id, content, metadata: None, expires_at_ms: None };
    collection.add(document, AddOptions::default()).await.map(drop)
}

async fn ids(collection: &Collection) -> Vec<String> {
    let ids = collection.list(None, 10).await.unwrap();
    ids.iter().map(|id| id.as_str().to_owned()).collect()
}

/// Waits for the thread that deletes files.
async fn gone(dir: &Path) {
    let gone = async {
        while dir.exists() {
            tokio::task::yield_now().await;
        }
    };
    let limit = std::time::Duration::from_secs(60);
    tokio::time::timeout(limit, gone).await.expect("the files go");
}

#[tokio::test]
async fn a_collection_survives_with_its_settings_and_documents() {
    let dir = TempDir::new().unwrap();
    let collections = open(&dir);
    let mut settings = CollectionSettings::default();
    settings.shingles.size = 2;
    settings.store.text = false;
    let (news, _) = collections.create(name("news"), settings.clone()).await.unwrap();
    add(&news, "a").await.unwrap();
    drop(news);
    collections.close().await.unwrap();
    let refused = collections.create(name("late"), settings.clone()).await.err().unwrap();
    assert!(matches!(refused, EngineError::Backend(BackendError::Closed)), "{refused}");
    drop(collections);

    let collections = open(&dir);
    assert_eq!(names(&collections), ["default", "news"]);
    let news = collections.get(&name("news")).unwrap();
    assert_eq!(*news.settings(), settings);
    assert_eq!(ids(&news).await, ["a"]);
    assert!(ids(&collections.get(&CollectionName::default()).unwrap()).await.is_empty());
}

#[tokio::test]
async fn of_two_who_make_one_at_once_one_does() {
    let dir = TempDir::new().unwrap();
    let collections = open(&dir);
    let same = CollectionSettings::default();
    let mut other = same.clone();
    other.sketch.slots = 64;
    let (first, second, third) = tokio::join!(
        collections.create(name("a"), same.clone()),
        collections.create(name("a"), same),
        collections.create(name("a"), other),
    );
    let outcomes = [first, second, third].map(|outcome| match outcome {
        Ok((_, creation)) => format!("{creation:?}"),
        Err(EngineError::CollectionExists { .. }) => "Exists".to_owned(),
        Err(error) => panic!("{error}"),
    });
    let count = |wanted| outcomes.iter().filter(|outcome| *outcome == wanted).count();
    assert_eq!(count("Created"), 1, "{outcomes:?}");
    // The first to arrive decides the settings.
    let expected = if outcomes[2] == "Created" { (0, 2) } else { (1, 1) };
    assert_eq!((count("Existing"), count("Exists")), expected, "{outcomes:?}");
}

#[tokio::test]
async fn a_crash_during_creation_leaves_all_or_nothing() {
    let dir = TempDir::new().unwrap();
    drop(open(&dir));
    let json = serde_json::to_string(&CollectionSettings::default()).unwrap();
    fs::create_dir(dir.path().join("begun")).unwrap();
    fs::create_dir(dir.path().join("written")).unwrap();
    fs::write(dir.path().join("written/collection.json.new"), &json[..9]).unwrap();
    fs::create_dir(dir.path().join("named")).unwrap();
    fs::write(dir.path().join("named/collection.json"), &json).unwrap();
    // Its store was opened already.
    fs::create_dir_all(dir.path().join("opened/snapshots")).unwrap();
    fs::write(dir.path().join("opened/collection.json.building"), &json).unwrap();
    fs::write(dir.path().join("opened/store.sqlite"), "").unwrap();

    let collections = open(&dir);
    assert_eq!(names(&collections), ["default", "named"]);
    for remains in ["begun", "written", "opened"] {
        assert!(!dir.path().join(remains).exists(), "{remains}");
    }
    add(&collections.get(&name("named")).unwrap(), "a").await.unwrap();
    make(&collections, "begun").await;
}

#[tokio::test]
async fn a_crash_while_one_is_removed_leaves_nothing() {
    let dir = TempDir::new().unwrap();
    let collections = open(&dir);
    for removed in ["marked", "cleared"] {
        add(&*make(&collections, removed).await, "a").await.unwrap();
    }
    collections.close().await.unwrap();
    drop(collections);
    let rename = |of: &str| {
        let of = dir.path().join(of);
        fs::rename(of.join("collection.json"), of.join("collection.json.gone")).unwrap();
    };
    rename("marked");
    rename("cleared");
    fs::remove_file(dir.path().join("cleared/store.sqlite")).unwrap();
    fs::remove_dir_all(dir.path().join("cleared/snapshots")).unwrap();

    let collections = open(&dir);
    assert_eq!(names(&collections), ["default"]);
    assert!(!dir.path().join("marked").exists() && !dir.path().join("cleared").exists());
    assert!(ids(&*make(&collections, "marked").await).await.is_empty());
}

/// The error of an unavailable collection, after a start that serves all other collections.
fn unavailable(dir: &TempDir) -> EngineError {
    let collections = open(dir);
    assert_eq!(names(&collections), ["default", "sound"]);
    assert_eq!(collections.unavailable(), [name("news")].into());
    collections.get(&name("news")).err().unwrap()
}

#[tokio::test]
async fn unreadable_collections_are_untouched_and_others_served() {
    let dir = TempDir::new().unwrap();
    let collections = open(&dir);
    make(&collections, "sound").await;
    add(&*make(&collections, "news").await, "a").await.unwrap();
    collections.close().await.unwrap();
    drop(collections);
    fs::create_dir(dir.path().join("lost+found")).unwrap();
    let settings = dir.path().join("news/collection.json");
    let whole = fs::read(&settings).unwrap();
    let is_told = |error: &EngineError| matches!(error, EngineError::CollectionUnavailable { .. });

    fs::remove_file(&settings).unwrap();
    assert!(is_told(&unavailable(&dir)));
    fs::write(&settings, &whole[..whole.len() / 2]).unwrap();
    assert!(is_told(&unavailable(&dir)));
    fs::write(&settings, &whole).unwrap();
    fs::create_dir(dir.path().join("news.2")).unwrap();
    fs::write(dir.path().join("news.2/collection.json"), &whole).unwrap();
    assert!(is_told(&unavailable(&dir)));
    fs::remove_file(&settings).unwrap();
    assert!(is_told(&unavailable(&dir)), "one of two is unclear");
    fs::write(&settings, &whole).unwrap();
    fs::remove_dir_all(dir.path().join("news.2")).unwrap();
    let database = dir.path().join("news/store.sqlite");
    let store = fs::read(&database).unwrap();
    fs::write(&database, &store[..store.len() / 2]).unwrap();
    assert!(is_told(&unavailable(&dir)));

    let collections = open(&dir);
    let again = collections.create(name("news"), CollectionSettings::default()).await;
    assert!(is_told(&again.err().unwrap()));
    assert!(is_told(&collections.remove(name("news")).await.unwrap_err()));
    collections.close().await.unwrap();
    drop(collections);
    fs::write(&database, store).unwrap();
    assert_eq!(ids(&open(&dir).get(&name("news")).unwrap()).await, ["a"]);
    assert!(dir.path().join("lost+found").exists());
}

#[tokio::test]
async fn open_handles_read_removed_collections_and_names_are_free() {
    let dir = TempDir::new().unwrap();
    let collections = open(&dir);
    let old = make(&collections, "news").await;
    add(&old, "a").await.unwrap();
    collections.remove(name("news")).await.unwrap();
    let refused = collections.get(&name("news")).err().unwrap();
    assert!(matches!(refused, EngineError::CollectionNotFound { .. }), "{refused}");

    let new = make(&collections, "news").await;
    add(&new, "b").await.unwrap();
    assert_eq!((ids(&old).await, ids(&new).await), (vec!["a".to_owned()], vec!["b".to_owned()]));
    let refused = async {
        loop {
            if let Err(error) = add(&old, "c").await {
                return error;
            }
        }
    };
    let refused = refused.await;
    assert!(matches!(refused, EngineError::Backend(BackendError::Closed)), "{refused}");

    assert!(dir.path().join("news").exists());
    drop(old);
    gone(&dir.path().join("news")).await;
    assert_eq!(ids(&new).await, ["b"]);
    drop(new);
    collections.close().await.unwrap();
    drop(collections);
    let collections = open(&dir);
    assert_eq!(ids(&collections.get(&name("news")).unwrap()).await, ["b"]);
}

#[tokio::test]
async fn collections_are_limited_and_default_always_exists() {
    let dir = TempDir::new().unwrap();
    let collections = open(&dir);
    make(&collections, "a").await;
    make(&collections, "b").await;
    let more = collections.create(name("c"), CollectionSettings::default()).await.err().unwrap();
    assert!(matches!(more, EngineError::TooManyCollections { max: 3 }), "{more}");
    let refused = collections.remove(CollectionName::default()).await.unwrap_err();
    assert!(matches!(refused, EngineError::CollectionRequired), "{refused}");
    collections.remove(name("a")).await.unwrap();
    make(&collections, "c").await;
    assert_eq!(names(&collections), ["b", "c", "default"]);
}

#[tokio::test]
async fn earlier_waiters_see_failures_of_later_collections() {
    let dir = TempDir::new().unwrap();
    let collections = open(&dir);
    let failed = collections.failed();
    let mut failed = std::pin::pin!(failed);
    assert!(futures_util::poll!(&mut failed).is_pending());
    let news = make(&collections, "news").await;
    let database = rusqlite::Connection::open(dir.path().join("news/store.sqlite")).unwrap();
    database.execute_batch("DROP TABLE log").unwrap();
    assert!(add(&news, "a").await.is_err());
    let limit = std::time::Duration::from_secs(60);
    let reason = tokio::time::timeout(limit, failed).await.expect("it is told");
    assert!(reason.contains("no such table"), "{reason}");
    assert!(collections.fault().unwrap().contains("no such table"));
}

#[test]
fn a_takeover_that_cannot_be_synced_is_undone() {
    let dir = TempDir::new().unwrap();
    let (news, settings) = (name("news"), CollectionSettings::default());
    let begin = |replaced| {
        LocalCollection::building(dir.path(), &news, &settings, &storage(), replaced).map(Arc::new)
    };
    let old = begin(None).unwrap();
    old.take_over().unwrap();
    let new = begin(Some(Arc::clone(&old))).unwrap();
    let failed = new.take_over_with(|_| Err(std::io::Error::other("not synced"))).unwrap_err();
    assert!(failed.to_string().ends_with("not synced"), "{failed}");
    assert!(new.is_removed(), "dropping it deletes its files");
    let found = files::find(dir.path()).unwrap();
    assert!(found.whole.iter().map(|(.., dir)| &**dir).eq([old.dir()]));
    assert_eq!(found.remains, [new.dir()]);
    new.take_over().unwrap();
    let found = files::find(dir.path()).unwrap();
    assert!(found.whole.iter().map(|(.., dir)| &**dir).eq([new.dir()]));
}

#[test]
fn uncertain_removals_block_removal_and_replacement() {
    let dir = TempDir::new().unwrap();
    let (news, settings) = (name("news"), CollectionSettings::default());
    let begin = |replaced| {
        LocalCollection::building(dir.path(), &news, &settings, &storage(), replaced).map(Arc::new)
    };
    let old = begin(None).unwrap();
    old.take_over().unwrap();
    let new = begin(Some(Arc::clone(&old))).unwrap();
    new.take_over().unwrap();
    // A directory in the place of the mark makes the removal of the old collection fail.
    fs::create_dir(old.dir().join("collection.json.gone")).unwrap();
    assert!(new.remove_replaced().is_err());
    let refused = [new.mark_removed().err().unwrap(), begin(Some(Arc::clone(&new))).err().unwrap()];
    for refused in refused.map(|refused| refused.to_string()) {
        assert!(refused.ends_with("so restart akin first"), "{refused}");
    }

    fs::remove_dir(old.dir().join("collection.json.gone")).unwrap();
    let found = files::find(dir.path()).unwrap();
    assert!(found.whole.iter().map(|(.., dir)| &**dir).eq([new.dir()]));
    assert_eq!(found.remains, [old.dir()]);
    let [(.., found)] = &*found.whole else { unreachable!() };
    let found = LocalCollection::new(found.clone(), settings.clone(), storage());
    assert!(matches!(found.mark_removed(), Ok(Removal::Durable)));
}
