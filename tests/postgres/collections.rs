//! Collections that two servers create, use and remove.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use akin::backend::BackendError;
use akin::document::DocumentId;
use akin::engine::{
    Collection, CollectionName, CollectionSettings, Collections, CollectionsSettings, Creation,
    EngineError, LimitSettings, Opening, ReindexState, ReindexStatus,
};
use akin_postgres::{ConnectionSettings, PostgresStore};
use serde_json::json;

use crate::postgres_server::Database;
use crate::{add, connections, of_family, store};

/// All collections as another server sees them, which follows the changes of others.
async fn collections(database: &Database) -> Arc<Collections> {
    collections_within(database, connections().deadline).await
}

/// The new collection `books`.
async fn books(one: &Arc<Collections>) -> Arc<Collection> {
    one.create(name("books"), CollectionSettings::default()).await.unwrap().0
}

/// The collections of a server that waits so long for an answer of the database.
async fn collections_within(database: &Database, deadline: Duration) -> Arc<Collections> {
    let settings = ConnectionSettings { deadline, ..connections() };
    let store = Arc::new(PostgresStore::open(&database.url(), &settings).await.unwrap());
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

/// Waits for another server, a task or the database.
async fn await_until(mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        tokio::time::sleep(Duration::from_millis(5)).await;
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
    assert!(matches!(refused, Err(EngineError::Backend(BackendError::Closed))), "{refused:?}");
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
    books(&one).await;
    await_until(|| other.get(&name("books")).is_ok()).await;
    let (old, seen) = (one.get(&name("books")).unwrap(), other.get(&name("books")).unwrap());
    for n in 0..300 {
        add(&old, &format!("a{n}"), &of_family(n % 40, n)).await;
    }
    let settings = of_pairs_of_words();
    one.reindex(&name("books"), settings.clone()).await.unwrap();
    // Until the swap into the old collection, and then into the new one.
    let mut written = 0;
    while seen.settings() != &settings && written < 5_000 {
        add(&seen, &format!("b{written}"), &of_family(written % 40, written)).await;
        written += 1;
        let status = one.reindex_status(&name("books")).unwrap();
        assert!(status.state != ReindexState::Failed, "{:?}", status.failure);
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

/// The transaction is older than the last changes, which readers therefore do not see yet.
#[tokio::test(flavor = "multi_thread")]
async fn a_reindex_does_not_wait_for_transactions_that_write_elsewhere() {
    let Some(database) = Database::new() else { return };
    let Some(elsewhere) = Database::new() else { return };
    let one = collections_within(&database, Duration::from_secs(2)).await;
    let old = books(&one).await;
    let running = elsewhere.begin();
    for n in 0..3 {
        add(&old, &format!("d{n}"), &of_family(1, n)).await;
    }
    old.remove(&crate::id("d0")).await.unwrap();
    one.reindex(&name("books"), of_pairs_of_words()).await.unwrap();
    let status = reindexed(&one).await;
    assert_eq!(status.state, ReindexState::Done, "{:?}", status.failure);
    let new = one.get(&name("books")).unwrap();
    assert_eq!(new.list(None, 9).await.unwrap().len(), 2);
    drop(running);
}

/// Changes have not settled while an older transaction runs, and may be many.
#[tokio::test(flavor = "multi_thread")]
async fn a_reindex_copies_many_changes_that_have_not_settled() {
    let Some(database) = Database::new() else { return };
    let Some(elsewhere) = Database::new() else { return };
    let one = collections(&database).await;
    let old = books(&one).await;
    for n in 0..100 {
        add(&old, &format!("d{n}"), &of_family(n, n)).await;
    }
    let running = elsewhere.begin();
    change_often(&database, 3_000);
    one.reindex(&name("books"), of_pairs_of_words()).await.unwrap();
    let mut kept: BTreeSet<_> = (0..100).map(|n| format!("d{n}")).collect();
    let mut written = 0;
    while one.reindex_status(&name("books")).unwrap().state == ReindexState::Running {
        let (new, gone) = (format!("n{written}"), format!("d{written}"));
        add(&old, &new, &of_family(written, 100)).await;
        kept.insert(new);
        if kept.remove(&gone) {
            old.remove(&crate::id(&gone)).await.unwrap();
        }
        written += 1;
    }
    drop(running);
    let status = reindexed(&one).await;
    assert_eq!(status.state, ReindexState::Done, "{:?}", status.failure);
    assert!(written > 1, "nothing was written meanwhile");
    let new = one.get(&name("books")).unwrap().list(None, 100_000).await.unwrap();
    assert_eq!(new.iter().map(DocumentId::to_string).collect::<BTreeSet<_>>(), kept);
}

/// Writes would pause for as long as it takes to compare the changes again. A reindex after one that
/// is cancelled meanwhile is not refused, however late the remains of that one are given up.
#[tokio::test(flavor = "multi_thread")]
async fn a_reindex_with_too_many_changes_that_have_not_settled_waits_until_they_have() {
    let Some(database) = Database::new() else { return };
    let Some(elsewhere) = Database::new() else { return };
    let one = collections(&database).await;
    let old = books(&one).await;
    add(&old, "a", &of_family(1, 1)).await;
    database.sql(
        "CREATE FUNCTION akin.delay() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN PERFORM pg_sleep(0.5); RETURN NEW; END';
         CREATE TRIGGER delay BEFORE UPDATE OF built_at ON akin.collections
             FOR EACH ROW WHEN (NEW.built_at = '-infinity') EXECUTE FUNCTION akin.delay()",
    );
    let running = elsewhere.begin();
    change_often(&database, 50_100);
    one.reindex(&name("books"), of_pairs_of_words()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(4)).await;
    let status = one.cancel_reindex(&name("books")).unwrap();
    assert_eq!(status.state, ReindexState::Running, "{:?}", status.failure);
    let failure = reindexed(&one).await.failure;
    assert!(matches!(failure, Some(EngineError::ReindexCancelled)), "{failure:?}");
    one.reindex(&name("books"), of_pairs_of_words()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(4)).await;
    add(&old, "b", &of_family(2, 1)).await;
    drop(running);
    let status = reindexed(&one).await;
    assert_eq!(status.state, ReindexState::Done, "{:?}", status.failure);
    let new = one.get(&name("books")).unwrap().list(None, 9).await.unwrap();
    assert_eq!(new.iter().map(DocumentId::as_str).collect::<Vec<_>>(), ["a", "b"]);
}

/// So many changes of `books`, in one transaction: removals of ten documents, and versions that
/// were replaced since.
fn change_often(database: &Database, changes: usize) {
    database.sql(&format!(
        "INSERT INTO akin.changes (collection, ordinal, removed_id)
         SELECT c.collection, n, CASE WHEN n % 2 = 0 THEN 'gone' || n % 10 END
         FROM akin.collections c, generate_series(1, {changes}) n WHERE c.name = 'books'"
    ));
}

/// The status of the last reindex of `books`, once it has ended.
async fn reindexed(one: &Collections) -> ReindexStatus {
    let status = || one.reindex_status(&name("books")).unwrap();
    await_until(|| status().state != ReindexState::Running).await;
    status()
}

fn of_pairs_of_words() -> CollectionSettings {
    serde_json::from_value(json!({"shingles": {"size": 2}})).unwrap()
}

/// A name that is taken too late for its taker is still taken: a collection that has a name is not
/// removed as the remains of a failure.
#[tokio::test(flavor = "multi_thread")]
async fn a_collection_stays_whose_name_was_given_too_late_for_its_server() {
    let Some(database) = Database::new() else { return };
    let one = collections_within(&database, Duration::from_secs(1)).await;
    let old = books(&one).await;
    for n in 0..3 {
        add(&old, &format!("d{n}"), &of_family(1, n)).await;
    }
    database.sql(
        "CREATE FUNCTION akin.delay() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN PERFORM pg_sleep(2); RETURN NULL; END';
         CREATE CONSTRAINT TRIGGER delay AFTER UPDATE OF name ON akin.collections
             DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.name IS NOT NULL)
             EXECUTE FUNCTION akin.delay()",
    );
    one.reindex(&name("books"), of_pairs_of_words()).await.unwrap();
    await_until(|| one.reindex_status(&name("books")).unwrap().state == ReindexState::Failed).await;
    let refused = one.create(name("films"), CollectionSettings::default()).await.err().unwrap();
    assert!(
        matches!(refused, EngineError::Backend(BackendError::OutOfService { .. })),
        "{refused}"
    );
    // All that was sent has happened.
    let active = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
        AND application_name = 'akin' AND state <> 'idle'";
    await_until(|| database.sql(active) == "0").await;
    while database.sql("SELECT akin.clear(100)") == "t" {}
    let other = collections(&database).await;
    let new = other.get(&name("books")).unwrap();
    assert_eq!(new.settings(), &of_pairs_of_words());
    assert_eq!(new.list(None, 9).await.unwrap().len(), 3);
    add(&other.get(&name("films")).unwrap(), "f", &of_family(2, 1)).await;
}

/// Only the transaction that keeps the writers waiting gives the name away.
#[tokio::test(flavor = "multi_thread")]
async fn a_reindex_that_no_longer_keeps_writers_waiting_fails() {
    let Some(database) = Database::new() else { return };
    let one = collections(&database).await;
    let old = books(&one).await;
    add(&old, "early", &of_family(1, 1)).await;
    database.sql(
        "ALTER FUNCTION akin.take_over RENAME TO take_over_at_once;
         CREATE FUNCTION akin.take_over(old int, new int) RETURNS boolean LANGUAGE plpgsql AS
             'BEGIN PERFORM pg_sleep(3); RETURN akin.take_over_at_once(old, new); END'",
    );
    one.reindex(&name("books"), of_pairs_of_words()).await.unwrap();
    let takes_over = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
        AND application_name = 'akin' AND state = 'active' AND query LIKE '%akin.take_over%'";
    await_until(|| database.sql(takes_over) == "1").await;
    let ended = database.sql(
        "SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_database d ON d.oid = database
         WHERE datname = current_database() AND locktype = 'advisory' AND classid = 1634429294
         AND objid = 2 AND mode = 'ExclusiveLock' AND granted",
    );
    assert_eq!(ended, "t");
    add(&old, "late", &of_family(1, 2)).await;
    assert_eq!(reindexed(&one).await.state, ReindexState::Failed);
    let kept = one.get(&name("books")).unwrap().list(None, 9).await.unwrap();
    assert_eq!(kept.iter().map(DocumentId::as_str).collect::<Vec<_>>(), ["early", "late"]);
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
        assert!(
            matches!(refused, EngineError::Backend(BackendError::Unsupported { .. })),
            "{refused:?}"
        );
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
    assert!(
        matches!(refused, EngineError::Backend(BackendError::OtherSettings { .. })),
        "{refused}"
    );
    let told = refused.to_string();
    // `akin reindex` is for data directories.
    assert!(told.contains("export it") && !told.contains("reindex"), "{told}");
}
