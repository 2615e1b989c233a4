//! Collections that two servers create, use and remove.

use std::sync::Arc;

use akin::engine::{
    CollectionName, CollectionSettings, Collections, CollectionsSettings, Creation, EngineError,
    LimitSettings, Opening,
};
use serde_json::json;

use crate::postgres_server::Database;
use crate::{add, of_family, store};

/// All collections as another server sees them, which follows the changes of others.
async fn collections(database: &Database) -> Arc<Collections> {
    let store = store(&database.url()).await;
    let settings = CollectionsSettings {
        collections_max: 10,
        limits_max: LimitSettings::default(),
        opening: Opening::default(),
    };
    let open = move || Collections::open(store, &CollectionSettings::default(), settings).unwrap();
    let collections = Arc::new(tokio::task::spawn_blocking(open).await.unwrap());
    let following = Arc::clone(&collections);
    tokio::spawn(async move { following.follow().await });
    collections
}

fn name(name: &str) -> CollectionName {
    name.parse().unwrap()
}

/// Waits until a server knows of a change of another.
async fn await_until(mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collection_of_one_server_is_served_and_removed_by_another() {
    let Some(database) = Database::new() else { return };
    let (one, other) = (collections(&database).await, collections(&database).await);
    let settings = CollectionSettings::default();
    let (created, creation) = one.create(name("books"), settings.clone()).await.unwrap();
    assert_eq!(creation, Creation::Created);
    add(&created, "a", &of_family(1, 1)).await;
    await_until(|| other.get(&name("books")).is_ok()).await;
    let (seen, creation) = other.create(name("books"), settings.clone()).await.unwrap();
    assert_eq!(creation, Creation::Existing);
    let told = add(&seen, "b", &of_family(1, 2)).await.duplicates;
    assert_eq!(told[0].id.as_str(), "a", "both have the same seed");
    // Other collections do not have its documents.
    let default = other.get(&CollectionName::default()).unwrap();
    assert!(add(&default, "b", &of_family(1, 2)).await.duplicates.is_empty());

    other.remove(name("books")).await.unwrap();
    let refused = created
        .add(crate::document("c", "some words here"), akin::engine::AddOptions::default())
        .await;
    assert!(matches!(refused, Err(EngineError::Closed)), "{refused:?}");
    await_until(|| one.get(&name("books")).is_err()).await;
    let (again, _) = one.create(name("books"), settings).await.unwrap();
    assert!(again.list(None, 9).await.unwrap().is_empty());
    while database.sql("SELECT akin.clear(100)") == "t" {}
    assert_eq!(database.sql("SELECT count(*) FROM akin.documents"), "1");
    assert_eq!(database.sql("SELECT count(*) FROM akin.postings"), "32");
    assert_eq!(database.sql("SELECT count(*) FROM akin.collections"), "2");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reindex_keeps_what_another_server_writes_meanwhile() {
    let Some(database) = Database::new() else { return };
    let (one, other) = (collections(&database).await, collections(&database).await);
    one.create(name("books"), CollectionSettings::default()).await.unwrap();
    await_until(|| other.get(&name("books")).is_ok()).await;
    let (old, seen) = (one.get(&name("books")).unwrap(), other.get(&name("books")).unwrap());
    for n in 0..300 {
        add(&old, &format!("a{n}"), &of_family(n % 40, n)).await;
    }
    let settings: CollectionSettings =
        serde_json::from_value(json!({"shingles": {"size": 2}})).unwrap();
    one.reindex(&name("books"), settings.clone()).await.unwrap();
    // Until the swap into the old collection, and then into the new one.
    let mut written = 0;
    while seen.settings() != &settings && written < 5_000 {
        add(&seen, &format!("b{written}"), &of_family(written % 40, written)).await;
        written += 1;
        let status = one.reindex_status(&name("books")).unwrap();
        assert!(status.state != akin::engine::ReindexState::Failed, "{:?}", status.failure);
        let current = other.get(&name("books")).unwrap();
        if current.settings() == &settings {
            break;
        }
    }
    let new = other.get(&name("books")).unwrap();
    assert_eq!(new.settings(), &settings);
    assert_eq!(new.list(None, 100_000).await.unwrap().len() as u64, 300 + written);
    // The handle of the old collection leads to the new one.
    let told = add(&old, "last", &of_family(1, 77)).await;
    assert!(!told.duplicates.is_empty());
    assert!(new.get(&crate::id("last")).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_only_local_collections_have_is_refused_by_name() {
    let Some(database) = Database::new() else { return };
    let collections = collections(&database).await;
    for (settings, named) in [
        (json!({"passages": {"words": 32}}), "passages.words"),
        (json!({"clusters": {"threshold": 0.8}}), "clusters.threshold"),
        (json!({"scheme": {"kind": "prefix"}}), "scheme.kind"),
    ] {
        let settings: CollectionSettings = serde_json::from_value(settings).unwrap();
        let refused = collections.create(name("other"), settings).await.err().unwrap();
        assert!(matches!(refused, EngineError::UnsupportedByBackend { .. }), "{refused:?}");
        assert!(refused.to_string().contains(named), "{refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_settings_than_those_of_the_stored_documents_are_refused() {
    let Some(database) = Database::new() else { return };
    drop(collections(&database).await);
    let store = store(&database.url()).await;
    let other: CollectionSettings =
        serde_json::from_value(json!({"shingles": {"size": 5}})).unwrap();
    let settings = CollectionsSettings {
        collections_max: 10,
        limits_max: LimitSettings::default(),
        opening: Opening::default(),
    };
    let open = move || Collections::open(store, &other, settings).err();
    let refused = tokio::task::spawn_blocking(open).await.unwrap().unwrap();
    assert!(matches!(refused, EngineError::StoreNotOpened { .. }), "{refused}");
}
