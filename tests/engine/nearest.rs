//! The k most similar documents, however unlike they are, against brute force.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use akin::document::{Content, Document, Metadata, Token};
use akin::engine::{
    Analyser, Answer, Clock, CollectionSettings, Conditions, Engine, EngineError, Filter, FoundBy,
    Lookup, Match, Mode, Probe, Reach, Similarity,
};
use akin::storage::StorageSettings;
use akin_core::measure::Overlap;
use akin_core::scheme::Kind;
use akin_core::sketch::Method;
use akin_core::text::ShingleSet;
use futures_util::future::join_all;
use tempfile::tempdir;

use crate::corpus::{edited, words};
use crate::numbers::Numbers;
use crate::store_under_test::server_url;
use crate::{CACHE_BYTES, add, id, open, open_with, text, try_open};

/// Makes so many families, from a seed.
type Corpus = fn(usize, u64) -> Vec<Document>;

fn most(k: usize) -> Lookup {
    Lookup { k: Some(k.try_into().unwrap()), ..Lookup::default() }
}

async fn nearest(engine: &Engine, name: &str, k: usize) -> Answer {
    engine.similar(Probe::Stored(id(name)), most(k)).await.unwrap()
}

fn ids(answer: &Answer) -> Vec<&str> {
    answer.matches.iter().map(|found| found.id.as_str()).collect()
}

/// A set of numbered tokens.
fn bag(name: &str, tokens: impl IntoIterator<Item = usize>) -> Document {
    let token = |number| Token { text: format!("t{number}"), count: 1 };
    let content = Content::Tokens(tokens.into_iter().map(token).collect());
    Document { id: id(name), content, metadata: None, expires_at_ms: None }
}

/// Families of texts: edits of one in so many words, from near-copies to hardly anything in common.
fn texts(families: usize, seed: u64) -> Vec<Document> {
    let mut numbers = Numbers(seed);
    let mut texts = Vec::new();
    for family in 0..families {
        let length = 20 + numbers.below(200);
        let original = words(&mut numbers, length);
        texts.push(text(&format!("f{family}"), &original.join(" ")));
        for one_in in [100, 30, 12, 8, 6, 5, 4, 3, 3, 2] {
            let copy = edited(&original, one_in, &mut numbers).join(" ");
            texts.push(text(&format!("f{family}/{}", texts.len()), &copy));
        }
    }
    texts
}

/// Bags of a few to some hundred tokens, half of them with counts, in families like those of texts.
fn bags(families: usize, seed: u64) -> Vec<Document> {
    let mut numbers = Numbers(seed);
    let mut bags = Vec::new();
    for family in 0..families {
        let size = 4 + numbers.below(120);
        for kept in [100, 90, 80, 70, 60, 50, 40, 30, 20] {
            let own = bags.len() * 1_000;
            let token = |number: usize| match numbers.below(100) < kept {
                true => family * 1_000 + number,
                false => own + 500 + number,
            };
            let mut bag = bag(&format!("b{}", bags.len()), (0..size).map(token));
            if let Content::Tokens(tokens) = &mut bag.content {
                tokens.iter_mut().step_by(2).for_each(|token| token.count = 3);
            }
            bags.push(bag);
        }
    }
    bags
}

/// One family, so large that many bags are nearly among the nearest.
fn large_family(_: usize, seed: u64) -> Vec<Document> {
    let mut numbers = Numbers(seed);
    let mut bags = vec![bag("original", 0..80)];
    for own in 1..400 {
        let kept = 25 + numbers.below(40);
        let token = |number: usize| match numbers.below(100) < kept {
            true => number,
            false => own * 1_000 + number,
        };
        bags.push(bag(&format!("b{own}"), (0..80).map(token)));
    }
    bags
}

struct Truth {
    names: Vec<String>,
    sets: Vec<ShingleSet>,
}

impl Truth {
    fn of(settings: &CollectionSettings, documents: &[Document]) -> Self {
        let analyser = Analyser::new(settings);
        Self {
            names: documents.iter().map(|document| document.id.to_string()).collect(),
            sets: documents.iter().map(|it| analyser.analyse(&it.content).unwrap().set).collect(),
        }
    }

    /// The resemblance of every other document, highest first.
    fn of_probe(&self, probe: usize) -> Vec<(f64, &str)> {
        let others = (0..self.sets.len()).filter(|other| *other != probe);
        let resemblance = |other| Overlap::of(&self.sets[probe], &self.sets[other]).resemblance();
        let mut all: Vec<_> =
            others.map(|other| (resemblance(other), self.names[other].as_str())).collect();
        all.sort_by(|a, b| b.0.total_cmp(&a.0));
        all
    }
}

