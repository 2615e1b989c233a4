//! Searches for passages beside brute force: over all runs of the guaranteed length, while
//! documents come, change, expire and go, and over restarts.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};

use akin::document::{Content, Document};
use akin::engine::{
    AddOptions, Clock, CollectionSettings, Engine, PassageAnswer, PassageMatch, PassagePlace,
    PassageQuery, Probe,
};
use akin::storage::StorageSettings;
use tempfile::tempdir;

use crate::equal_runs::{check_words, covered_by_runs, words_of};
use crate::numbers::Numbers;
use crate::{CACHE_BYTES, add, id, open_with, text};

/// The guaranteed length.
const RUN: usize = 13;

/// Steps of a random walk, and walks.
const STEPS: usize = 80;
const WALKS: u64 = 8;

const START_MS: i64 = 1_800_000_000_000;

fn settings() -> CollectionSettings {
    let mut settings = CollectionSettings::default();
    settings.passages.words = RUN as u32;
    settings.sketch.seed = Some(0);
    settings.limits.passage_texts_max = 10_000;
    settings.limits.passage_words_max = 100_000_000;
    settings
}

fn open(dir: &Path, now_ms: &Arc<AtomicI64>) -> Engine {
    let now_ms = Arc::clone(now_ms);
    let clock = Clock::new(move || now_ms.load(Ordering::Relaxed));
    open_with(dir, settings(), &StorageSettings::default(), CACHE_BYTES, clock).unwrap()
}

/// The documents that the engine should have: words by name, and when they expire.
struct World {
    numbers: Numbers,
    documents: BTreeMap<String, (Vec<String>, Option<i64>)>,
    now_ms: Arc<AtomicI64>,
    /// So many different words: few make many repetitions.
    vocabulary: usize,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut numbers = Numbers(seed);
        let vocabulary = [3, 20, 2_000][numbers.below(3)];
        let now_ms = Arc::new(AtomicI64::new(START_MS));
        Self { numbers, documents: BTreeMap::new(), now_ms, vocabulary }
    }

    fn now_ms(&self) -> i64 {
        self.now_ms.load(Ordering::Relaxed)
    }

    fn alive(&self) -> impl Iterator<Item = (&String, &Vec<String>)> {
        let is_alive = |at: &Option<i64>| at.is_none_or(|at| at > self.now_ms());
        let alive = self.documents.iter().filter(move |(_, (_, at))| is_alive(at));
        alive.map(|(name, (words, _))| (name, words))
    }

    /// Random words, often with parts of stored documents.
    fn words(&mut self) -> Vec<String> {
        let mut words = Vec::new();
        for _ in 0..=self.numbers.below(4) {
            let stored: Vec<Vec<String>> =
                self.documents.values().map(|(words, _)| words.clone()).collect();
            if !stored.is_empty() && self.numbers.one_in(2) {
                let from = self.numbers.pick(&stored);
                let start = self.numbers.below(from.len());
                let end = start + 1 + self.numbers.below(from.len() - start);
                words.extend_from_slice(&from[start..end.min(start + 60)]);
            } else {
                let count = 1 + self.numbers.below(40);
                words.extend(
                    (0..count).map(|_| format!("ä{}", self.numbers.below(self.vocabulary))),
                );
            }
        }
        words
    }

    async fn step(&mut self, engine: &Engine) {
        let name = format!("d{}", self.numbers.below(25));
        match self.numbers.below(10) {
            0 | 1 => {
                let removed = engine.remove(&id(&name)).await.is_ok();
                let was_alive = self.alive().any(|(other, _)| *other == name);
                assert_eq!(removed, was_alive, "{name}");
                // An expired document that is not removed yet stays until it is.
                if removed {
                    self.documents.remove(&name);
                }
            }
            2 => drop(self.now_ms.fetch_add(1_000, Ordering::Relaxed)),
            3 => drop(engine.remove_expired().await.unwrap()),
            _ => {
                let words = self.words();
                let expires = self.numbers.one_in(5);
                let expires_at_ms = expires.then(|| self.now_ms() + 2_500);
                let document = Document { expires_at_ms, ..text(&name, &words.join(", ")) };
                add(engine, document).await;
                self.documents.insert(name, (words, expires_at_ms));
            }
        }
    }
}

fn query() -> PassageQuery {
    PassageQuery { limit: 10_000, ..PassageQuery::default() }
}

/// The words that places cover, in a text of these words with ", " between.
fn covered(words: &[String], places: impl Iterator<Item = PassagePlace>) -> Vec<bool> {
    let mut covered = vec![false; words.len()];
    for place in places {
        covered[words_of(words, 2, place)].fill(true);
    }
    covered
}

