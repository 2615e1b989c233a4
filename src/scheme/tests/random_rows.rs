//! Keys of random rows.

use super::*;

fn random_rows(bands: Option<u32>, rows: Option<u32>) -> SchemeSettings {
    SchemeSettings { kind: Kind::RandomRows, ..scheme(0.8, bands, rows) }
}

#[test]
fn random_rows_are_usually_125_keys_of_3() {
    let usual = SketchSettings::default();
    assert_eq!(chosen(&random_rows(None, None), &usual), (125, 3));
    assert_eq!(chosen(&random_rows(Some(7), None), &usual), (7, 3));
    assert_eq!(chosen(&random_rows(None, Some(32)), &usual), (125, 32));
    assert_eq!(chosen(&random_rows(Some(1024), Some(16)), &sketch(16, 8)), (1024, 16));
}

#[test]
fn rows_of_a_key_must_be_distinct_slots() {
    let faults = random_rows(Some(1025), Some(17)).faults(&sketch(16, 8));
    let [bands, rows] = &faults[..] else { panic!("{faults:?}") };
    assert_eq!(bands, "bands must be from 1 to 1024, not 1025");
    assert_eq!(rows, "rows must be distinct slots: 17 is more than 16 slots");
    assert!(random_rows(Some(1024), Some(16)).faults(&sketch(16, 8)).is_empty());
}

#[test]
fn keys_are_the_drawn_slots_of_a_sketch() {
    for (bits, rows) in [(8, 3), (8, 4), (16, 2), (32, 1), (16, 5), (32, 32)] {
        let sketch = sketch(128, bits);
        let bands = Bands::new(&random_rows(Some(50), Some(rows)), &sketch);
        let bytes: Vec<u8> = (0..128 * bits / 8).map(|n| (n * 7 / 4) as u8).collect();
        let keys: Vec<Key> = bands.keys(&bytes, 50).collect();
        assert_eq!(bands.keys(&bytes, 9).collect::<Vec<_>>(), keys[..9]);
        // A key changes if, and only if, one of its slots does.
        let mut changed = 0;
        for slot in 0..128 {
            let mut other = bytes.clone();
            other[slot * bits as usize / 8] ^= 1;
            changed += bands.keys(&other, 50).zip(&keys).filter(|(a, b)| a != *b).count();
        }
        assert_eq!(changed, 50 * rows as usize, "{rows} rows of {bits} bits");
    }
}

/// All choices of rows are tried on one pattern for each number of agreeing slots of 16.
fn found_by_choosing(similarity: f64, probed: u32, rows: u32, agreeing_min: u32) -> f64 {
    let choices: Vec<u32> =
        (0..1 << 16).filter(|choice: &u32| choice.count_ones() == rows).collect();
    let found = |agreeing: u32| {
        let pattern = (1_u32 << agreeing) - 1;
        let whole = choices.iter().filter(|choice| *choice & pattern == **choice).count();
        let key_agrees = whole as f64 / choices.len() as f64;
        1.0 - (1.0 - key_agrees).powi(probed as i32)
    };
    let patterns = (0..1_u32 << 16).filter(|pattern| pattern.count_ones() >= agreeing_min);
    let chance = |pattern: u32| {
        let agreeing = pattern.count_ones() as i32;
        similarity.powi(agreeing) * (1.0 - similarity).powi(16 - agreeing)
    };
    let mut by_agreeing = [0.0; 17];
    patterns.for_each(|pattern| by_agreeing[pattern.count_ones() as usize] += chance(pattern));
    (0..).zip(by_agreeing).map(|(agreeing, chance)| chance * found(agreeing)).sum()
}

#[test]
fn the_expected_recall_is_that_of_all_choices_of_rows() {
    for (at, keys, rows) in [(0.8, 10, 3), (0.5, 125, 1), (0.93, 4, 8), (0.3, 60, 2)] {
        let sketch = sketch(16, 8);
        let settings =
            SchemeSettings { threshold: threshold(at), ..random_rows(Some(keys), Some(rows)) };
        let bands = Bands::new(&settings, &sketch);
        let plan = bands.plan(threshold(at));
        let chosen = found_by_choosing(at, plan.bands, rows, plan.agreeing_min);
        assert!((plan.expected_recall - chosen).abs() < 1e-9, "{plan:?}: {chosen}");
        let candidates = found_by_choosing(at, keys, rows, 0);
        assert!((bands.probability_candidate(at, keys) - candidates).abs() < 1e-9);
        let fewer = ProbePlan { bands: plan.bands - 1, ..plan };
        assert!(bands.probability_found(at, &fewer) < 0.99);
    }
}

#[test]
fn a_higher_threshold_takes_fewer_keys() {
    let bands = Bands::new(&random_rows(None, None), &SketchSettings::default());
    let plans = [(0.95, 3), (0.8, 7), (0.6, 22), (0.4, 91), (0.3, 125)];
    for (at, probed) in plans {
        let plan = bands.plan(threshold(at));
        assert_eq!(plan.bands, probed, "at {at}: {plan:?}");
        assert_eq!(plan.expected_recall >= 0.99, at > 0.3, "at {at}: {plan:?}");
    }
}

/// Each trial draws sets and rows anew: what is foretold is the average over draws.
#[test]
fn real_sketches_are_found_as_often_as_expected() {
    const TRIALS: u64 = 400;
    for (similarity, keys) in [(0.8, 5), (0.5, 12), (0.3, 40)] {
        let mut expected = 0.0;
        let found = (0..TRIALS).filter(|trial| {
            let settings = SketchSettings { seed: *trial, ..SketchSettings::default() };
            let sketcher = Sketcher::new(settings.clone());
            let bands = Bands::new(&random_rows(Some(keys), None), &settings);
            // Half of the pairs would be pruned at so many agreeing slots.
            let agreeing_min = (similarity * 128.0) as u32;
            let plan = ProbePlan { bands: keys, agreeing_min, ..bands.plan(threshold(0.5)) };
            let agrees = similarity + (1.0 - similarity) / 256.0;
            expected = bands.probability_found(agrees, &plan);
            let (a, b) = sets(*trial, similarity);
            let [a, b] = [a, b].map(|set| sketcher.sketch(&set));
            let [a, b] = [a.as_bytes(), b.as_bytes()];
            let shares = bands.keys(a, keys).zip(bands.keys(b, keys)).any(|(a, b)| a == b);
            shares && Estimator::new(&settings).agreeing(a, b) >= agreeing_min
        });
        let found = found.count() as f64 / TRIALS as f64;
        let error = (expected * (1.0 - expected) / TRIALS as f64).sqrt();
        assert!((found - expected).abs() <= 4.0 * error, "{similarity}: {found}, {expected}");
    }
}
