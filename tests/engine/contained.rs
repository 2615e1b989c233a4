//! Documents that are added with a search for passages see every document that arrived earlier,
//! beside brute force.

use std::collections::BTreeMap;

use akin::engine::{
    AddOptions, AddStatus, Added, CollectionSettings, ContainedOf, ContainmentCheck, Engine,
    OnDuplicate,
};
use futures_util::future::join_all;
use tempfile::tempdir;

use crate::equal_runs::covered_by_runs;
use crate::numbers::Numbers;
use crate::{arrive, id, text, try_open};

/// The guaranteed length.
const RUN: usize = 13;

/// Words of each part that documents share.
const PART_WORDS: usize = 20;

const DOCUMENTS: usize = 40;

fn settings() -> CollectionSettings {
    let mut settings = CollectionSettings::default();
    settings.passages.words = RUN as u32;
    settings.limits.duplicates_max = 1_000;
    settings
}

fn options(on_contained: OnDuplicate, containment_min: f64) -> AddOptions {
    let passages = ContainmentCheck { on_contained, containment_min, of: ContainedOf::Probe };
    AddOptions { check: false, passages: Some(passages), ..AddOptions::default() }
}

/// Texts of words of their own and of parts that others have, too.
fn texts(numbers: &mut Numbers) -> Vec<Vec<String>> {
    let text = |number: usize, numbers: &mut Numbers| {
        let own = |at| format!("own{number}x{at}");
        let mut words: Vec<String> = (0..numbers.below(60)).map(own).collect();
        for _ in 0..=numbers.below(3) {
            let part = numbers.below(12);
            words.extend((0..PART_WORDS).map(|at| format!("part{part}x{at}")));
        }
        words
    };
    (0..DOCUMENTS).map(|number| text(number, numbers)).collect()
}

fn shared(one: &[String], other: &[String]) -> usize {
    covered_by_runs(one, other, RUN).0.iter().filter(|is_covered| **is_covered).count()
}

/// Admits documents in their order, and completes them in several tasks at once.
async fn add_together(
    engine: &Engine,
    texts: &[Vec<String>],
    options: AddOptions,
    numbers: &mut Numbers,
) -> Vec<Added> {
    let mut tasks: Vec<Vec<_>> = (0..8).map(|_| Vec::new()).collect();
    for (number, words) in texts.iter().enumerate() {
        let document = text(&number.to_string(), &words.join(" "));
        let adding = arrive(engine, document, options.clone());
        tasks[numbers.below(8)].push(async move { (number, adding.await) });
    }
    let done = join_all(tasks.into_iter().map(|task| tokio::spawn(join_all(task)))).await;
    let mut added: Vec<_> = done.into_iter().flat_map(Result::unwrap).collect();
    added.sort_by_key(|(at, _)| *at);
    added.into_iter().map(|(_, added)| added).collect()
}

fn found(added: &Added) -> BTreeMap<String, usize> {
    let passages = added.passages.as_ref().unwrap();
    assert!(!passages.truncated && !passages.more);
    assert_eq!(passages.guarantee.words, RUN);
    passages.matches.iter().map(|found| (found.id.to_string(), found.words_shared)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_earlier_document_is_seen_and_no_later_one_is_needed() {
    for seed in 0..6 {
        let (dir, mut numbers) = (tempdir().unwrap(), Numbers(seed));
        let engine = try_open(dir.path(), settings()).unwrap();
        let texts = texts(&mut numbers);
        let options = options(OnDuplicate::Keep, 0.0);
        let added = add_together(&engine, &texts, options, &mut numbers).await;
        for (number, added) in added.iter().enumerate() {
            let found = found(added);
            let mut earlier = 0;
            for (other, words) in texts[..number].iter().enumerate() {
                let expected = shared(&texts[number], words);
                let has = found.get(&other.to_string()).copied().unwrap_or(0);
                assert_eq!(has, expected, "{other} in {number}, seed {seed}");
                earlier += usize::from(expected > 0);
            }
            assert!(found.len() >= earlier && !found.contains_key(&number.to_string()));
        }
        engine.close().await.unwrap();
    }
}

/// As if each document had been posted after the answer to the one before it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn contained_documents_are_skipped_as_if_they_came_one_by_one() {
    let mut skipped = 0;
    for seed in 0..6 {
        let (dir, mut numbers) = (tempdir().unwrap(), Numbers(100 + seed));
        let engine = try_open(dir.path(), settings()).unwrap();
        let texts = texts(&mut numbers);
        let options = options(OnDuplicate::Skip, 0.6);
        let added = add_together(&engine, &texts, options, &mut numbers).await;
        let mut stored: Vec<usize> = Vec::new();
        for (number, added) in added.iter().enumerate() {
            let words = &texts[number];
            let contains =
                |other: &usize| shared(words, &texts[*other]) as f64 >= 0.6 * words.len() as f64;
            let is_contained = stored.iter().any(contains);
            let expected = if is_contained { AddStatus::Skipped } else { AddStatus::Created };
            assert_eq!(added.status, expected, "{number}, seed {seed}");
            assert_eq!(found(added).is_empty(), !is_contained);
            if !is_contained {
                stored.push(number);
            }
        }
        skipped += DOCUMENTS - stored.len();
        let listed = engine.list(None, 1_000).await.unwrap();
        assert_eq!(listed.len(), stored.len());
        // What is stored already is not skipped, and not contained in itself.
        let again = text(&stored[0].to_string(), &texts[stored[0]].join(" "));
        let options = AddOptions { check: false, ..self::options(OnDuplicate::Skip, 1.0) };
        let again = engine.add(again, options).await.unwrap();
        assert_eq!(again.status, AddStatus::Unchanged);
        assert!(!found(&again).contains_key(&stored[0].to_string()));
        // A new text of a stored document is stored, though another document contains it.
        let other = texts[stored[1]].join(" ");
        let again = text(&stored[0].to_string(), &other);
        let options =
            AddOptions { on_duplicate: OnDuplicate::Skip, ..self::options(OnDuplicate::Skip, 0.1) };
        let again = engine.add(again, options).await.unwrap();
        assert_eq!(again.status, AddStatus::Replaced);
        assert!(found(&again).contains_key(&stored[1].to_string()));
        engine.close().await.unwrap();
    }
    assert!(skipped > 10, "{skipped}");
}

/// A document that never completes is withdrawn, and waited for no longer.
#[tokio::test]
async fn a_document_that_is_given_up_is_not_seen() {
    let dir = tempdir().unwrap();
    let engine = try_open(dir.path(), settings()).unwrap();
    let words = (0..30).map(|at| format!("w{at}")).collect::<Vec<_>>().join(" ");
    let options = options(OnDuplicate::Skip, 0.9);
    let first = arrive(&engine, text("a", &words), options.clone());
    let second = arrive(&engine, text("b", &words), options.clone());
    let (second, ()) = tokio::join!(second, async {
        tokio::task::yield_now().await;
        drop(first);
    });
    assert_eq!(second.status, AddStatus::Created);
    let third = engine.add(text("c", &words), options).await.unwrap();
    assert_eq!(third.status, AddStatus::Skipped);
    assert_eq!(third.passages.unwrap().matches[0].id, id("b"));
}