fn check_match(found: &PassageMatch, probe: &[String], words: &[String]) {
    let (of_probe, longest) = covered_by_runs(probe, words, RUN);
    let (of_match, _) = covered_by_runs(words, probe, RUN);
    let has = covered(probe, found.passages.iter().map(|it| it.probe));
    assert!(of_probe.iter().zip(&has).all(|(wanted, has)| !wanted || *has), "of the probe");
    let has = covered(words, found.passages.iter().map(|it| it.r#match));
    assert!(of_match.iter().zip(&has).all(|(wanted, has)| !wanted || *has), "of the match");
    if longest >= RUN {
        assert_eq!(found.longest, longest);
    }
    check_words(found, [probe, words], RUN, 2);
    for passage in &found.passages {
        assert!(passage.words_equal <= passage.probe.words.min(passage.r#match.words));
        let whole = probe.len().min(words.len());
        assert!(passage.words_equal >= RUN.min(whole), "{passage:?}");
    }
}

fn check(world: &World, own: Option<&str>, probe: &[String], answer: &PassageAnswer) {
    assert!(!answer.truncated);
    let found: BTreeMap<&str, &PassageMatch> =
        answer.matches.iter().map(|found| (found.id.as_str(), found)).collect();
    assert_eq!(found.len(), answer.matches.len(), "an id is found once");
    let shared = answer.matches.iter().map(|found| found.words_shared);
    assert!(shared.is_sorted_by(|one, next| one >= next));
    let mut expected = 0;
    for (name, words) in world.alive().filter(|(name, _)| Some(name.as_str()) != own) {
        let is_whole = words.len() < RUN && probe.windows(words.len()).any(|part| part == words);
        let is_shared = covered_by_runs(probe, words, RUN).1 >= RUN || is_whole;
        let found = found.get(name.as_str());
        assert!(found.is_some() || !is_shared, "{name} is missing: {words:?} in {probe:?}");
        if let Some(found) = found {
            expected += 1;
            check_match(found, probe, words);
        }
    }
    assert_eq!(expected, answer.matches.len(), "removed or expired documents, or the probe itself");
}

#[tokio::test]
async fn what_brute_force_finds_is_found() {
    for seed in 0..WALKS {
        let (dir, mut world) = (tempdir().unwrap(), World::new(seed));
        let mut engine = open(dir.path(), &world.now_ms);
        for step in 0..STEPS {
            world.step(&engine).await;
            if step % 20 == 19 {
                if world.numbers.one_in(2) {
                    engine.snapshot().await.unwrap();
                }
                engine.close().await.unwrap();
                engine = open(dir.path(), &world.now_ms);
            }
            if step % 5 != 0 {
                continue;
            }
            let probe = world.words();
            let content = Content::Text(probe.join(", "));
            let answer = engine.passages(Probe::Content(content), &query()).await.unwrap();
            check(&world, None, &probe, &answer);
            let stored = world.alive().next().map(|(name, words)| (name.clone(), words.clone()));
            if let Some((name, words)) = stored {
                let answer = engine.passages(Probe::Stored(id(&name)), &query()).await.unwrap();
                check(&world, Some(&name), &words, &answer);
            }
        }
        engine.close().await.unwrap();
    }
}

/// A search reads the index first and the texts afterwards. If it did not look again for documents
/// that were replaced meanwhile, it would miss them in both versions.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_document_is_found_while_it_is_replaced() {
    let dir = tempdir().unwrap();
    let engine = open(dir.path(), &Arc::new(AtomicI64::new(START_MS)));
    let shared = (0..40).map(|at| format!("shared{at}")).collect::<Vec<_>>().join(" ");
    let version = move |number: usize| text("a", &format!("{shared} version{number}"));
    add(&engine, version(0)).await;
    let (stop, versions) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(1)));
    let writer = {
        let (engine, version) = (engine.clone(), version.clone());
        let (stop, versions) = (Arc::clone(&stop), Arc::clone(&versions));
        tokio::spawn(async move {
            while !stop.load(Ordering::Relaxed) {
                let options = AddOptions { check: false, ..AddOptions::default() };
                let number = versions.load(Ordering::Relaxed);
                engine.add(version(number), options).await.unwrap();
                versions.store(number + 1, Ordering::Relaxed);
            }
        })
    };
    let (mut searches, mut missed, mut truncated) = (0, 0, 0);
    while searches < 1_000 || versions.load(Ordering::Relaxed) < 100 && !writer.is_finished() {
        searches += 1;
        let probe = Probe::Content(version(usize::MAX).content);
        let answer = engine.passages(probe, &query()).await.unwrap();
        assert!(answer.matches.len() <= 1, "both versions: {answer:?}");
        truncated += usize::from(answer.truncated);
        missed += usize::from(answer.matches.is_empty() && !answer.truncated);
    }
    stop.store(true, Ordering::Relaxed);
    writer.await.unwrap();
    assert_eq!(missed, 0, "searches that found neither the old nor the new version");
    assert!(truncated < searches, "every search was cut short");
}
