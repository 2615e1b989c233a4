//! All pairs and clusters, against brute force, while documents are written and the engine is
//! closed.

use std::collections::BTreeMap;

use akin::backend::BackendError;
use akin::document::Content;
use akin::engine::{
    Analyser, ClusterFigures, ClusterPart, ClusterQuery, CollectionSettings, Discovery, Engine,
    EngineError, FoundPair, Linkage, Mode, PairPart, Similarity,
};
use akin_core::measure::Overlap;
use futures_util::StreamExt;
use futures_util::future::join_all;
use tempfile::tempdir;

use crate::corpus::families;
use crate::{add, id, open, text, try_open};

const MODES: [Mode; 3] = [Mode::Verified, Mode::Estimated, Mode::Exact];

fn discovery(threshold: f64, mode: Mode) -> Discovery {
    Discovery { threshold: Some(threshold.try_into().unwrap()), mode: Some(mode) }
}

/// Families of texts, and a copy of every tenth.
fn texts() -> Vec<(String, String)> {
    let mut texts = families(30, 11);
    let copy = |(name, text): &(String, String)| (format!("a copy of {name}"), text.clone());
    let copies: Vec<_> = texts.iter().step_by(10).map(copy).collect();
    texts.extend(copies);
    texts
}

async fn filled(dir: &std::path::Path, texts: &[(String, String)]) -> Engine {
    let engine = open(dir);
    join_all(texts.iter().map(|(name, words)| add(&engine, text(name, words)))).await;
    engine
}

async fn pairs(engine: &Engine, threshold: f64, mode: Mode) -> Vec<FoundPair> {
    let batches = engine.pairs(discovery(threshold, mode), ()).await.unwrap();
    complete(batches.map(Result::unwrap).collect::<Vec<_>>().await.concat())
}

/// The pairs of a discovery that has compared everything.
fn complete(parts: Vec<PairPart>) -> Vec<FoundPair> {
    let pair = |part| match part {
        PairPart::Pair(pair) => pair,
        PairPart::Incomplete(incomplete) => panic!("{incomplete:?}"),
    };
    parts.into_iter().map(pair).collect()
}

async fn clusters(engine: &Engine, mode: Mode, linkage: Linkage) -> Vec<ClusterPart> {
    let query = ClusterQuery { linkage, min_size: 2, id: None };
    let batches = engine.clusters(discovery(0.8, mode), query, ()).await.unwrap();
    batches.map(Result::unwrap).collect::<Vec<_>>().await.concat()
}

fn brute_force(texts: &[(String, String)], threshold: f64) -> BTreeMap<(String, String), Overlap> {
    let analyser = Analyser::new(&CollectionSettings::default());
    let set = |text: &str| analyser.analyse(&Content::Text(text.to_owned())).unwrap().set;
    let mut sets: Vec<_> = texts.iter().map(|(name, text)| (name.clone(), set(text))).collect();
    sets.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    let mut pairs = BTreeMap::new();
    for (at, (a, a_set)) in sets.iter().enumerate() {
        for (b, b_set) in &sets[at + 1..] {
            let overlap = Overlap::of(a_set, b_set);
            if overlap.resemblance() >= threshold {
                pairs.insert((a.clone(), b.clone()), overlap);
            }
        }
    }
    pairs
}

#[tokio::test]
async fn pairs_equal_brute_force() {
    let dir = tempdir().unwrap();
    let texts = texts();
    let engine = filled(dir.path(), &texts).await;
    for threshold in [0.5, 0.8, 1.0] {
        let truth = brute_force(&texts, threshold);
        assert!(truth.len() > 15, "there are pairs to find: {}", truth.len());
        for mode in MODES {
            let found = pairs(&engine, threshold, mode).await;
            let named = |pair: &FoundPair| (pair.a.to_string(), pair.b.to_string());
            let once: BTreeMap<_, _> = found.iter().map(|pair| (named(pair), pair)).collect();
            assert_eq!(once.len(), found.len(), "each pair comes once");
            if mode == Mode::Estimated {
                for similarity in once.values().map(|pair| &pair.similarity) {
                    assert!(matches!(similarity, Similarity::Estimated { .. }));
                    assert!(similarity.resemblance() >= threshold);
                }
                continue;
            }
            for (names, pair) in &once {
                let overlap = truth.get(names).unwrap();
                let Similarity::Verified { estimated, .. } = pair.similarity else {
                    panic!("{pair:?}");
                };
                assert_eq!(pair.similarity, Similarity::verified(*overlap, estimated));
            }
            let whole = mode == Mode::Exact || threshold > 0.6;
            assert!(!whole || once.len() * 100 >= truth.len() * 97, "{} found", once.len());
            assert!(mode != Mode::Exact || once.len() == truth.len(), "none is missed");
        }
    }
}

