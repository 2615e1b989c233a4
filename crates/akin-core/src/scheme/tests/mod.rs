mod random_rows;

use xxhash_rust::xxh3::xxh3_64;

use super::*;
use crate::sketch::{Estimator, Method, Sketcher};
use crate::text::ShingleSet;

fn threshold(value: f64) -> Threshold {
    Threshold::new(value).unwrap()
}

fn scheme(at: f64, bands: Option<u32>, rows: Option<u32>) -> SchemeSettings {
    SchemeSettings { threshold: threshold(at), bands, rows, ..SchemeSettings::default() }
}

fn sketch(slots: u32, bits: u32) -> SketchSettings {
    SketchSettings { slots, bits, seed: Some(0), method: Method::Fast32 }
}

fn usual_bands() -> Bands {
    Bands::new(&SchemeSettings::default(), &SketchSettings::default())
}

/// The bands and rows that settings come to.
fn chosen(scheme: &SchemeSettings, sketch: &SketchSettings) -> (u32, u32) {
    let bands = Bands::new(scheme, sketch);
    (bands.bands, bands.rows)
}

#[test]
fn rows_are_the_most_that_serve_the_threshold() {
    let usual = SketchSettings::default();
    for (at, expected) in [
        (1.0, (32, 4)),
        (0.8, (32, 4)),
        (0.61, (32, 4)),
        (0.6, (42, 3)),
        (0.5, (42, 3)),
        (0.3, (64, 2)),
        (0.1, (128, 1)),
        (0.01, (128, 1)),
    ] {
        assert_eq!(chosen(&scheme(at, None, None), &usual), expected, "at {at}");
    }
    assert_eq!(chosen(&scheme(0.8, None, None), &sketch(16, 8)), (8, 2));
    assert_eq!(chosen(&scheme(0.8, None, None), &sketch(256, 8)), (64, 4));
}

#[test]
fn given_bands_and_rows_are_kept() {
    let usual = SketchSettings::default();
    assert_eq!(chosen(&scheme(0.8, None, Some(13)), &usual), (9, 13));
    assert_eq!(chosen(&scheme(0.8, Some(7), Some(5)), &usual), (7, 5));
    assert_eq!(chosen(&scheme(0.8, Some(9), None), &usual), (9, 4));
    assert_eq!(chosen(&scheme(0.8, Some(5), None), &usual), (5, 2));
    assert_eq!(chosen(&scheme(0.8, Some(1), None), &usual), (1, 1));
    assert_eq!(chosen(&scheme(0.8, Some(100), None), &usual), (100, 1));
}

#[test]
fn the_lowest_threshold_decides_which_keys_are_indexed() {
    let usual = SketchSettings::default();
    let from = |kind, least: f64, rows| SchemeSettings {
        kind,
        threshold_min: Some(threshold(least)),
        ..scheme(0.9, None, rows)
    };
    let all = Bands::new(&scheme(0.9, None, None), &usual);
    for (least, expected) in [(0.9, (5, 4)), (0.8, (9, 4)), (0.7, (17, 4)), (0.6, (19, 3))] {
        let settings = from(Kind::Bands, least, None);
        assert_eq!(settings.faults(&usual), [""; 0]);
        assert_eq!(chosen(&settings, &usual), expected, "from {least}");
        let (few, at) = (Bands::new(&settings, &usual), threshold(least));
        assert_eq!(few.plan(at).bands, few.bands);
        assert!(few.plan(at).expected_recall >= 0.99, "{least}");
        if few.rows == 4 {
            assert_eq!(few.plan(threshold(0.95)), all.plan(threshold(0.95)));
            assert_eq!(few.unindexed().plan(threshold(0.5)), all.plan(threshold(0.5)));
        }
    }
    assert_eq!(chosen(&from(Kind::Bands, 0.6, Some(4)), &usual), (32, 4));
    let random = Bands::new(&from(Kind::RandomRows, 0.8, None), &usual);
    assert_eq!(random.plan(threshold(0.8)).bands, random.bands);
    assert!(random.bands < 20 && random.plan(threshold(0.8)).expected_recall >= 0.99);
    let kept = from(Kind::Bands, 0.8, None);
    let mut taken = kept.clone();
    taken.take_threshold(threshold(0.85));
    assert_eq!(taken, SchemeSettings { threshold: threshold(0.85), ..kept });
    taken.take_threshold(threshold(0.5));
    assert_eq!((taken.threshold, taken.threshold_min), (threshold(0.5), None));
}

