//! What is found, against brute force.

use std::collections::HashSet;

use akin::document::Content;
use akin::engine::{Analyser, Answer, CollectionSettings, Mode, Probe, Similarity};
use akin_core::measure::Overlap;
use akin_core::text::ShingleSet;
use futures_util::future::join_all;
use tempfile::tempdir;

use crate::corpus::families;
use crate::{add, id, lookup, open, similar, text};

pub fn sets(texts: &[(String, String)]) -> Vec<ShingleSet> {
    let analyser = Analyser::new(&CollectionSettings::default());
    let set =
        |(_, text): &(String, String)| analyser.analyse(&Content::Text(text.clone())).unwrap().set;
    texts.iter().map(set).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn verified_lookups_find_what_brute_force_finds() {
    let dir = tempdir().unwrap();
    let engine = open(dir.path());
    let texts = families(100, 7);
    join_all(texts.iter().map(|(name, words)| add(&engine, text(name, words)))).await;
    let sets = sets(&texts);
    for threshold in [0.7, 0.8, 0.9] {
        let (mut pairs, mut found) = (0, 0);
        for (n, (name, _)) in texts.iter().enumerate() {
            let truth =
                |m: &usize| *m != n && Overlap::of(&sets[n], &sets[*m]).resemblance() >= threshold;
            let truth: HashSet<_> =
                (0..texts.len()).filter(truth).map(|m| texts[m].0.clone()).collect();
            let answer = similar(&engine, name, threshold).await;
            assert!(answer.iter().all(|(name, _)| truth.contains(name)), "a false positive");
            pairs += truth.len();
            found += answer.len();
        }
        assert!(pairs > 300, "the corpus has pairs to find: {pairs}");
        assert!(found * 100 >= pairs * 99, "{found} of {pairs} pairs at {threshold}");
    }
}

#[tokio::test]
async fn estimated_lookups_score_by_the_estimate() {
    let dir = tempdir().unwrap();
    let engine = open(dir.path());
    let texts = families(20, 8);
    join_all(texts.iter().map(|(name, words)| add(&engine, text(name, words)))).await;
    let probe = || Probe::Stored(id("f3/0"));
    let estimated = engine.similar(probe(), lookup(0.7, Mode::Estimated)).await.unwrap();
    let verified = engine.similar(probe(), lookup(0.7, Mode::Verified)).await.unwrap();
    let recall = |answer: &Answer| answer.searched.reach.expected_recall();
    assert!(!estimated.matches.is_empty());
    for found in &estimated.matches {
        let Similarity::Estimated { resemblance, estimated, .. } = found.similarity else {
            panic!("{found:?}");
        };
        assert_eq!(resemblance, estimated);
    }
    for found in &verified.matches {
        let Similarity::Verified { resemblance, exact, estimated, .. } = found.similarity else {
            panic!("{found:?}");
        };
        assert_eq!(resemblance, exact);
        assert!((estimated - exact).abs() < 0.25);
    }
    assert!(recall(&estimated) < recall(&verified), "a half is scored too low");
}

#[tokio::test]
async fn a_probe_is_not_stored_and_matches_come_in_order() {
    let dir = tempdir().unwrap();
    let engine = open(dir.path());
    add(&engine, text("b", "alpha beta gamma delta epsilon zeta eta theta")).await;
    add(&engine, text("a", "alpha beta gamma delta epsilon zeta eta theta")).await;
    add(&engine, text("c", "alpha beta gamma delta epsilon zeta eta theta iota")).await;
    let content = Content::Text("Alpha, beta; gamma. Delta\nepsilon zeta eta theta".to_owned());
    let probe = Probe::Content(content);
    let answer = engine.similar(probe, lookup(0.6, Mode::Verified)).await.unwrap();
    let ids: Vec<_> = answer.matches.iter().map(|found| found.id.as_str()).collect();
    assert_eq!(ids, ["a", "b", "c"]);
    let third = &answer.matches[2].similarity;
    assert!(matches!(third, Similarity::Verified { shared: 6, union: 7, .. }), "{third:?}");
    assert_eq!(engine.stats().await.unwrap().backend.size.documents, 3);
}

#[tokio::test]
async fn short_texts_match_only_equal_texts() {
    let dir = tempdir().unwrap();
    let engine = open(dir.path());
    for (name, words) in [("a", "hello"), ("b", "hello world"), ("c", "world"), ("d", "Hello!")] {
        add(&engine, text(name, words)).await;
    }
    assert_eq!(similar(&engine, "a", 0.1).await, [("d".to_owned(), 1.0)]);
    assert!(similar(&engine, "b", 0.1).await.is_empty());
}
