//! Lookups by containment, beside brute force over sets of shingles and runs of words.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use akin::backend::BackendError;
use akin::document::{Content, Token};
use akin::engine::{
    Analyser, Answer, CollectionSettings, Conditions, ContainedOf, ContentError, Engine,
    EngineError, Filter, FoundBy, Lookup, Mode, Probe, Reach,
};
use akin_core::measure::Overlap;
use akin_core::text::ShingleSet;
use futures_util::future::join_all;
use tempfile::tempdir;

use crate::corpus::words;
use crate::numbers::Numbers;
use crate::{add, id, text, try_open};

/// The guaranteed length.
const RUN: usize = 13;

fn settings() -> CollectionSettings {
    let mut settings = CollectionSettings::default();
    settings.passages.words = RUN as u32;
    settings.limits.passage_texts_max = 10_000;
    settings
}

fn contained(of: ContainedOf, threshold: f64) -> Lookup {
    let threshold = Some(threshold.try_into().unwrap());
    Lookup { contained: Some(of), threshold, limit: 1_000, ..Lookup::default() }
}

async fn look_up(engine: &Engine, words: &[String], of: ContainedOf, threshold: f64) -> Answer {
    let probe = Probe::Content(Content::Text(words.join(" ")));
    engine.similar(probe, contained(of, threshold)).await.unwrap()
}

fn ids(answer: &Answer) -> Vec<&str> {
    answer.matches.iter().map(|found| found.id.as_str()).collect()
}

fn set(words: &[String]) -> ShingleSet {
    Analyser::new(&settings()).analyse(&Content::Text(words.join(" "))).unwrap().set
}

fn containment(of: ContainedOf, probe: &ShingleSet, matched: &ShingleSet) -> f64 {
    let overlap = Overlap::of(probe, matched);
    match of {
        ContainedOf::Probe => overlap.containment_of_a(),
        ContainedOf::Match => overlap.containment_of_b(),
    }
}

fn longest_run(one: &[String], other: &[String]) -> usize {
    let mut longest = 0;
    let mut before = vec![0; other.len() + 1];
    for word in one {
        let mut now = vec![0; other.len() + 1];
        for (at, _) in other.iter().enumerate().filter(|(_, its)| *its == word) {
            now[at + 1] = before[at] + 1;
            longest = longest.max(now[at + 1]);
        }
        before = now;
    }
    longest
}

