//! Servers that share a collection in Valkey. Two engines have separate connections, as two
//! processes would.

use std::path::Path;

use akin::engine::{AddOptions, AddStatus, CollectionSettings, Engine, OnDuplicate, Opening};
use tempfile::tempdir;

use crate::corpus::{edited, words};
use crate::numbers::Numbers;
use crate::{add, backends, id, open_shared, similar, text};

const SKIP: AddOptions = AddOptions {
    check: true,
    on_duplicate: OnDuplicate::Skip,
    threshold: None,
    points: None,
    passages: None,
    memory: None,
};

fn two(dir: &Path) -> [Engine; 2] {
    two_with(dir, &CollectionSettings::default())
}

fn two_with(dir: &Path, settings: &CollectionSettings) -> [Engine; 2] {
    [(); 2].map(|()| {
        let mut settings = settings.clone();
        settings.sketch.seed = Some(0);
        let shared = backends::in_valkey(dir);
        open_shared(&*shared, settings, Opening::default()).unwrap()
    })
}

fn near_copies(round: u64, copies: usize) -> Vec<String> {
    let mut numbers = Numbers(round);
    let original = words(&mut numbers, 400);
    (0..copies).map(|_| edited(&original, 200, &mut numbers).join(" ")).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn servers_see_the_writes_of_each_other() {
    let dir = tempdir().unwrap();
    let [ours, theirs] = two(dir.path());
    add(&ours, text("a", "one two three four five six")).await;
    assert_eq!(add(&theirs, text("b", "one two three four five six")).await.duplicates.len(), 1);
    assert_eq!(similar(&ours, "a", 0.9).await.len(), 1);
    let replaced = add(&theirs, text("a", "seven eight nine ten eleven twelve")).await;
    assert_eq!(replaced.status, AddStatus::Replaced);
    assert_eq!(similar(&ours, "b", 0.9).await, []);
    assert_eq!(
        add(&ours, text("a", "seven eight nine ten eleven twelve")).await.status,
        AddStatus::Unchanged
    );
    ours.remove(&id("b")).await.unwrap();
    assert!(theirs.remove(&id("b")).await.is_err());
    assert_eq!(theirs.list(None, 10).await.unwrap(), [id("a")]);
    let stats = theirs.stats().await.unwrap().backend;
    assert_eq!((stats.documents, stats.distinct_sets), (1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_posts_to_different_servers_report_a_duplicate() {
    let dir = tempdir().unwrap();
    let engines = two(dir.path());
    for round in 0..200 {
        let adds = engines.clone().into_iter().zip(near_copies(round, 2)).enumerate();
        let adds = adds.map(|(n, (engine, copy))| {
            let name = format!("r{round}/{n}");
            tokio::spawn(async move { add(&engine, text(&name, &copy)).await.duplicates.len() })
        });
        let told = futures_util::future::join_all(adds.collect::<Vec<_>>()).await;
        let told: usize = told.into_iter().map(Result::unwrap).sum();
        assert!(told >= 1, "round {round}: neither reports the other");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_skip_across_servers_stores_exactly_one() {
    let dir = tempdir().unwrap();
    let engines = two(dir.path());
    for round in 0..100 {
        let adds = near_copies(5_000 + round, 6).into_iter().enumerate().map(|(n, copy)| {
            let (engine, name) = (engines[n % 2].clone(), format!("r{round}/{n}"));
            tokio::spawn(async move { engine.add(text(&name, &copy), SKIP).await.unwrap().status })
        });
        let added = futures_util::future::join_all(adds.collect::<Vec<_>>()).await;
        let stored =
            added.into_iter().filter(|added| *added.as_ref().unwrap() == AddStatus::Created);
        assert_eq!(stored.count(), 1, "round {round}");
    }
    assert_eq!(engines[0].stats().await.unwrap().backend.documents, 100);
}

/// Ten times as many as a document reads of its rivals.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_equal_documents_at_once_exactly_one_is_stored() {
    let dir = tempdir().unwrap();
    let mut settings = CollectionSettings::default();
    settings.limits.checked_max = 4;
    let engines = two_with(dir.path(), &settings);
    for round in 0..20 {
        let copy = near_copies(9_000 + round, 1).remove(0);
        let adds = (0..40).map(|n| {
            let (engine, name, copy) =
                (engines[n % 2].clone(), format!("r{round}/{n}"), copy.clone());
            tokio::spawn(async move { engine.add(text(&name, &copy), SKIP).await.unwrap().status })
        });
        let added = futures_util::future::join_all(adds.collect::<Vec<_>>()).await;
        let stored =
            added.into_iter().filter(|added| *added.as_ref().unwrap() == AddStatus::Created);
        assert_eq!(stored.count(), 1, "round {round}");
    }
}