/// Documents of the k most similar at or above the floor: all, and the missing.
#[derive(Debug, Default)]
struct Count {
    wanted: usize,
    missed: usize,
    scans: usize,
    by_keys: usize,
}

/// The similarity from which the recall of an answer is promised.
fn floor(answer: &Answer) -> f64 {
    let Reach::Nearest { floor, .. } = answer.searched.reach else {
        panic!("{:?}", answer.searched);
    };
    floor
}

impl Count {
    fn add(&mut self, answer: &Answer, truth: &[(f64, &str)], k: usize) {
        assert!(!answer.searched.truncated && !answer.searched.more);
        assert!(answer.matches.len() <= k);
        let exact: HashMap<&str, f64> = truth.iter().map(|(value, name)| (*name, *value)).collect();
        let mut last = 1.0;
        for found in &answer.matches {
            let Similarity::Verified { exact: its, .. } = found.similarity else {
                panic!("{found:?}");
            };
            assert_eq!(its, exact[found.id.as_str()]);
            assert!(found.resemblance() <= last, "best first");
            last = found.resemblance();
        }
        let found: HashSet<&str> = ids(answer).into_iter().collect();
        assert_eq!(found.len(), answer.matches.len(), "each once");
        // Of equally similar documents at the end any are right.
        let end = truth.get(k).map_or(0.0, |(value, _)| *value);
        let floor = floor(answer);
        let wanted = truth.iter().filter(|(value, _)| *value >= floor && *value > end);
        self.wanted += wanted.clone().count();
        self.missed += wanted.filter(|(_, name)| !found.contains(name)).count();
        let enough = truth.iter().take(k).filter(|(value, _)| *value >= floor).count();
        assert!(answer.matches.len() + 3 >= enough);
        match answer.searched.found_by {
            FoundBy::Scan => self.scans += 1,
            _ => self.by_keys += 1,
        }
    }
}

async fn compare(settings: &CollectionSettings, documents: Vec<Document>) -> Count {
    let dir = tempdir().unwrap();
    let engine = try_open(dir.path(), settings.clone()).unwrap();
    let truth = Truth::of(settings, &documents);
    join_all(documents.into_iter().map(|document| add(&engine, document))).await;
    let mut count = Count::default();
    for (probe, name) in truth.names.iter().enumerate() {
        let others = truth.of_probe(probe);
        for k in [1, 10, 60] {
            let answer = nearest(&engine, name, k).await;
            assert_eq!(answer.searched.reach.expected_recall(), Some(0.999));
            count.add(&answer, &others, k);
        }
    }
    count
}