/// Own words with parts of others, one after the other, long and short.
fn texts(count: usize) -> BTreeMap<String, Vec<String>> {
    let mut numbers = Numbers(5);
    let mut texts: Vec<Vec<String>> = Vec::new();
    for _ in 0..count {
        let own = numbers.below(120);
        let mut text = words(&mut numbers, own);
        for _ in 0..numbers.below(4) {
            if texts.is_empty() {
                break;
            }
            let from = numbers.pick(&texts);
            let start = numbers.below(from.len());
            let end = (start + 10 + numbers.below(150)).min(from.len());
            text.extend_from_slice(&from[start..end]);
        }
        text.extend(words(&mut numbers, 15));
        texts.push(text);
    }
    texts.into_iter().enumerate().map(|(at, text)| (format!("d{at}"), text)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn contained_documents_with_a_common_run_are_found_exactly() {
    let dir = tempdir().unwrap();
    let engine = try_open(dir.path(), settings()).unwrap();
    let texts = texts(150);
    let sets: BTreeMap<&String, ShingleSet> =
        texts.iter().map(|(name, words)| (name, set(words))).collect();
    join_all(texts.iter().map(|(name, words)| add(&engine, text(name, &words.join(" "))))).await;
    let mut guaranteed = 0;
    for (own, probe) in texts.iter().step_by(3) {
        let others = texts.iter().filter(|(name, _)| *name != own);
        let shares = |name| containment(ContainedOf::Probe, &sets[own], &sets[name]) > 0.0;
        let with_run: HashSet<&String> = others
            .filter(|(name, words)| shares(*name) && longest_run(probe, words) >= RUN)
            .map(|(name, _)| name)
            .collect();
        for of in [ContainedOf::Probe, ContainedOf::Match] {
            for threshold in [0.05, 0.3, 0.8, 1.0] {
                let lookup = contained(of, threshold);
                let answer = engine.similar(Probe::Stored(id(own)), lookup).await.unwrap();
                assert!(
                    !answer.searched.truncated && answer.searched.found_by == FoundBy::Passages
                );
                let mut last = 1.0;
                for found in &answer.matches {
                    let its = &sets[&found.id.to_string()];
                    let exact = containment(of, &sets[own], its);
                    assert!(exact >= threshold && exact <= last && found.id.as_str() != own);
                    last = exact;
                    let shares = found.similarity.containment().unwrap();
                    let share = match of {
                        ContainedOf::Probe => shares.of_probe,
                        ContainedOf::Match => shares.of_match,
                    };
                    assert_eq!(share, exact);
                    assert_eq!(found.resemblance(), Overlap::of(&sets[own], its).resemblance());
                }
                let found = ids(&answer);
                let is_match =
                    |name: &&&String| containment(of, &sets[own], &sets[**name]) >= threshold;
                for name in with_run.iter().filter(is_match) {
                    guaranteed += 1;
                    assert!(found.contains(&name.as_str()), "{own} {name} {of:?} {threshold}");
                }
            }
        }
    }
    assert!(guaranteed > 200, "{guaranteed}");
}

#[tokio::test]
async fn what_shares_words_but_no_run_is_not_promised() {
    let dir = tempdir().unwrap();
    let engine = try_open(dir.path(), settings()).unwrap();
    let probe: Vec<String> = (0..140).map(|at| format!("w{at}")).collect();
    let edited = |at: usize| if at % 7 == 6 { format!("edit{at}") } else { probe[at].clone() };
    let scattered: Vec<String> = (0..140).map(edited).collect();
    add(&engine, text("scattered", &scattered.join(" "))).await;
    let quoted = [&probe[20..60], &[String::from("and"), String::from("else")][..]].concat();
    add(&engine, text("quoted", &quoted.join(" "))).await;
    assert!(containment(ContainedOf::Probe, &set(&probe), &set(&scattered)) > 0.55);
    let answer = look_up(&engine, &probe, ContainedOf::Probe, 0.2).await;
    assert_eq!((ids(&answer), answer.searched.truncated), (vec!["quoted"], false));
    let Reach::Containment { guarantee, chances: Some(chances), .. } = answer.searched.reach else {
        panic!("{:?}", answer.searched);
    };
    assert_eq!((guarantee.words, guarantee.best_effort_from), (RUN, None));
    assert_eq!(chances[0].probability, 1.0);
    let of_match = look_up(&engine, &probe, ContainedOf::Match, 0.9).await;
    assert_eq!(ids(&of_match), ["quoted"]);
    assert!(matches!(of_match.searched.reach, Reach::Containment { chances: None, .. }));
}

#[tokio::test]
async fn equal_replaced_and_removed_documents_are_as_they_are_stored() {
    let dir = tempdir().unwrap();
    let engine = try_open(dir.path(), settings()).unwrap();
    let quote: Vec<String> = (0..30).map(|at| format!("w{at}")).collect();
    let with = |own: &str, count: usize| {
        let own = (0..count).map(|at| format!("{own}{at}"));
        quote.iter().cloned().chain(own).collect::<Vec<_>>().join(" ")
    };
    for (name, own, count) in [("b", "x", 50), ("a", "x", 50), ("c", "y", 900), ("gone", "z", 9)] {
        add(&engine, text(name, &with(own, count))).await;
    }
    let found = async || {
        let answer = look_up(&engine, &quote, ContainedOf::Probe, 0.8).await;
        assert!(!answer.searched.truncated);
        ids(&answer).join(" ")
    };
    assert_eq!(found().await, "gone a b c", "of equal containment the most similar first");
    engine.remove(&id("gone")).await.unwrap();
    add(&engine, text("c", "another text without the quotation, though it is long enough")).await;
    assert_eq!(found().await, "a b");
    let lookup = Lookup { limit: 1, ..contained(ContainedOf::Probe, 0.8) };
    let stored = Probe::Content(Content::Text(quote.join(" ")));
    let first = engine.similar(stored.clone(), lookup.clone()).await.unwrap();
    assert_eq!((ids(&first), first.searched.more, first.searched.candidates), (vec!["a"], true, 1));
    let second = engine.similar(stored, Lookup { offset: 1, ..lookup }).await.unwrap();
    assert_eq!((ids(&second), second.searched.more), (vec!["b"], false));
}

#[tokio::test]
async fn what_cannot_be_looked_up_by_containment_is_refused() {
    let dir = tempdir().unwrap();
    let engine = try_open(dir.path(), settings()).unwrap();
    add(&engine, text("a", "one two three four five six seven eight nine ten eleven")).await;
    let lookup = || contained(ContainedOf::Probe, 0.8);
    let token = Token { text: "x".to_owned(), count: 1 };
    let tokens = Probe::Content(Content::Tokens(vec![token]));
    let refused = engine.similar(tokens, lookup()).await.unwrap_err();
    assert!(matches!(refused, EngineError::Content(ContentError::Wrong { .. })), "{refused:?}");
    for mode in [Mode::Estimated, Mode::Exact] {
        let lookup = Lookup { mode: Some(mode), ..lookup() };
        let refused = engine.similar(Probe::Stored(id("a")), lookup).await.unwrap_err();
        assert!(matches!(refused, EngineError::UnsupportedMode { .. }), "{refused:?}");
    }
    let refused = engine.similar(Probe::Stored(id("nobody")), lookup()).await.unwrap_err();
    assert!(matches!(refused, EngineError::DocumentNotFound { .. }), "{refused:?}");
    let filter = Some(Arc::new(Filter::parse("@.n == 1", 100).unwrap()));
    let conditions = Conditions { filter, ..Conditions::default() };
    let probe = Probe::Content(Content::Text("one two three four five six seven eight".into()));
    let answer = engine.similar(probe, Lookup { conditions, ..lookup() }).await.unwrap();
    assert!(answer.matches.is_empty(), "it has no metadata");

    let dir = tempdir().unwrap();
    let engine = try_open(dir.path(), CollectionSettings::default()).unwrap();
    let probe = Probe::Content(Content::Text("one two three".into()));
    let refused = engine.similar(probe, lookup()).await.unwrap_err();
    assert!(matches!(refused, EngineError::Backend(BackendError::PassagesOff)), "{refused:?}");
}

#[tokio::test]
async fn more_texts_than_are_compared_are_truncated() {
    let dir = tempdir().unwrap();
    let mut few = settings();
    few.limits.passage_texts_max = 2;
    let engine = try_open(dir.path(), few).unwrap();
    let quote: Vec<String> = (0..40).map(|at| format!("w{at}")).collect();
    for own in 0..5 {
        add(&engine, text(&format!("d{own}"), &format!("{} own{own}", quote.join(" ")))).await;
    }
    let answer = look_up(&engine, &quote, ContainedOf::Probe, 0.9).await;
    assert_eq!((answer.matches.len(), answer.searched.truncated), (2, true));
}