#[test]
fn the_fewest_bands_that_reach_the_recall_are_probed() {
    let bands = usual_bands();
    let plans = [(0.9, 5, 0.9951), (0.8, 9, 0.9912), (0.7, 17, 0.9905), (0.6, 32, 0.9882)];
    for (at, probed, recall) in plans {
        let plan = bands.plan(threshold(at));
        assert_eq!(plan.bands, probed, "at {at}");
        assert!((plan.expected_recall - recall).abs() < 1e-4, "at {at}: {plan:?}");
        let fewer = ProbePlan { bands: probed - 1, ..plan };
        assert!(bands.probability_found(at, &fewer) < 0.99);
        assert!((bands.probability_found(at, &plan) - plan.expected_recall).abs() < 1e-12);
        // Pruning costs hardly any recall, and scoring by estimates costs about half.
        let unpruned = bands.probability_candidate(at, probed);
        assert!((-1e-12..=1e-4).contains(&(unpruned - plan.expected_recall)), "at {at}");
        assert!((0.4..0.6).contains(&plan.expected_recall_estimated), "at {at}: {plan:?}");
    }
}

#[test]
fn plans_at_the_ends_of_the_scale() {
    let bands = usual_bands();
    let plan = bands.plan(threshold(1.0));
    assert_eq!((plan.bands, plan.agreeing_min), (1, 128));
    assert!(plan.expected_recall > 1.0 - 1e-12 && plan.expected_recall_estimated > 1.0 - 1e-12);
    let plan = bands.plan(threshold(1e-9));
    assert_eq!((plan.bands, plan.agreeing_min), (32, 0));
    assert!((0.0..1e-9).contains(&plan.expected_recall));
    let all = SchemeSettings { recall: 0.999_999, ..SchemeSettings::default() };
    let plan = Bands::new(&all, &sketch(1024, 8)).plan(threshold(0.8));
    assert!(plan.expected_recall >= 0.999_999, "{plan:?}");
}

/// All patterns of agreement of 16 slots, counted one by one.
fn found_by_counting(similarity: f64, plan: &ProbePlan, rows: u32, agreeing_min: u32) -> f64 {
    let band = (1_u32 << rows) - 1;
    let is_found = |pattern: &u32| {
        let candidate = (0..plan.bands).any(|number| pattern >> (number * rows) & band == band);
        candidate && pattern.count_ones() >= agreeing_min
    };
    let chance = |pattern: u32| {
        let agreeing = f64::from(pattern.count_ones());
        similarity.powf(agreeing) * (1.0 - similarity).powf(16.0 - agreeing)
    };
    (0..1 << 16).filter(is_found).map(chance).sum()
}

#[test]
fn the_expected_recall_is_exact() {
    let sketch = sketch(16, 8);
    let estimator = Estimator::new(&sketch);
    for (at, bands, rows) in [(0.8, 5, 3), (0.5, 16, 1), (0.3, 4, 4), (0.93, 2, 5), (0.6, 3, 2)] {
        let bands = Bands::new(&scheme(at, Some(bands), Some(rows)), &sketch);
        let plan = bands.plan(threshold(at));
        let counted = found_by_counting(at, &plan, rows, plan.agreeing_min);
        assert!((plan.expected_recall - counted).abs() < 1e-9, "{plan:?}: {counted}");
        let estimate_min = (0..=16).find(|n| estimator.estimate(*n).value >= at).unwrap();
        let counted = found_by_counting(at, &plan, rows, estimate_min);
        assert!((plan.expected_recall_estimated - counted).abs() < 1e-9, "{plan:?}: {counted}");
        for similarity in [0.0, 0.2, at, 0.95, 1.0] {
            let counted = found_by_counting(similarity, &plan, rows, plan.agreeing_min);
            let found = bands.probability_found(similarity, &plan);
            assert!((found - counted).abs() < 1e-9, "{plan:?} at {similarity}: {found}, {counted}");
        }
    }
}

