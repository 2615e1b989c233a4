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
        // A key changes if, and only if, a slot of it changes.
        let mut changed = 0;
        for slot in 0..128 {
            let mut other = bytes.clone();
            other[slot * bits as usize / 8] ^= 1;
            changed += bands.keys(&other, 50).zip(&keys).filter(|(a, b)| a != *b).count();
        }
        assert_eq!(changed, 50 * rows as usize, "{rows} rows of {bits} bits");
    }
}

/// All patterns of agreement of 16 slots, each held against the slots that were drawn.
fn found_by_counting(bands: &Bands, similarity: f64, plan: &ProbePlan) -> f64 {
    let masks: Vec<u64> = (0..plan.bands).map(|table| mask(bands, table, 16)).collect();
    let is_found = |pattern: &u64| {
        pattern.count_ones() >= plan.agreeing_min && masks.iter().any(|key| key & pattern == *key)
    };
    let chance = |pattern: u64| {
        let agreeing = pattern.count_ones() as i32;
        similarity.powi(agreeing) * (1.0 - similarity).powi(16 - agreeing)
    };
    (0..1 << 16).filter(is_found).map(chance).sum()
}

/// The slots of a key, a bit for each that changes it.
fn mask(bands: &Bands, table: u32, slots: usize) -> u64 {
    let zeros = vec![0; slots];
    let changes = |slot: &usize| {
        let mut sketch = zeros.clone();
        sketch[*slot] = 1;
        bands.value(&sketch, table) != bands.value(&zeros, table)
    };
    (0..slots).filter(changes).map(|slot| 1 << slot).sum()
}

#[test]
fn the_expected_recall_depends_on_the_drawn_slots() {
    for (at, keys, rows) in [(0.8, 10, 3), (0.5, 125, 1), (0.93, 4, 8), (0.3, 60, 2), (0.6, 9, 4)] {
        for seed in 0..4 {
            let sketch = SketchSettings { seed: Some(seed), ..sketch(16, 8) };
            let settings = random_rows(Some(keys), Some(rows));
            let bands =
                Bands::new(&SchemeSettings { threshold: threshold(at), ..settings }, &sketch);
            let plan = bands.plan(threshold(at));
            let all = ProbePlan { bands: keys, agreeing_min: 0, ..plan };
            for (plan, expected) in [
                (plan, plan.expected_recall),
                (all, bands.probability_candidate(at, keys)),
                (all, bands.probability_found(at, &all)),
            ] {
                let counted = found_by_counting(&bands, at, &plan);
                let error = 4.0 * (counted * (1.0 - counted) / 16_384.0).sqrt() + 1e-4;
                assert!((expected - counted).abs() < error, "{plan:?}: {expected} {counted}");
            }
        }
    }
}

/// At 64 slots 7 keys find .9906 on average over all draws, but 7 keys of a usual draw find only
/// .97.
#[test]
fn the_drawn_slots_decide_the_number_of_keys() {
    const TRIALS: u64 = 20_000;
    for seed in 0..6 {
        let sketch = SketchSettings { seed: Some(seed), ..sketch(64, 8) };
        let bands = Bands::new(&random_rows(None, None), &sketch);
        let plan = bands.plan(threshold(0.8));
        let fewer = ProbePlan { bands: plan.bands - 1, ..plan };
        assert!(plan.expected_recall >= 0.99 && bands.probability_found(0.8, &fewer) < 0.99);
        let masks: Vec<u64> = (0..plan.bands).map(|table| mask(&bands, table, 64)).collect();
        let agrees = |trial: u64, slot: u64| {
            let random = xxh3_64(&((seed * TRIALS + trial) * 64 + slot).to_le_bytes());
            random < (0.8 * u64::MAX as f64) as u64
        };
        let found = (0..TRIALS).filter(|trial| {
            let pattern: u64 = (0..64).map(|slot| u64::from(agrees(*trial, slot)) << slot).sum();
            let candidate = masks.iter().any(|key| key & pattern == *key);
            candidate && pattern.count_ones() >= plan.agreeing_min
        });
        let found = found.count() as f64 / TRIALS as f64;
        assert!((found - plan.expected_recall).abs() < 0.003, "{seed}: {plan:?}, {found}");
    }
}

#[test]
fn a_higher_threshold_takes_fewer_keys() {
    let bands = Bands::new(&random_rows(None, None), &SketchSettings::default());
    let mut fewer = 1;
    for at in [0.95, 0.8, 0.6, 0.4] {
        let plan = bands.plan(threshold(at));
        assert!(plan.expected_recall >= 0.99 && plan.bands > fewer, "at {at}: {plan:?}");
        fewer = plan.bands;
    }
    let plan = bands.plan(threshold(0.3));
    assert!(plan.bands == 125 && plan.expected_recall < 0.99, "all, if none are enough: {plan:?}");
}

/// A draw, and sets with a given resemblance.
#[test]
fn real_sketches_are_found_as_often_as_expected() {
    const TRIALS: u64 = 1_500;
    let settings = sketch(64, 8);
    let sketcher = Sketcher::new(settings.clone());
    for (similarity, keys) in [(0.8, 7), (0.5, 12), (0.3, 40)] {
        let bands = Bands::new(&random_rows(Some(keys), None), &settings);
        // About half of the pairs agree in fewer slots and are pruned.
        let agreeing_min = (similarity * 64.0) as u32;
        let plan = ProbePlan { bands: keys, agreeing_min, ..bands.plan(threshold(0.5)) };
        let found = (0..TRIALS).filter(|trial| {
            let (a, b) = sets(*trial, similarity);
            let [a, b] = [a, b].map(|set| sketcher.sketch(&set));
            let [a, b] = [a.as_bytes(), b.as_bytes()];
            let shares = bands.keys(a, keys).zip(bands.keys(b, keys)).any(|(a, b)| a == b);
            shares && Estimator::new(&settings).agreeing(a, b) >= agreeing_min
        });
        let found = found.count() as f64 / TRIALS as f64;
        let expected = bands.probability_found(similarity + (1.0 - similarity) / 256.0, &plan);
        let error = (expected * (1.0 - expected) / TRIALS as f64).sqrt();
        assert!((found - expected).abs() <= 4.0 * error, "{similarity}: {found}, {expected}");
    }
}
