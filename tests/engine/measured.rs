//! Recall as the engine measures it, against the same done by hand; and while documents come and
//! go.

use std::sync::atomic::{AtomicBool, Ordering};

use akin::engine::{AddOptions, Engine, EngineError, Recall, Sample};
use akin_core::measure::Overlap;
use futures_util::future::join_all;
use tempfile::tempdir;

use crate::corpus::families;
use crate::recall::sets;
use crate::{add, id, open, similar, text};

async fn measured(engine: &Engine, threshold: f64) -> Recall {
    engine
        .measure_recall(Sample::Exactly(1_000), Some(threshold.try_into().unwrap()))
        .await
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn measured_recall_equals_brute_force() {
    let dir = tempdir().unwrap();
    let engine = open(dir.path());
    let mut texts = families(40, 33);
    texts.push(("copy".to_owned(), texts[0].1.clone()));
    join_all(texts.iter().map(|(name, words)| add(&engine, text(name, words)))).await;
    let sets = sets(&texts);
    let to_others = |n: usize| {
        let others = (0..texts.len()).filter(move |m| *m != n);
        others.map(|m| Overlap::of(&sets[n], &sets[m]).resemblance()).collect()
    };
    let resemblances: Vec<Vec<f64>> = (0..texts.len()).map(to_others).collect();
    // At 0.3 there are not keys enough to find all.
    for threshold in [0.3, 0.8] {
        let recall = measured(&engine, threshold).await;
        let (mut pairs, mut unequal, mut found) = (0, 0, 0);
        for (n, (name, _)) in texts.iter().enumerate() {
            let near = || resemblances[n].iter().filter(|value| **value >= threshold);
            pairs += near().count() as u64;
            unequal += near().filter(|value| **value < 1.0).count() as u64;
            found += similar(&engine, name, threshold).await.len() as u64;
        }
        assert_eq!((recall.sampled, recall.documents), (texts.len(), texts.len() as u64));
        assert_eq!(recall.pairs, pairs, "at {threshold}");
        assert_eq!(recall.recall, Some(found as f64 / pairs as f64), "at {threshold}");
        assert_eq!(recall.pairs_unequal, unequal);
        assert_eq!((recall.precision, recall.left_out), (Some(1.0), 0));
        assert!(threshold > 0.5 || found < pairs, "some are missed: {recall:?}");
    }
}

/// Copies are always found, so that nothing but a mistake in counting can be missing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_writes_do_not_change_measured_recall() {
    let dir = tempdir().unwrap();
    let engine = open(dir.path());
    let words = |n: usize| (0..30).map(|m| format!("w{n}x{m}")).collect::<Vec<_>>().join(" ");
    for n in 0..40 {
        add(&engine, text(&format!("{n}"), &words(n % 10))).await;
    }
    let stop = AtomicBool::new(false);
    let write = async {
        for step in 0.. {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let name = format!("{}", step % 20);
            add(&engine, text(&name, &words(step % 7))).await;
            engine.remove(&id(&name)).await.unwrap();
            add(&engine, text(&name, &words(step % 10))).await;
        }
    };
    let measure = async {
        for _ in 0..10 {
            let recall = measured(&engine, 0.8).await;
            assert!(recall.pairs > 20, "{recall:?}");
            assert_eq!(recall.recall, Some(1.0), "{recall:?}");
            assert_eq!(recall.precision, Some(1.0));
        }
        stop.store(true, Ordering::Relaxed);
    };
    tokio::join!(write, measure);
}

#[tokio::test]
async fn measurements_run_one_at_a_time_and_stop_when_dropped() {
    let dir = tempdir().unwrap();
    let engine = open(dir.path());
    add(&engine, text("a", "one two three four")).await;
    // On a loaded machine a measurement may have ended when it is first asked.
    let first = loop {
        let mut measurement = Box::pin(engine.measure_recall(Sample::Exactly(10), None));
        if futures_util::poll!(&mut measurement).is_pending() {
            break measurement;
        }
    };
    let second = engine.measure_recall(Sample::Exactly(10), None).await;
    assert!(matches!(second, Err(EngineError::MeasurementUnderWay)), "{second:?}");
    drop(first);
    assert_eq!(engine.measure_recall(Sample::Exactly(10), None).await.unwrap().sampled, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_is_left_out_and_counted() {
    let dir = tempdir().unwrap();
    let engine = open(dir.path());
    let unchecked = AddOptions { check: false, ..AddOptions::default() };
    let copy = |n: usize| text(&format!("{n}"), "one two three four");
    join_all((0..1_010).map(|n| engine.add(copy(n), unchecked.clone()))).await;
    let recall = engine.measure_recall(Sample::Exactly(3), None).await.unwrap();
    assert_eq!((recall.sampled, recall.left_out, recall.pairs), (3, 3, 0));
    assert_eq!((recall.recall, recall.precision), (None, None));
}