#[test]
fn pruning_uses_the_allowed_loss() {
    let bands = usual_bands();
    for at in [0.55, 0.8, 0.97] {
        let plan = bands.plan(threshold(at));
        // All bands of one row: any agreement makes a candidate.
        let any = Bands::new(&scheme(at, None, Some(1)), &SketchSettings::default());
        let missed = |agreeing_min| {
            1.0 - any.probability_found(at, &ProbePlan { bands: 128, agreeing_min, ..plan })
        };
        assert!(missed(plan.agreeing_min) <= 1e-4 && missed(plan.agreeing_min + 1) > 1e-4);
    }
}

#[test]
fn cached_plans_equal_new_plans() {
    let bands = usual_bands();
    let again = bands.clone();
    for number in 1..=400 {
        let at = threshold(f64::from(number) / 400.0);
        let plan = bands.plan(at);
        assert_eq!(plan, usual_bands().plan(at));
        assert_eq!(plan, again.plan(at));
    }
}

#[test]
fn keys_are_the_bands_of_a_sketch() {
    let slots: Vec<u8> = (0..128).collect();
    let bands = usual_bands();
    let keys: Vec<Key> = bands.keys(&slots, 32).collect();
    assert_eq!(keys.len(), 32);
    assert_eq!(keys[0], Key { table: 0, value: 0x0302_0100 });
    assert_eq!(keys[31], Key { table: 31, value: 0x7f7e_7d7c });
    assert_eq!(bands.keys(&slots, 5).collect::<Vec<_>>(), keys[..5]);
    assert_eq!(bands.keys(&slots, 33).count(), 32);
    let plan = bands.plan(threshold(0.8));
    assert_eq!(plan.keys_of(&keys), &keys[..plan.bands as usize]);

    let nine = Bands::new(&scheme(0.8, Some(9), Some(4)), &SketchSettings::default());
    assert_eq!(nine.keys(&slots, 32).collect::<Vec<_>>(), keys[..9]);

    let three = Bands::new(&scheme(0.8, None, Some(3)), &SketchSettings::default());
    let keys: Vec<Key> = three.keys(&slots, 42).collect();
    assert_eq!(keys[0], Key { table: 0, value: 0x0002_0100 });
    assert_eq!(keys[41], Key { table: 41, value: 0x007d_7c7b });
}

#[test]
fn longer_bands_have_hashed_keys_as_they_always_had() {
    let slots: Vec<u8> = (0..=255).collect();
    let bands = Bands::new(&scheme(0.8, None, Some(4)), &sketch(128, 16));
    let mut other = slots.clone();
    other[9] ^= 1;
    let [keys, others] = [&slots, &other].map(|it| bands.keys(it, 32).collect::<Vec<_>>());
    assert_eq!(keys.len(), 32);
    let differing: Vec<usize> = (0..32).filter(|&band| keys[band] != others[band]).collect();
    assert_eq!(differing, [1]);
    let golden = [0, 31].map(|band| keys[band].value);
    assert_eq!(golden, [0x85af_88f8, 0x6124_e219], "{golden:08x?}");
}

/// Two sets of a known resemblance; different sets for each trial.
fn sets(trial: u64, similarity: f64) -> (ShingleSet, ShingleSet) {
    const UNION: u64 = 800;
    let shared = (UNION as f64 * similarity) as u64;
    let half = shared + (UNION - shared) / 2;
    let element = |n: u64| xxh3_64(&(trial * UNION + n).to_le_bytes());
    let set = |own: std::ops::Range<u64>| {
        ShingleSet::from_shingles((0..shared).chain(own).map(element).collect()).unwrap()
    };
    (set(shared..half), set(half..UNION))
}

