//! Checking and storing is one step, whatever else arrives meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use akin::document::{Content, Document, Metadata};
use akin::engine::{
    AddOptions, AddStatus, Clock, CollectionSettings, Lookup, MatchDetails, Mode, OnDuplicate,
    Probe,
};
use akin::storage::StorageSettings;
use futures_util::future::join;
use tempfile::tempdir;

use crate::corpus::{edited, words};
use crate::numbers::Numbers;
use crate::{add, arrive, id, lookup, of_index, open, open_with, similar, text};

const SKIP: AddOptions = AddOptions {
    check: true,
    on_duplicate: OnDuplicate::Skip,
    threshold: None,
    points: None,
    passages: None,
    memory: None,
};

/// `copies` texts that all resemble each other at 0.8 and more.
fn near_copies(round: u64, copies: usize) -> Vec<String> {
    let mut numbers = Numbers(round);
    let original = words(&mut numbers, 400);
    (0..copies).map(|_| edited(&original, 200, &mut numbers).join(" ")).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_skip_stores_exactly_one() {
    let dir = tempdir().unwrap();
    let engine = open(dir.path());
    for round in 0..20 {
        let arrivals: Vec<_> = near_copies(round, 8)
            .into_iter()
            .enumerate()
            .map(|(n, copy)| {
                let (engine, name) = (engine.clone(), format!("r{round}/{n}"));
                tokio::spawn(async move { engine.add(text(&name, &copy), SKIP).await.unwrap() })
            })
            .collect();
        let mut stored = 0;
        for arrival in arrivals {
            let added = arrival.await.unwrap();
            assert_eq!(added.status == AddStatus::Skipped, !added.duplicates.is_empty());
            stored += usize::from(added.status == AddStatus::Created);
        }
        assert_eq!(stored, 1, "round {round}");
    }
    assert_eq!(engine.stats().await.unwrap().backend.size.documents, 20);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_two_concurrent_documents_reports_the_other() {
    let dir = tempdir().unwrap();
    let engine = open(dir.path());
    for round in 0..100 {
        let mut copies = near_copies(1_000 + round, 2).into_iter();
        let (first, second) = (copies.next().unwrap(), copies.next().unwrap());
        let [first, second] = [("a", first), ("b", second)].map(|(name, copy)| {
            let (engine, name) = (engine.clone(), format!("r{round}/{name}"));
            tokio::spawn(async move { add(&engine, text(&name, &copy)).await })
        });
        let (first, second) = (first.await.unwrap(), second.await.unwrap());
        let told = first.duplicates.iter().chain(&second.duplicates).count();
        assert_eq!(told, 1, "round {round}: one of the two reports the other");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_keep_and_skip_agree_on_the_order() {
    let dir = tempdir().unwrap();
    let engine = open(dir.path());
    for round in 0..100 {
        let mut copies = near_copies(2_000 + round, 2).into_iter();
        let keep = {
            let (engine, copy) = (engine.clone(), copies.next().unwrap());
            tokio::spawn(async move { add(&engine, text(&format!("keep{round}"), &copy)).await })
        };
        let skip = {
            let (engine, copy) = (engine.clone(), copies.next().unwrap());
            let document = text(&format!("skip{round}"), &copy);
            tokio::spawn(async move { engine.add(document, SKIP).await.unwrap() })
        };
        let (keep, skip) = (keep.await.unwrap(), skip.await.unwrap());
        match skip.status {
            AddStatus::Skipped => {
                assert!(keep.duplicates.is_empty(), "no lost document is reported");
            }
            _ => assert_eq!(keep.duplicates[0].id, skip.id, "the kept one came second"),
        }
    }
}

#[tokio::test]
async fn posting_an_id_again_replaces_the_document() {
    let dir = tempdir().unwrap();
    let engine = open(dir.path());
    let [old, new] = ["one two three four five six", "seven eight nine ten eleven twelve"];
    assert_eq!(add(&engine, text("a", old)).await.status, AddStatus::Created);
    assert_eq!(add(&engine, text("a", old)).await.status, AddStatus::Unchanged);
    let replaced = add(&engine, text("a", new)).await;
    assert_eq!((replaced.status, replaced.duplicates.len()), (AddStatus::Replaced, 0));
    assert!(add(&engine, text("b", old)).await.duplicates.is_empty(), "the old text is gone");
    assert_eq!(add(&engine, text("c", new)).await.duplicates[0].id, id("a"));
    engine.remove(&id("a")).await.unwrap();
    assert!(engine.remove(&id("a")).await.is_err());
    engine.remove(&id("b")).await.unwrap();
    engine.remove(&id("c")).await.unwrap();
    let stats = engine.stats().await.unwrap().backend;
    assert_eq!((stats.size.documents, stats.size.distinct_sets), (0, of_index(0)));
    assert_eq!((stats.size.keys, stats.size.postings), (of_index(0), of_index(0)));
}

#[tokio::test]
async fn a_stored_document_posted_again_is_not_skipped() {
    let dir = tempdir().unwrap();
    let engine = open(dir.path());
    let page = || text("a", "one two three four five six");
    add(&engine, page()).await;
    add(&engine, text("b", "one two three four five six")).await;
    let again = engine.add(page(), SKIP).await.unwrap();
    assert_eq!((again.status, again.duplicates.len()), (AddStatus::Unchanged, 1));
    let other = engine.add(text("c", "one two three four five six"), SKIP).await.unwrap();
    assert_eq!(other.status, AddStatus::Skipped);
}

/// The page that the mirror resembles is replaced by an earlier document of the same call, which
/// waits for the first document.
#[tokio::test]
async fn a_version_that_an_earlier_write_replaces_is_no_reason_to_skip() {
    let dir = tempdir().unwrap();
    let engine = open(dir.path());
    let (old, new) = (near_copies(11, 2), near_copies(12, 2));
    add(&engine, text("page", &old[0])).await;
    let batch = [("first", &new[0]), ("page", &new[1]), ("mirror", &old[1])];
    let batch = batch.map(|(id, of)| (engine.prepare(text(id, of)).unwrap(), SKIP));
    let added = engine.add_all(batch.into()).await;
    let statuses: Vec<_> = added.into_iter().map(|added| added.unwrap().status).collect();
    assert_eq!(statuses, [AddStatus::Created, AddStatus::Replaced, AddStatus::Created]);
    let again = engine.add(text("again", &old[0]), SKIP).await.unwrap();
    assert_eq!(again.status, AddStatus::Skipped, "the mirror stays");
}

#[tokio::test]
async fn a_document_that_an_earlier_write_removes_is_no_reason_to_skip() {
    let dir = tempdir().unwrap();
    let engine = open(dir.path());
    let near = near_copies(11, 2);
    add(&engine, text("mirror", &near[0])).await;
    let removal = id("mirror");
    let (removed, added) =
        join(engine.remove(&removal), engine.add(text("again", &near[1]), SKIP)).await;
    removed.unwrap();
    assert_eq!(added.unwrap().status, AddStatus::Created);
}

/// The second version of a document arrives before a third document that resembles the first only.
#[tokio::test]
async fn a_version_in_flight_that_is_replaced_is_no_reason_to_skip() {
    let dir = tempdir().unwrap();
    let engine = open(dir.path());
    let (old, new) = (near_copies(13, 2), near_copies(14, 1));
    let batch = [("page", &old[0]), ("page", &new[0]), ("mirror", &old[1])];
    let batch = batch.map(|(id, of)| (engine.prepare(text(id, of)).unwrap(), SKIP));
    let added = engine.add_all(batch.into()).await;
    let statuses: Vec<_> = added.into_iter().map(|added| added.unwrap().status).collect();
    assert_eq!(statuses, [AddStatus::Created, AddStatus::Replaced, AddStatus::Created]);
}

/// A crawler that comes again posts a page that has changed a little, of which there is a mirror.
#[tokio::test]
async fn skip_replaces_a_stored_document_and_reports_its_duplicates() {
    let dir = tempdir().unwrap();
    let engine = open(dir.path());
    let near = near_copies(7, 3);
    for (name, content) in ["page", "mirror"].into_iter().zip(&near) {
        add(&engine, text(name, content)).await;
    }
    let again = engine.add(text("page", &near[2]), SKIP).await.unwrap();
    assert_eq!((again.status, &again.duplicates[0].id), (AddStatus::Replaced, &id("mirror")));
    let stored = engine.get(&id("page")).await.unwrap();
    assert_eq!(stored.content, Some(Content::Text(near[2].clone())));
    let new = engine.add(text("copy", &near[2]), SKIP).await.unwrap();
    assert_eq!(new.status, AddStatus::Skipped);
}

#[tokio::test]
async fn skip_replaces_a_version_that_arrived_earlier_and_is_not_stored_yet() {
    let dir = tempdir().unwrap();
    let engine = open(dir.path());
    let near = near_copies(7, 3);
    add(&engine, text("mirror", &near[0])).await;
    let versions = [(&near[1], AddOptions::default()), (&near[2], SKIP)];
    let versions = versions
        .map(|(content, options)| (engine.prepare(text("page", content)).unwrap(), options));
    let added = engine.add_all(versions.into()).await.into_iter();
    let added = added.map(|added| added.unwrap().status);
    assert_eq!(added.collect::<Vec<_>>(), [AddStatus::Created, AddStatus::Replaced]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn skip_and_a_removal_of_the_stored_document_agree_on_their_order() {
    let dir = tempdir().unwrap();
    let engine = open(dir.path());
    for round in 0..50 {
        let near = near_copies(3_000 + round, 3);
        let (page, mirror) = (format!("page{round}"), format!("mirror{round}"));
        for (name, content) in [&page, &mirror].into_iter().zip(&near) {
            add(&engine, text(name, content)).await;
        }
        let removal = {
            let (engine, page) = (engine.clone(), id(&page));
            tokio::spawn(async move { engine.remove(&page).await })
        };
        // Near copies may be equal.
        let changed = format!("{} again", near[2]);
        let again = engine.add(text(&page, &changed), SKIP).await.unwrap();
        removal.await.unwrap().unwrap();
        assert!(matches!(again.status, AddStatus::Replaced | AddStatus::Skipped), "{again:?}");
        assert!(engine.get(&id(&page)).await.is_err(), "round {round}: it was removed last");
    }
}

#[tokio::test]
async fn skip_does_not_replace_an_expired_document() {
    let dir = tempdir().unwrap();
    let now_ms = Arc::new(AtomicI64::new(1_800_000_000_000));
    let clock = Arc::clone(&now_ms);
    let clock = Clock::new(move || clock.load(Ordering::Relaxed));
    let (settings, storage) = (CollectionSettings::default(), StorageSettings::default());
    let engine = open_with(dir.path(), settings, &storage, 1 << 20, clock).unwrap();
    let near = near_copies(7, 3);
    let page = Document { expires_at_ms: Some(1_800_000_001_000), ..text("page", &near[0]) };
    add(&engine, page).await;
    add(&engine, text("mirror", &near[1])).await;
    now_ms.store(1_800_000_001_000, Ordering::Relaxed);
    let again = engine.add(text("page", &near[2]), SKIP).await.unwrap();
    assert_eq!(again.status, AddStatus::Skipped);
}

#[tokio::test]
async fn new_metadata_replaces_the_document() {
    let dir = tempdir().unwrap();
    let engine = open(dir.path());
    let with = |json: &str| {
        let mut document = text("a", "one two three four");
        document.metadata = Some(Metadata::from_json(json).unwrap());
        document
    };
    assert_eq!(add(&engine, with(r#"{"v": 1}"#)).await.status, AddStatus::Created);
    assert_eq!(add(&engine, with(r#"{"v": 1}"#)).await.status, AddStatus::Unchanged);
    assert_eq!(add(&engine, with(r#"{"v": 2}"#)).await.status, AddStatus::Replaced);
    let include = MatchDetails { metadata: true, ..MatchDetails::default() };
    let probe = Probe::Content(text("b", "one two three four").content);
    let mut found = engine.similar(probe, Lookup::default()).await.unwrap().matches;
    engine.read_details(&mut found, include, None).await.unwrap();
    assert_eq!(found[0].metadata.as_ref().unwrap().as_json(), r#"{"v": 2}"#);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_posts_of_one_id_leave_one_document() {
    let dir = tempdir().unwrap();
    let engine = open(dir.path());
    let writers: Vec<_> = (0..200)
        .map(|n| {
            let engine = engine.clone();
            tokio::spawn(async move {
                if n % 7 == 3 {
                    let _ = engine.remove(&id("a")).await;
                } else {
                    add(&engine, text("a", &format!("version number {n} of the page"))).await;
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    add(&engine, text("a", "the last version of all")).await;
    let stats = engine.stats().await.unwrap().backend;
    assert_eq!((stats.size.documents, stats.size.distinct_sets), (1, of_index(1)));
    assert_eq!(stats.size.postings, of_index(32));
    add(&engine, text("b", "the last version of all")).await;
    assert_eq!(similar(&engine, "b", 0.8).await, [("a".to_owned(), 1.0)]);
}

#[tokio::test]
async fn an_aborted_addition_leaves_nothing_in_flight() {
    let dir = tempdir().unwrap();
    let engine = open(dir.path());
    drop(arrive(&engine, text("a", "one two three four five"), SKIP));
    let added = engine.add(text("b", "one two three four five"), SKIP).await.unwrap();
    assert_eq!(added.status, AddStatus::Created);
}

/// More rivals than are looked at come before both, and none of them is stored in the end.
#[tokio::test]
async fn the_search_repeats_once_all_rivals_are_withdrawn() {
    let dir = tempdir().unwrap();
    let engine = open(dir.path());
    let mut arrived = Vec::new();
    for (number, copy) in near_copies(4_000, 62).into_iter().enumerate() {
        arrived.push(arrive(&engine, text(&number.to_string(), &copy), SKIP));
    }
    let (last, first) = (arrived.pop().unwrap(), arrived.pop().unwrap());
    let (last, first) = tokio::join!(last, async {
        drop(arrived);
        first.await
    });
    assert_eq!(first.status, AddStatus::Created);
    assert_eq!((last.status, last.duplicates[0].id.as_str()), (AddStatus::Skipped, "60"));
}

#[tokio::test]
async fn a_document_about_to_be_replaced_is_reported_once() {
    let dir = tempdir().unwrap();
    let engine = open(dir.path());
    let page = near_copies(3_000, 1).remove(0);
    let ends = ["", " more", " more and", " more and more"];
    let [old, between, new, other] = ends.map(|end| format!("{page}{end}"));
    add(&engine, text("a", &old)).await;
    add(&engine, text("c", &between)).await;
    let _replacing = arrive(&engine, text("a", &new), AddOptions::default());
    let told = add(&engine, text("b", &other)).await.duplicates;
    assert_eq!(told.iter().map(|found| found.id.as_str()).collect::<Vec<_>>(), ["a", "c"]);
}

/// The set of what is replaced is read from disk when it is gone there already.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_document_read_from_disk_is_found_during_replacement() {
    let dir = tempdir().unwrap();
    let settings = CollectionSettings::default();
    let storage = StorageSettings::default();
    let engine = open_with(dir.path(), settings, &storage, 0, Clock::system()).unwrap();
    let words = "one two three four five six";
    add(&engine, text("a", words)).await;
    let replacing = {
        let engine = engine.clone();
        tokio::spawn(async move {
            for n in 0..1_000 {
                let mut document = text("a", words);
                document.metadata = Metadata::from_json(&format!("{{\"n\": {n}}}")).ok();
                add(&engine, document).await;
            }
        })
    };
    while !replacing.is_finished() {
        let probe = Probe::Content(Content::Text(words.to_owned()));
        let answer = engine.similar(probe, lookup(0.8, Mode::Verified)).await.unwrap();
        assert!(answer.matches.len() == 1 || answer.searched.truncated, "{answer:?}");
        assert_eq!(engine.get(&id("a")).await.unwrap().id, id("a"));
        assert_eq!(engine.list(None, 9).await.unwrap(), [id("a")]);
    }
    replacing.await.unwrap();
}

#[tokio::test]
async fn equal_sets_are_indexed_once() {
    let dir = tempdir().unwrap();
    let engine = open(dir.path());
    let copies = 2_000;
    for batch in 0..copies / 100 {
        let adds = (0..100).map(|n| {
            let engine = engine.clone();
            let document = text(&format!("{batch}/{n}"), "the very same page, word for word");
            async move { add(&engine, document).await }
        });
        futures_util::future::join_all(adds).await;
    }
    let stats = engine.stats().await.unwrap().backend;
    assert_eq!(
        (stats.size.documents, stats.size.distinct_sets, stats.size.postings),
        (copies, of_index(1), of_index(32))
    );
    let last = add(&engine, text("last", "the very same page, word for word")).await;
    assert_eq!((last.duplicates.len(), last.more), (20, true));
    assert_eq!(similar(&engine, "last", 0.8).await.len() as u64, copies);
}
