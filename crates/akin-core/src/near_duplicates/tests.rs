use std::collections::HashMap;
use std::thread;

use proptest::collection::vec;
use proptest::prelude::*;

use super::settings::{AnalysedText, Pipeline};
use super::*;
use crate::join::Linkage;
use crate::measure::Overlap;

/// Texts of few words, so that many are near-duplicates or have equal sets.
fn texts() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec!["a", "b", "c", "d", "E", "f"]);
    vec(word, 1..12).prop_map(|words| words.join(" "))
}

#[derive(Clone, Debug)]
enum Step {
    Insert(u8, String),
    Remove(u8),
    Query(String),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0..12_u8, texts()).prop_map(|(id, text)| Step::Insert(id, text)),
        2 => (0..12_u8).prop_map(Step::Remove),
        3 => texts().prop_map(Step::Query),
    ];
    vec(step, 1..60)
}

fn settings() -> impl Strategy<Value = MatchSettings> {
    let thresholds = prop::sample::select(vec![0.3, 0.5, 0.8, 1.0]);
    (1..4_u32, thresholds, any::<bool>()).prop_map(|(size, threshold, verify)| {
        MatchSettings::new().size(size).threshold(threshold).verify(verify)
    })
}

/// The similarity of a stored text that a query has to report, by comparing the two directly.
fn expected(pipeline: &Pipeline, verify: bool, probe: &str, stored: &str) -> Option<f64> {
    let [probe, stored] = [probe, stored].map(|text| pipeline.analyse(text).unwrap());
    let keys = |text: &AnalysedText| -> Vec<_> {
        pipeline.bands.keys(text.sketch.as_bytes(), pipeline.plan.bands).collect()
    };
    let shares_key = keys(&probe).iter().zip(keys(&stored)).any(|(a, b)| *a == b);
    let estimate = pipeline.estimator.compare(&probe.sketch, &stored.sketch);
    let similarity = match verify {
        true => Overlap::of(&probe.set, &stored.set).resemblance(),
        false => estimate.value,
    };
    let is_candidate = shares_key && estimate.agreeing >= pipeline.plan.agreeing_min;
    (is_candidate && similarity >= pipeline.threshold.get()).then_some(similarity)
}

proptest! {
    #[test]
    fn queries_find_what_a_scan_finds(steps in steps(), settings in settings()) {
        let (index, pipeline) = (TextIndex::new(&settings).unwrap(), settings.pipeline().unwrap());
        let mut model: HashMap<u8, String> = HashMap::new();
        for step in steps {
            match step {
                Step::Insert(id, text) => {
                    let is_new = index.insert(id, &text).unwrap();
                    prop_assert_eq!(is_new, model.insert(id, text).is_none());
                }
                Step::Remove(id) => {
                    prop_assert_eq!(index.remove(&id), model.remove(&id).is_some());
                }
                Step::Query(probe) => {
                    let matches = index.query(&probe).unwrap();
                    prop_assert!(matches.is_sorted_by(|a, b| a.similarity >= b.similarity));
                    let mut found: Vec<_> =
                        matches.iter().map(|found| (found.id, found.similarity)).collect();
                    found.sort_by_key(|(id, _)| *id);
                    let expected = model.iter().filter_map(|(id, text)| {
                        Some((*id, expected(&pipeline, settings.verifies(), &probe, text)?))
                    });
                    let mut expected: Vec<_> = expected.collect();
                    expected.sort_by_key(|(id, _)| *id);
                    prop_assert_eq!(found, expected);
                }
            }
            prop_assert_eq!(index.len(), model.len());
            prop_assert!((0..12).all(|id| index.contains(&id) == model.contains_key(&id)));
        }
        for id in model.keys() {
            index.remove(id);
        }
        prop_assert!(index.is_empty() && index.leftovers() == [0; 4]);
    }

    #[test]
    fn dropped_texts_are_near_the_kept_text(
        texts in vec(texts(), 0..40),
        settings in settings(),
    ) {
        let pipeline = settings.pipeline().unwrap();
        let set = |text: usize| pipeline.analyse(&texts[text]).unwrap().set;
        let deduplicated = deduplicate(&texts, &settings, Linkage::Representative).unwrap();
        let mut in_clusters = 0;
        for cluster in deduplicated.clusters() {
            in_clusters += cluster.len() - 1;
            for text in &cluster[1..] {
                let overlap = Overlap::of(&set(cluster[0]), &set(*text));
                prop_assert!(overlap.resemblance() >= pipeline.threshold.get());
                prop_assert_eq!(deduplicated.kept_for(*text), cluster[0]);
            }
        }
        let kept: Vec<usize> = deduplicated.kept().collect();
        prop_assert_eq!(kept.len() + in_clusters, texts.len());
        for (at, text) in kept.iter().enumerate() {
            prop_assert!(kept[..at].iter().all(|other| set(*other) != set(*text)));
        }
    }
}