/// Pairs of sets of a known resemblance share keys as often as the S-curve says.
#[test]
fn the_s_curve_matches_real_sketches() {
    const TRIALS: u64 = 1000;
    let sketcher = Sketcher::new(SketchSettings::default());
    let bands = usual_bands();
    for (similarity, probed) in [(0.8, 9), (0.7, 4), (0.5, 32), (0.3, 32)] {
        let found = (0..TRIALS).filter(|trial| {
            let (a, b) = sets(*trial, similarity);
            let [a, b] = [a, b].map(|set| sketcher.sketch(&set));
            let [a, b] = [&a, &b].map(|sketch| bands.keys(sketch.as_bytes(), probed));
            a.zip(b).any(|(a, b)| a == b)
        });
        let found = found.count() as f64 / TRIALS as f64;
        let agrees = similarity + (1.0 - similarity) / 256.0;
        let expected = bands.probability_candidate(agrees, probed);
        let error = (expected * (1.0 - expected) / TRIALS as f64).sqrt();
        assert!((found - expected).abs() <= 4.0 * error, "{similarity}: {found}, {expected}");
    }
}

#[test]
fn settings_name_their_faults() {
    let usual = SketchSettings::default();
    assert!(SchemeSettings::default().faults(&usual).is_empty());
    for recall in [0.0, 1.0, f64::NAN] {
        let faults = SchemeSettings { recall, ..SchemeSettings::default() }.faults(&usual);
        assert_eq!(faults, [format!("recall must be above 0 and below 1, not {recall}")]);
    }
    let faults = |bands, rows| scheme(0.8, bands, rows).faults(&usual);
    assert_eq!(faults(Some(0), None), ["bands must be from 1 to 1024, not 0"]);
    assert_eq!(faults(None, Some(0)), ["rows must be from 1 to 32, not 0"]);
    assert_eq!(faults(None, Some(33)), ["rows must be from 1 to 32, not 33"]);
    let unfit = "bands of rows must fit the sketch: 33 × 4 is more than 128 slots";
    assert_eq!(faults(Some(33), Some(4)), [unfit]);
    assert_eq!(faults(Some(129), None).len(), 1);
    assert_eq!(scheme(0.8, None, Some(17)).faults(&sketch(16, 8)).len(), 1);
    assert!(faults(Some(128), None).is_empty() && faults(Some(32), Some(4)).is_empty());
    let all = SchemeSettings { recall: 2.0, ..scheme(0.8, Some(0), Some(50)) };
    assert_eq!(all.faults(&usual).len(), 3);
    let least = |kind, threshold_min, bands| {
        let threshold_min = Some(threshold(threshold_min));
        SchemeSettings { kind, threshold_min, ..scheme(0.8, bands, None) }.faults(&usual)
    };
    let unfit = "threshold_min must be at most the threshold 0.8, not 0.9";
    assert_eq!(least(Kind::Bands, 0.9, None), [unfit]);
    let unfit = "threshold_min decides the number of bands: give only one of them";
    assert_eq!(least(Kind::RandomRows, 0.8, Some(9)), [unfit]);
    let unfit = "threshold_min is for the kinds bands and random_rows only";
    assert_eq!(least(Kind::Prefix, 0.8, None), [unfit]);
}

#[test]
fn a_threshold_is_above_0_and_at_most_1() {
    for value in [0.0, -0.1, 1.000_1, f64::NAN, f64::INFINITY] {
        assert!(Threshold::new(value).is_err(), "{value}");
    }
    assert_eq!(threshold(1.0).get().to_bits(), 1.0_f64.to_bits());
    assert!(Threshold::try_from(1.5).is_err());
}
