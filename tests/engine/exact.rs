//! Exact lookups: not one is missed and not one added, against brute force.

use std::collections::BTreeMap;

use akin::document::{Content, Metadata};
use akin::engine::{AddStatus, Analyser, FoundBy, OnDuplicate, RecoverySource};
use akin_core::measure::Overlap;
use akin_core::scheme::{Kind, Threshold};
use akin_core::text::ShingleSet;
use futures_util::FutureExt;
use futures_util::future::join_all;
use tempfile::tempdir;

use super::*;
use crate::corpus::{edited, families, words};
use crate::numbers::Numbers;

fn threshold(value: f64) -> Threshold {
    value.try_into().unwrap()
}

fn settings(kind: Kind, exact_from: f64) -> CollectionSettings {
    let mut settings = CollectionSettings::default();
    settings.scheme.kind = kind;
    settings.scheme.exact_from = Some(threshold(exact_from));
    settings
}

/// The collection as it should be.
#[derive(Default)]
struct Truth {
    sets: BTreeMap<String, ShingleSet>,
}

impl Truth {
    fn put(&mut self, name: &str, text: &str) {
        let content = Content::Text(text.to_owned());
        let analysis = Analyser::new(&CollectionSettings::default()).analyse(&content).unwrap();
        self.sets.insert(name.to_owned(), analysis.set);
    }

    /// What a lookup of a document answers, in its order.
    fn near(&self, name: &str, at: f64) -> Vec<(String, f64)> {
        let probe = &self.sets[name];
        let others = self.sets.iter().filter(|(other, _)| *other != name);
        let scored = others.map(|(id, set)| (id.clone(), Overlap::of(probe, set).resemblance()));
        let mut near: Vec<_> = scored.filter(|(_, resemblance)| *resemblance >= at).collect();
        near.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        near
    }