#[tokio::test]
async fn discoveries_do_not_depend_on_arrival_order() {
    let mut texts = texts();
    let mut outcomes = Vec::new();
    for order in 0..3 {
        match order {
            1 => texts.reverse(),
            _ => texts.rotate_left(order * 23),
        }
        let dir = tempdir().unwrap();
        let engine = open(dir.path());
        for (name, words) in &texts {
            add(&engine, text(name, words)).await;
        }
        let mut found = Vec::new();
        for mode in MODES {
            found.push(format!("{:?}", pairs(&engine, 0.7, mode).await));
            for linkage in [Linkage::Single, Linkage::Representative] {
                found.push(format!("{:?}", clusters(&engine, mode, linkage).await));
            }
        }
        outcomes.push(found.concat());
    }
    assert!(outcomes[0].len() > 10_000);
    assert!(outcomes[0] == outcomes[1] && outcomes[1] == outcomes[2]);
}

#[tokio::test]
async fn cluster_members_are_ordered_and_near() {
    let dir = tempdir().unwrap();
    let texts = texts();
    let engine = filled(dir.path(), &texts).await;
    let truth = brute_force(&texts, 0.000_001);
    for linkage in [Linkage::Single, Linkage::Representative] {
        let parts = clusters(&engine, Mode::Exact, linkage).await;
        let mut seen = Vec::new();
        let (mut first, mut left) = (String::new(), 0);
        for part in parts {
            match part {
                ClusterPart::Begin(head) => {
                    assert!(head.size >= 2);
                    (first, left) = (head.representative.to_string(), head.size);
                }
                ClusterPart::Member { id, resemblance } => {
                    left -= 1;
                    let names = (first.clone(), id.to_string());
                    assert!(names.0 <= names.1, "the representative has the lowest id");
                    let exact = truth.get(&names).map_or(1.0, Overlap::resemblance);
                    assert_eq!(resemblance, exact);
                    assert!(linkage == Linkage::Single || resemblance >= 0.8);
                    seen.push(id);
                }
                ClusterPart::End => assert_eq!(left, 0),
                ClusterPart::Incomplete(incomplete) => panic!("{incomplete:?}"),
            }
        }
        assert!(seen.len() > 60);
        let count = seen.len();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), count, "no document is in two clusters");
    }
}

#[tokio::test]
async fn writes_during_a_discovery_are_not_seen() {
    let dir = tempdir().unwrap();
    let texts = texts();
    let engine = filled(dir.path(), &texts).await;
    for mode in MODES {
        let before = pairs(&engine, 0.7, mode).await;
        let meanwhile = engine.pairs(discovery(0.7, mode), ()).await.unwrap();
        for (name, words) in texts.iter().step_by(3) {
            engine.remove(&id(name)).await.unwrap();
            add(&engine, text(&format!("new {name}"), words)).await;
        }
        let meanwhile = complete(meanwhile.map(Result::unwrap).collect::<Vec<_>>().await.concat());
        assert_eq!(format!("{before:?}"), format!("{meanwhile:?}"));
        let after = pairs(&engine, 0.7, mode).await;
        assert_ne!(format!("{before:?}"), format!("{after:?}"));
        for (name, words) in texts.iter().step_by(3) {
            engine.remove(&id(&format!("new {name}"))).await.unwrap();
            add(&engine, text(name, words)).await;
        }
    }
}

/// Documents with more pairs than are buffered for the reader.
async fn many_copies(engine: &Engine) {
    let words: Vec<_> = (0..60).map(|word| format!("word{word}")).collect();
    let copy = |n: usize| text(&format!("copy {n}"), &format!("{} {n}", words.join(" ")));
    join_all((0..100).map(|n| add(engine, copy(n)))).await;
}

#[tokio::test]
async fn closing_the_engine_stops_discoveries() {
    let dir = tempdir().unwrap();
    let engine = open(dir.path());
    many_copies(&engine).await;
    let pairs = engine.pairs(discovery(0.5, Mode::Exact), ()).await.unwrap();
    assert_eq!(engine.stats().await.unwrap().discoveries.len(), 1);
    engine.close().await.unwrap();
    let batches: Vec<_> = pairs.collect().await;
    assert!(
        matches!(batches.last(), Some(Err(EngineError::Backend(BackendError::Closed)))),
        "it says that it is not all"
    );
    let refused = engine.pairs(Discovery::default(), ()).await;
    assert!(matches!(refused, Err(EngineError::Backend(BackendError::Closed))));
}

#[tokio::test]
async fn giant_clusters_are_reported() {
    let dir = tempdir().unwrap();
    let mut settings = CollectionSettings::default();
    settings.limits.cluster_members_alarm = 99;
    let engine = try_open(dir.path(), settings).unwrap();
    many_copies(&engine).await;
    for n in 0..2 {
        add(&engine, text(&format!("other {n}"), "another text that comes twice")).await;
    }
    assert_eq!(engine.stats().await.unwrap().last_clusters, None);
    for linkage in [Linkage::Single, Linkage::Representative] {
        let parts = clusters(&engine, Mode::Exact, linkage).await;
        let ends = parts.iter().filter(|part| **part == ClusterPart::End).count();
        assert_eq!(ends, 2);
        let figures = ClusterFigures { clusters: 2, members_largest: 100, over_alarm: 1 };
        assert_eq!(engine.stats().await.unwrap().last_clusters, Some(figures));
    }
}