/// Texts of a hundred words; text n + 1 differs from text n in its first word and its last.
fn drifting(texts: u32) -> Vec<String> {
    let words = |first: u32| (first..first + 100).map(|n| format!("word{n}"));
    (0..texts).map(|first| words(first).collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn measured_recall_reaches_the_expected_recall() {
    // Neighbours share 97 of 99 shingles, texts n and n + 10 share 88 of 108.
    let texts = drifting(400);
    let index = TextIndex::new(&MatchSettings::new()).unwrap();
    for (id, text) in texts.iter().enumerate() {
        index.insert(id, text).unwrap();
    }
    let found = |(id, text): (usize, &String)| {
        let matches = index.query(text).unwrap();
        assert!(matches.iter().all(|found| found.id.abs_diff(id) <= 10));
        matches.len() - 1
    };
    let found: usize = texts.iter().enumerate().map(found).sum();
    let pairs = (1..=10).map(|distance| 2 * (texts.len() - distance)).sum::<usize>();
    let recall = found as f64 / pairs as f64;
    assert!(index.expected_recall() >= 0.99 && recall >= 0.99, "{recall}");
}

#[test]
fn single_linkage_follows_chains_and_representatives_do_not() {
    let texts = drifting(100);
    let kept = |linkage| {
        let deduplicated = deduplicate(&texts, &MatchSettings::new(), linkage).unwrap();
        deduplicated.kept().collect::<Vec<_>>()
    };
    assert_eq!(kept(Linkage::Single), [0]);
    assert_eq!(kept(Linkage::Representative), (0..100).step_by(11).collect::<Vec<_>>());
}

#[test]
fn texts_without_shingles_are_kept() {
    let texts = ["", "one two three", " - ", "", "One, two three"];
    let deduplicated = deduplicate(texts, &MatchSettings::new(), Linkage::Single).unwrap();
    assert_eq!(deduplicated.kept().collect::<Vec<_>>(), [0, 1, 2, 3]);
    let index = TextIndex::new(&MatchSettings::new()).unwrap();
    assert_eq!(index.insert(1, " - "), Err(crate::text::ShingleError::Empty));
    assert!(index.query("").is_err() && index.is_empty());
}

#[test]
fn every_fault_of_settings_is_named() {
    let settings = MatchSettings::new().threshold(0.0).recall(1.0).size(0);
    let settings = settings.unit(crate::text::Unit::Field);
    let error = TextIndex::<u8>::new(&settings).unwrap_err();
    for fault in ["size", "unit", "threshold", "recall"] {
        assert!(error.faults.iter().any(|found| found.contains(fault)), "{fault}: {error}");
    }
    assert!(deduplicate(["a"], &settings, Linkage::Single).is_err());
}

#[test]
fn threads_replace_and_remove_the_same_texts() {
    let texts = drifting(40);
    let index = TextIndex::new(&MatchSettings::new()).unwrap();
    thread::scope(|scope| {
        for thread in 0..4 {
            let (index, texts) = (&index, &texts);
            scope.spawn(move || {
                for step in 0..2_000_usize {
                    let text = (step * 7 + thread * 11) % texts.len();
                    match step % 5 {
                        4 => {
                            index.remove(&(step % 8));
                        }
                        3 => {
                            let mut ids = index.query(&texts[text]).unwrap();
                            ids.sort_by_key(|found| found.id);
                            assert!(ids.is_sorted_by(|a, b| a.id < b.id), "each id once");
                        }
                        _ => {
                            index.insert(step % 8, &texts[text]).unwrap();
                        }
                    }
                }
            });
        }
    });
    let of_other_ids = (0..8).filter(|id| !index.contains(id)).count();
    assert_eq!(index.len() + of_other_ids, 8);
    for id in 0..8 {
        index.remove(&id);
    }
    assert_eq!(index.leftovers(), [0; 4]);
}