    /// Every document looked up at these thresholds; `scanned_below` there is no index.
    async fn check(&self, engine: &Engine, thresholds: &[f64], scanned_below: f64) -> usize {
        let mut pairs = 0;
        for name in self.sets.keys() {
            for &at in thresholds {
                let probe = Probe::Stored(id(name));
                let answer = engine.similar(probe, lookup(at, Mode::Exact)).await.unwrap();
                let found: Vec<_> =
                    answer.matches.iter().map(|m| (m.id.to_string(), m.resemblance())).collect();
                let near = self.near(name, at);
                assert_eq!(found, near, "{name} at {at}");
                pairs += near.len();
                let is_indexed = at >= scanned_below && server_url().is_none();
                let by = if is_indexed { FoundBy::Prefix } else { FoundBy::Scan };
                assert_eq!((answer.searched.found_by, answer.searched.truncated), (by, false));
                assert_eq!(answer.searched.reach.expected_recall(), Some(1.0));
                assert_eq!(answer.searched.mode, Mode::Exact);
            }
        }
        pairs
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exact_lookups_equal_brute_force_across_a_restart() {
    let is_local = server_url().is_none();
    for kind in [Kind::Bands, Kind::Prefix].into_iter().take(1 + usize::from(is_local)) {
        let dir = tempdir().unwrap();
        let settings = settings(kind, 0.6);
        let engine = try_open(dir.path(), settings.clone()).unwrap();
        let mut truth = Truth::default();
        let texts = families(30, 21);
        join_all(texts.iter().map(|(name, words)| add(&engine, text(name, words)))).await;
        for (name, words) in &texts {
            truth.put(name, words);
        }
        assert!(truth.check(&engine, &[0.7], 0.6).await > 200, "there are pairs to find");

        snapshot(&engine).await;
        for family in 0..30 {
            let (removed, replaced) = (format!("f{family}/1"), format!("f{family}/2"));
            engine.remove(&id(&removed)).await.unwrap();
            truth.sets.remove(&removed);
            let words = &texts[(family * 6 + 9) % texts.len()].1;
            add(&engine, text(&replaced, words)).await;
            truth.put(&replaced, words);
        }
        let thresholds = [0.5, 0.6, 0.8, 0.95, 1.0];
        truth.check(&engine, &thresholds, 0.6).await;
        drop(engine);
        let engine = try_open(dir.path(), settings).unwrap();
        let recovery = engine.stats().await.unwrap().backend.recovery;
        let expected = is_local.then_some(RecoverySource::Snapshot);
        assert_eq!(recovery.map(|of| of.source), expected);
        truth.check(&engine, &thresholds, 0.6).await;
    }
}

#[tokio::test]
async fn a_threshold_below_the_index_scans_all_documents() {
    let dir = tempdir().unwrap();
    let mut truth = Truth::default();
    let engine = open(dir.path());
    for (name, words) in families(8, 22) {
        add(&engine, text(&name, &words)).await;
        truth.put(&name, &words);
    }
    truth.check(&engine, &[0.3, 0.7, 1.0], f64::INFINITY).await;
    let probe = Probe::Stored(id("f0/0"));
    let answer = engine.similar(probe, lookup(0.7, Mode::Exact)).await.unwrap();
    assert_eq!(answer.searched.candidates, truth.sets.len());
    drop(engine);
    // The index is made at a start: of bands it does not decide what is stored.
    let engine = try_open(dir.path(), settings(Kind::Bands, 0.7)).unwrap();
    truth.check(&engine, &[0.3, 0.7, 1.0], 0.7).await;
    drop(engine);
    let refusal = try_open(dir.path(), settings(Kind::Prefix, 0.7)).err().unwrap().to_string();
    let reason = if server_url().is_none() { r#""kind":"prefix""# } else { "kind = prefix" };
    assert!(refusal.contains(reason), "{refusal}");
}

#[tokio::test]
async fn a_prefix_collection_reports_all_near_duplicates_of_additions() {
    let dir = tempdir().unwrap();
    let engine = try_open(dir.path(), settings(Kind::Prefix, 0.7)).unwrap();
    let mut truth = Truth::default();
    for (n, (name, words)) in families(12, 23).into_iter().enumerate() {
        // Below 0.7 they are found by looking at all.
        let at = [0.8, 0.5, 0.9][n % 3];
        truth.put(&name, &words);
        let options = AddOptions { threshold: Some(threshold(at)), ..AddOptions::default() };
        let added = engine.add(text(&name, &words), options).await.unwrap();
        let told: Vec<_> =
            added.duplicates.iter().map(|m| (m.id.to_string(), m.resemblance())).collect();
        assert_eq!(told, truth.near(&name, at));
    }
    let stats = engine.stats().await.unwrap().backend;
    assert!(stats.size.keys > Some(0) && stats.size.postings >= stats.size.keys);
    let probe = || Probe::Stored(id("f0/0"));
    let usual =
        Lookup { threshold: None, points: None, limit: 20, mode: None, ..Lookup::default() };
    assert_eq!(engine.similar(probe(), usual).await.unwrap().searched.mode, Mode::Exact);
    let verified = engine.similar(probe(), lookup(0.8, Mode::Verified)).await.unwrap();
    assert_eq!(
        (verified.searched.mode, verified.searched.found_by),
        (Mode::Verified, FoundBy::Prefix)
    );
    let estimated = engine.similar(probe(), lookup(0.8, Mode::Estimated)).await;
    assert!(matches!(estimated, Err(EngineError::UnsupportedMode { .. })));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_skip_in_a_prefix_collection_stores_exactly_one() {
    let dir = tempdir().unwrap();
    let engine = try_open(dir.path(), settings(Kind::Prefix, 0.7)).unwrap();
    for round in 0..20 {
        let mut numbers = Numbers(round);
        let original = words(&mut numbers, 300);
        // Some look below what there is an index for.
        let arrivals: Vec<_> = (0..8)
            .map(|n| {
                let copy = edited(&original, 200, &mut numbers).join(" ");
                let (engine, document) = (engine.clone(), text(&format!("r{round}/{n}"), &copy));
                let at = if n % 2 == 0 { 0.8 } else { 0.6 };
                let options = AddOptions {
                    on_duplicate: OnDuplicate::Skip,
                    threshold: Some(threshold(at)),
                    ..AddOptions::default()
                };
                tokio::spawn(async move { engine.add(document, options).await.unwrap().status })
            })
            .collect();
        let mut stored = 0;
        for arrival in arrivals {
            stored += usize::from(arrival.await.unwrap() == AddStatus::Created);
        }
        assert_eq!(stored, 1, "round {round}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exact_lookups_find_a_document_during_replacement() {
    let dir = tempdir().unwrap();
    let engine = try_open(dir.path(), settings(Kind::Bands, 0.6)).unwrap();
    let long = "a b c d e f g h i j k l m n o p q r s t u v w x y z";
    let versions = [long, &long[..long.len() - 2]];
    add(&engine, text("a", long)).await;
    // Each lookup reads the versions that a database has not cleared away yet.
    let replacements = if server_url().is_none() { 600 } else { 60 };
    let replacing = {
        let engine = engine.clone();
        tokio::spawn(async move {
            for n in 0..replacements {
                let mut document = text("a", versions[n % 2]);
                document.metadata = Metadata::from_json(&format!("{{\"n\": {n}}}")).ok();
                add(&engine, document).await;
            }
        })
    };
    while !replacing.is_finished() {
        for at in [0.5, 0.6] {
            let probe = Probe::Content(Content::Text(long.to_owned()));
            let answer = engine.similar(probe, lookup(at, Mode::Exact)).await.unwrap();
            assert!(
                answer.matches.len() == 1 || answer.searched.truncated,
                "it was there all the time"
            );
        }
    }
    replacing.await.unwrap();
}

/// One scan goes on at a time here; were those that nobody waits for not to end, the last would
/// never begin.
#[tokio::test]
async fn dropping_a_scan_stops_it() {
    let dir = tempdir().unwrap();
    let storage = StorageSettings { scans_max: 1, ..StorageSettings::default() };
    let settings = CollectionSettings::default();
    let clock = Clock::system();
    let engine = open_with(dir.path(), settings, &storage, CACHE_BYTES, clock).unwrap();
    for n in 0..50 {
        add(&engine, text(&format!("{n}"), &format!("this is page number {n} of them"))).await;
    }
    let scan = || engine.similar(Probe::Stored(id("7")), lookup(0.1, Mode::Exact));
    for _ in 0..20 {
        assert!(scan().now_or_never().is_none(), "it is begun and given up");
    }
    assert_eq!(scan().await.unwrap().searched.candidates, 50);
}
