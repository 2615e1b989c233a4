//! Matches and removals by what documents' metadata and times are.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use akin::document::{Content, Document, Metadata};
use akin::engine::{
    AddOptions, Answer, Clock, CollectionSettings, Conditions, Engine, EngineError, Filter, Lookup,
    Mode, Probe, Removed,
};
use akin::storage::StorageSettings;
use futures_util::{FutureExt, future::join_all};
use tempfile::tempdir;

use crate::corpus::{families, words};
use crate::numbers::Numbers;
use crate::{CACHE_BYTES, add, id, lookup, of_index, open, open_with, text, try_open};

fn by_filter(expression: &str) -> Conditions {
    let filter = Filter::parse(expression, 1_000).unwrap();
    Conditions { filter: Some(Arc::new(filter)), ..Conditions::default() }
}

/// Whether the document with this number is meant.
type Holds = fn(usize) -> bool;

/// A document with the metadata `{"n": …, "even": …}`, but for each fifth, which has none.
fn numbered((n, (name, words)): (usize, (String, String))) -> Document {
    let json = format!(r#"{{"n": {n}, "even": {}}}"#, n % 2 == 0);
    let metadata = (n % 5 != 0).then(|| Metadata::from_json(&json).unwrap());
    Document { metadata, ..text(&name, &words) }
}

/// An engine whose clock is one millisecond later each time that it is looked at.
fn open_ticking(dir: &Path) -> Engine {
    let now_ms = AtomicI64::new(0);
    let clock = Clock::new(move || now_ms.fetch_add(1, Ordering::Relaxed));
    let (settings, storage) = (CollectionSettings::default(), StorageSettings::default());
    open_with(dir, settings, &storage, CACHE_BYTES, clock).unwrap()
}

async fn look_up(engine: &Engine, name: &str, limit: usize, conditions: &Conditions) -> Answer {
    let threshold = Some(0.6.try_into().unwrap());
    let (mode, conditions) = (Some(Mode::Verified), conditions.clone());
    let lookup = Lookup { threshold, limit, mode, conditions, ..Lookup::default() };
    engine.similar(Probe::Stored(id(name)), lookup).await.unwrap()
}

fn ids(answer: &Answer) -> Vec<&str> {
    answer.matches.iter().map(|found| found.id.as_str()).collect()
}

#[tokio::test]
async fn a_filtered_lookup_equals_filtering_all_matches() {
    let dir = tempdir().unwrap();
    let engine = open_ticking(dir.path());
    let documents: Vec<Document> = families(8, 31).into_iter().enumerate().map(numbered).collect();
    for document in documents.clone() {
        add(&engine, document).await;
    }
    let middle_ms = engine.get(&documents[24].id).await.unwrap().stored_at_ms;
    let before = Conditions { stored_before_ms: Some(middle_ms), ..Conditions::default() };
    let after = Conditions { stored_after_ms: Some(middle_ms), ..by_filter("@.even == false") };
    let conditions: [(Conditions, Holds); 5] = [
        (by_filter("@.even == true"), |n| n % 5 != 0 && n % 2 == 0),
        (by_filter("!@.even"), |n| n % 5 == 0),
        (by_filter("@.n > 10 && @.n < 30"), |n| n % 5 != 0 && n > 10 && n < 30),
        (before, |n| n < 24),
        (after, |n| n > 24 && n % 5 != 0 && n % 2 == 1),
    ];
    let mut told = 0;
    for document in &documents {
        let name = document.id.as_str();
        let all = look_up(&engine, name, 1_000, &Conditions::default()).await;
        for (conditions, holds) in &conditions {
            let number = |name: &str| documents.iter().position(|d| d.id.as_str() == name).unwrap();
            let mut expected = ids(&all);
            expected.retain(|name| holds(number(name)));
            for limit in [1, 1_000] {
                let answer = look_up(&engine, name, limit, conditions).await;
                assert_eq!(ids(&answer), expected[..expected.len().min(limit)], "{name}");
                assert!(!answer.searched.truncated);
                for found in &answer.matches {
                    let same = all.matches.iter().find(|other| other.id == found.id).unwrap();
                    assert_eq!(format!("{found:?}"), format!("{same:?}"));
                }
                told += answer.matches.len();
            }
        }
    }
    assert!(told > 100, "there was nothing to be told: {told}");
}

/// Of equal documents any may be the only one that meets the filter.
#[tokio::test]
async fn a_filter_examines_more_equal_documents_than_a_lookup_has_candidates() {
    let dir = tempdir().unwrap();
    let mut settings = CollectionSettings::default();
    settings.limits.candidates_max = 10;
    let engine = try_open(dir.path(), settings).unwrap();
    for n in 0..50 {
        let metadata = Metadata::from_json(&format!(r#"{{"n": {n}}}"#)).ok();
        let document = text(&format!("{n}"), "one two three four five six seven eight");
        add(&engine, Document { metadata, ..document }).await;
    }
    let modes = [(None, Mode::Verified), (None, Mode::Estimated), (None, Mode::Exact)];
    let nearest = NonZeroUsize::new(3);
    for (k, mode) in
        modes.into_iter().chain([(nearest, Mode::Verified), (nearest, Mode::Estimated)])
    {
        for n in [0, 20, 49] {
            let conditions = by_filter(&format!("@.n == {n}"));
            let (mode, probe) = (Some(mode), Probe::Stored(id("7")));
            let lookup = Lookup { k, mode, conditions, ..Lookup::default() };
            let answer = engine.similar(probe, lookup).await.unwrap();
            assert_eq!(
                (ids(&answer), answer.searched.truncated),
                (vec![n.to_string().as_str()], false)
            );
        }
    }
}

#[tokio::test]
async fn a_lookup_beyond_filtered_max_is_truncated() {
    let dir = tempdir().unwrap();
    let mut settings = CollectionSettings::default();
    settings.limits.filtered_max = 100;
    let engine = try_open(dir.path(), settings).unwrap();
    let page = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen";
    // All members of two sets are found, one more than are held against a filter.
    let documents = (0..101).map(|n| {
        let end = if n < 99 { "" } else { " fifteen" };
        let metadata = Metadata::from_json(&format!(r#"{{"n": {n}}}"#)).ok();
        Document { metadata, ..text(&format!("{n}"), &format!("{page}{end}")) }
    });
    join_all(documents.map(|document| add(&engine, document))).await;
    let look_up = async |limit, conditions: &Conditions| {
        let (threshold, mode) = (Some(0.6.try_into().unwrap()), Some(Mode::Verified));
        let conditions = conditions.clone();
        let probe = Probe::Content(Content::Text(page.to_owned()));
        let lookup = Lookup { threshold, limit, mode, conditions, ..Lookup::default() };
        engine.similar(probe, lookup).await.unwrap()
    };
    let all = look_up(1_000, &Conditions::default()).await;
    assert_eq!((all.matches.len(), all.searched.truncated), (101, false));
    let first = all.matches[0].id.clone();
    // Of the two documents that agree least one is the hundredth, and the other is left out.
    let mut found = 0;
    for number in [99, 100] {
        let answer = look_up(1_000, &by_filter(&format!("@.n == {number}"))).await;
        assert!(answer.searched.truncated);
        found += answer.matches.len();
    }
    assert_eq!(found, 1);
    let of_first = look_up(1, &by_filter(&format!("@.n == {first}"))).await;
    assert_eq!((ids(&of_first), of_first.searched.more), (vec![first.as_str()], false));
}

/// The one that meets the filter agrees no better than others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_filter_finds_its_only_match_among_near_copies() {
    let dir = tempdir().unwrap();
    let engine = open(dir.path());
    let mut words = words(&mut Numbers(31), 120);
    let mut copy = |number: usize| {
        words[60] = format!("number{number}");
        words.join(" ")
    };
    let documents: Vec<_> = (0..3_000)
        .map(|n| {
            let metadata = Metadata::from_json(&format!(r#"{{"n": {n}}}"#)).ok();
            Document { metadata, ..text(&format!("{n}"), &copy(n)) }
        })
        .collect();
    for documents in documents.chunks(500) {
        join_all(documents.iter().map(|document| {
            let unchecked = AddOptions { check: false, ..AddOptions::default() };
            engine.add(document.clone(), unchecked.clone())
        }))
        .await;
    }
    for n in (0..3_000).step_by(150) {
        let conditions = by_filter(&format!("@.n == {n}"));
        let lookup = Lookup { limit: 20, conditions, ..lookup(0.8, Mode::Verified) };
        let probe = Probe::Content(Content::Text(copy(3_000 + n)));
        let answer = engine.similar(probe, lookup).await.unwrap();
        assert_eq!(ids(&answer), [format!("{n}")]);
        assert!(!answer.searched.truncated && !answer.searched.more);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn removing_by_filter_removes_a_consistent_view() {
    let dir = tempdir().unwrap();
    let engine = open(dir.path());
    let document = |n: usize, even: bool, words: &str| {
        let metadata = Metadata::from_json(&format!(r#"{{"even": {even}}}"#)).ok();
        Document { metadata, ..text(&format!("{n}"), &format!("{words} of page number {n}")) }
    };
    let unchecked = AddOptions { check: false, ..AddOptions::default() };
    let fill =
        (0..2_000).map(|n| engine.add(document(n, n % 2 == 0, "the text"), unchecked.clone()));
    join_all(fill).await;
    // Meanwhile, new documents arrive that would match, and each tenth is replaced.
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let (engine, unchecked) = (engine.clone(), unchecked.clone());
            tokio::spawn(async move {
                for n in (writer * 500..(writer + 1) * 500).step_by(10) {
                    engine
                        .add(document(n, false, "another text"), unchecked.clone())
                        .await
                        .unwrap();
                    engine
                        .add(document(10_000 + n, false, "a new text"), unchecked.clone())
                        .await
                        .unwrap();
                }
            })
        })
        .collect();
    let removed = engine.remove_where(by_filter("@.even == true")).await.unwrap();
    for writer in writers {
        writer.await.unwrap();
    }
    assert!(removed.removed <= removed.matched && removed.matched <= 1_000, "{removed:?}");
    let left: Vec<usize> = engine
        .list(None, 10_000)
        .await
        .unwrap()
        .iter()
        .map(|name| name.as_str().parse().unwrap())
        .collect();
    let expected = |n: &usize| n % 2 == 1 || n.is_multiple_of(10);
    let mut sorted = left.clone();
    sorted.sort_unstable();
    let news = (0..2_000).step_by(10).map(|n| 10_000 + n);
    let all: Vec<usize> = (0..2_000).filter(expected).chain(news).collect();
    assert_eq!(sorted, all);
    let stats = engine.stats().await.unwrap().backend;
    let count = all.len() as u64;
    assert_eq!((stats.size.documents, stats.size.distinct_sets), (count, of_index(count)));
    assert_eq!(engine.remove_where(by_filter("@.even == true")).await.unwrap(), Removed::default());
    drop(engine);
    let engine = open(dir.path());
    assert_eq!(engine.stats().await.unwrap().backend.size.documents, all.len() as u64);
}

#[tokio::test]
async fn removing_without_conditions_is_refused() {
    let dir = tempdir().unwrap();
    let engine = open(dir.path());
    add(&engine, text("a", "one two three four")).await;
    let error = engine.remove_where(Conditions::default()).await.unwrap_err();
    assert!(matches!(error, EngineError::NoConditions), "{error}");
    // A client that goes away has it stop before the first is removed.
    let removal = engine.remove_where(by_filter("@"));
    assert!(removal.now_or_never().is_none());
    assert_eq!(engine.list(None, 9).await.unwrap(), [id("a")]);
    let all = engine.remove_where(by_filter("@")).await.unwrap();
    assert_eq!(all, Removed { matched: 1, removed: 1 });
}