fn with(change: impl Fn(&mut CollectionSettings)) -> CollectionSettings {
    let mut settings = CollectionSettings::default();
    change(&mut settings);
    settings
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_nearest_are_those_of_brute_force() {
    let kinds: [(&str, CollectionSettings, Corpus); 8] = [
        ("texts", with(|_| {}), texts),
        ("bags", with(|_| {}), bags),
        ("multisets", with(|it| it.shingles.multiset = true), bags),
        ("a large family", with(|_| {}), large_family),
        ("few slots", with(|it| it.sketch.slots = 64), texts),
        ("whole slots", with(|it| it.sketch.bits = 32), bags),
        ("random rows", with(|it| it.scheme.kind = Kind::RandomRows), texts),
        ("prefix", with(|it| it.scheme.kind = Kind::Prefix), bags),
    ];
    let (mut wanted, mut missed) = (0, 0);
    // PostgreSQL has no prefix filters.
    let kinds = kinds.into_iter().take(if server_url().is_none() { 8 } else { 7 });
    for (seed, (name, settings, corpus)) in kinds.enumerate() {
        let has_keys = settings.scheme.kind != Kind::Prefix;
        let count = compare(&settings, corpus(12, seed as u64)).await;
        assert!(count.wanted > 600 && count.scans > 100, "{name}: {count:?}");
        let has_copies = name != "a large family";
        assert_eq!(count.by_keys > 0, has_keys && has_copies, "{name}: {count:?}");
        assert!(count.missed * 200 <= count.wanted, "{name}: {count:?}");
        (wanted, missed) = (wanted + count.wanted, missed + count.missed);
    }
    // A thousandth is promised.
    assert!(missed * 1_000 <= wanted, "{missed} of {wanted}");
}

#[tokio::test]
async fn equal_documents_and_collections_smaller_than_k() {
    let dir = tempdir().unwrap();
    let engine = open(dir.path());
    for copy in 0..5 {
        add(&engine, bag(&format!("copy{copy}"), 0..40)).await;
    }
    for (name, shared) in [("most", 35), ("half", 20), ("some", 10), ("one", 1), ("none", 0)] {
        add(&engine, bag(name, (0..shared).chain(1_000 + shared * 50..1_040 + shared * 49))).await;
    }
    let two = nearest(&engine, "copy2", 2).await;
    assert_eq!(two.matches.len(), 2);
    assert!(two.matches.iter().all(|found| found.resemblance() == 1.0 && found.id != id("copy2")));
    assert_eq!(two.searched.found_by, FoundBy::Keys);

    let all = nearest(&engine, "copy0", 10_000).await;
    let last = ["copy1", "copy2", "copy3", "copy4", "most", "half", "some"];
    assert_eq!(ids(&all)[..7], last);
    assert!(!ids(&all).contains(&"none") && all.searched.found_by == FoundBy::Scan);
    assert_eq!(
        (all.searched.truncated, all.searched.more, all.searched.candidates),
        (false, false, 6)
    );
    let alone = Probe::Content(bag("probe", 90_000..90_030).content);
    let nothing = engine.similar(alone, most(3)).await.unwrap();
    assert!(nothing.matches.is_empty() && !nothing.searched.truncated, "{:?}", ids(&nothing));

    let empty = tempdir().unwrap();
    let probe = Probe::Content(bag("probe", 0..3).content);
    let answer = open(empty.path()).similar(probe, most(5)).await.unwrap();
    assert!(answer.matches.is_empty() && !answer.searched.truncated);
}

#[tokio::test]
async fn only_what_is_stored_now_is_among_the_nearest() {
    let dir = tempdir().unwrap();
    let now_ms = Arc::new(AtomicI64::new(1_800_000_000_000));
    let clock = Arc::clone(&now_ms);
    let clock = Clock::new(move || clock.load(Ordering::Relaxed));
    let (settings, storage) = (CollectionSettings::default(), StorageSettings::default());
    let engine = open_with(dir.path(), settings, &storage, CACHE_BYTES, clock).unwrap();
    let part = |name: &str, shared: usize, own: usize| bag(name, (0..shared).chain(own..own + 20));
    let expires_at_ms = Some(1_800_000_000_000 + 5_000);
    add(&engine, Document { expires_at_ms, ..part("expires", 30, 1_000) }).await;
    add(&engine, part("removed", 28, 2_000)).await;
    add(&engine, part("replaced", 26, 3_000)).await;
    add(&engine, part("stays", 24, 4_000)).await;
    let probe = || Probe::Content(bag("probe", 0..40).content);
    let found = async || {
        let answer = engine.similar(probe(), most(3)).await.unwrap();
        assert!(!answer.searched.truncated);
        ids(&answer).join(" ")
    };
    assert_eq!(found().await, "expires removed replaced");
    assert!(engine.remove(&id("removed")).await.is_ok());
    assert_eq!(found().await, "expires replaced stays");
    now_ms.fetch_add(6_000, Ordering::Relaxed);
    assert_eq!(found().await, "replaced stays");
    add(&engine, part("replaced", 12, 5_000)).await;
    let answer = engine.similar(probe(), most(3)).await.unwrap();
    assert_eq!(ids(&answer), ["stays", "replaced"]);
    let replaced = &answer.matches[1].similarity;
    assert!(matches!(replaced, Similarity::Verified { shared: 12, .. }), "of the new version");
}

#[tokio::test]
async fn conditions_choose_among_the_nearest() {
    let dir = tempdir().unwrap();
    let engine = open(dir.path());
    let numbered = |n: usize| {
        let metadata = Metadata::from_json(&format!(r#"{{"n": {n}}}"#)).unwrap();
        let tokens = (0..40 - n).chain(n * 1_000..n * 1_000 + n);
        Document { metadata: Some(metadata), ..bag(&format!("d{n}"), tokens) }
    };
    join_all((1..30).map(|n| add(&engine, numbered(n)))).await;
    for (filter, expected) in
        [("@.n > 20", ["d21", "d22", "d23"]), ("@.n != 1", ["d2", "d3", "d4"])]
    {
        let filter = Some(Arc::new(Filter::parse(filter, 1_000).unwrap()));
        let conditions = Conditions { filter, ..Conditions::default() };
        let lookup = Lookup { conditions, ..most(3) };
        let probe = Probe::Content(bag("probe", 0..40).content);
        let answer = engine.similar(probe, lookup).await.unwrap();
        assert_eq!(ids(&answer), expected);
        assert!(!answer.searched.truncated);
    }
}

#[tokio::test]
async fn more_sets_than_are_verified_are_truncated() {
    let dir = tempdir().unwrap();
    let engine = open(dir.path());
    // All are about as similar, so any of them may be among the nearest.
    let third = |n: usize| {
        let mut numbers = Numbers(n as u64);
        let own = (0..20).map(|at| 1_000 * (n + 1) + at);
        bag(&format!("d{n}"), (0..20).map(|_| numbers.below(60)).chain(own))
    };
    join_all((0..1_100).map(|n| add(&engine, third(n)))).await;
    let probe = || Probe::Content(bag("probe", 0..60).content);
    let answer = engine.similar(probe(), most(10)).await.unwrap();
    assert_eq!((answer.matches.len(), answer.searched.candidates), (10, 1_100));
    assert!(answer.searched.truncated, "a thousand of them are verified");
    let estimated = Lookup { mode: Some(Mode::Estimated), ..most(10) };
    let answer = engine.similar(probe(), estimated).await.unwrap();
    assert!(!answer.searched.truncated && answer.matches.len() == 10);
    add(&engine, bag("same", 0..60)).await;
    let answer = engine.similar(probe(), most(1)).await.unwrap();
    assert_eq!((ids(&answer), answer.searched.truncated), (vec!["same"], false));
}

#[tokio::test]
async fn the_floor_follows_from_the_sketches() {
    let mut floors = Vec::new();
    for slots in [16, 64, 128, 1_024] {
        let dir = tempdir().unwrap();
        let settings = with(|it| {
            it.sketch.slots = slots;
            it.scheme.kind = Kind::RandomRows;
        });
        let engine = try_open(dir.path(), settings).unwrap();
        add(&engine, bag("a", 0..9)).await;
        floors.push(floor(&nearest(&engine, "a", 1).await));
    }
    assert!(floors[0] > floors[1] && floors[1] > 0.15 && floors[2..] == [0.15, 0.15], "{floors:?}");
}

#[tokio::test]
async fn estimates_and_signatures_are_ranked_without_a_floor() {
    let dir = tempdir().unwrap();
    let engine = open(dir.path());
    join_all(texts(4, 3).into_iter().map(|document| add(&engine, document))).await;
    let lookup = Lookup { mode: Some(Mode::Estimated), ..most(7) };
    let answer = engine.similar(Probe::Stored(id("f2")), lookup).await.unwrap();
    assert_eq!(answer.searched.mode, Mode::Estimated);
    assert_eq!(answer.searched.reach, Reach::Nearest { floor: 0.0, expected_recall: 1.0 });
    assert_eq!((answer.matches.len(), answer.searched.found_by), (7, FoundBy::Scan));
    let is_estimated = |found: &Match| matches!(found.similarity, Similarity::Estimated { .. });
    assert!(answer.matches.iter().all(is_estimated));
    assert!(answer.matches.is_sorted_by(|a, b| a.resemblance() >= b.resemblance()));

    let settings = with(|it| {
        it.sketch.method = Method::Foreign;
        it.sketch.slots = 128;
    });
    let dir = tempdir().unwrap();
    let engine = try_open(dir.path(), settings).unwrap();
    let signature = |changed: u64| {
        Content::Signature((0..128).map(|n| if n < changed { n + 1_000 } else { n }).collect())
    };
    for changed in [10, 60, 100] {
        let content = signature(changed);
        let document = Document { content, ..text(&format!("s{changed}"), "") };
        add(&engine, document).await;
    }
    let answer = engine.similar(Probe::Content(signature(0)), most(2)).await.unwrap();
    assert_eq!((ids(&answer), answer.searched.mode), (vec!["s10", "s60"], Mode::Estimated));
    let exact = Lookup { mode: Some(Mode::Exact), ..most(2) };
    let refused = engine.similar(Probe::Content(signature(0)), exact).await.unwrap_err();
    assert!(matches!(refused, EngineError::UnsupportedMode { .. }));
}
