//! The S-curve of a scheme and its costs, for choosing among schemes.

use serde::Serialize;

use super::Threshold;
use super::bands::Bands;
use super::tuner::ProbePlan;

/// The steps between points of a curve.
const STEPS: u32 = 100;

/// Steps of the numerical integration; even, as Simpson's rule requires.
const MEAN_STEPS: u32 = 64;

/// The S-curve of a scheme under a probe plan.
///
/// Computing a curve takes a few milliseconds for 128 slots, and a tenth of a second for 1024.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Keys of a stored document.
    pub bands: u32,
    /// Slots of a key.
    pub rows: u32,
    /// Keys that a lookup probes.
    pub probed: u32,
    /// At 0, 0.01, …, 1.
    pub points: Vec<CurvePoint>,
    /// The share of near-duplicates missed, averaged over resemblances from the threshold to 1.
    pub false_negatives: f64,
    /// The share of documents below the threshold that become candidates and are not pruned,
    /// averaged over resemblances from 0 to the threshold.
    pub false_positives: f64,
    /// Index memory per document.
    pub document_bytes: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct CurvePoint {
    pub similarity: f64,
    /// The probability of sharing a key that a lookup probes.
    pub candidate: f64,
    /// The probability of being a candidate with a sketch that agrees enough to be checked.
    pub found: f64,
}

/// The memory of an index, by its layout.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IndexBytes {
    /// Per key of a document.
    pub key: f64,
    /// Per document, without its keys and its sketch.
    pub entry: f64,
}

impl Curve {
    /// The curve of lookups at a threshold under a plan: [`Bands::plan`] probes the fewest keys
    /// that reach the wanted recall, [`Bands::plan_all`] all, like the textbook's S-curve.
    pub fn of(bands: &Bands, threshold: Threshold, plan: &ProbePlan, index: IndexBytes) -> Self {
        let threshold = threshold.get();
        let found = |similarity: f64| bands.probability_found(similarity, plan);
        let point = |step: u32| {
            let similarity = f64::from(step) / f64::from(STEPS);
            let candidate = bands.probability_candidate(similarity, plan.bands);
            CurvePoint { similarity, candidate, found: found(similarity) }
        };
        Self {
            bands: bands.bands,
            rows: bands.rows,
            probed: plan.bands,
            points: (0..=STEPS).map(point).collect(),
            false_negatives: mean(threshold, 1.0, |similarity| 1.0 - found(similarity)),
            false_positives: mean(0.0, threshold, found),
            document_bytes: bands.sketch_bytes() as f64
                + f64::from(bands.bands) * index.key
                + index.entry,
        }
    }
}

/// The mean of a smooth function by Simpson's rule.
fn mean(from: f64, to: f64, of: impl Fn(f64) -> f64) -> f64 {
    let weighted = |step: u32| {
        let weight = match step {
            0 | MEAN_STEPS => 1.0,
            odd if odd % 2 == 1 => 4.0,
            _ => 2.0,
        };
        weight * of(from + (to - from) * f64::from(step) / f64::from(MEAN_STEPS))
    };
    (0..=MEAN_STEPS).map(weighted).sum::<f64>() / (3.0 * f64::from(MEAN_STEPS))
}

#[cfg(test)]
mod tests {
    use super::super::{Kind, SchemeSettings};
    use super::*;
    use crate::sketch::SketchSettings;

    const INDEX: IndexBytes = IndexBytes { key: 10.0, entry: 40.0 };

    fn bands(kind: Kind, bands: Option<u32>, rows: Option<u32>) -> Bands {
        let scheme = SchemeSettings { kind, bands, rows, ..SchemeSettings::default() };
        Bands::new(&scheme, &SketchSettings::default())
    }

    fn at(threshold: f64) -> Threshold {
        Threshold::new(threshold).unwrap()
    }

    #[test]
    fn a_curve_has_the_chosen_plan_and_its_cost() {
        let bands = bands(Kind::Bands, None, None);
        let curve = Curve::of(&bands, at(0.8), &bands.plan(at(0.8)), INDEX);
        assert_eq!((curve.bands, curve.rows, curve.probed), (32, 4, 9));
        assert_eq!(curve.document_bytes, 128.0 + 320.0 + 40.0);
        assert_eq!(curve.points.len(), 101);
        let all = Curve::of(&bands, at(0.8), &bands.plan_all(at(0.8)), INDEX);
        assert_eq!(all.probed, 32);
        assert!(all.false_negatives < curve.false_negatives);
        assert!(all.false_positives > curve.false_positives);
    }

    #[test]
    fn points_climb_to_1_and_pruning_lowers_them() {
        for kind in [Kind::Bands, Kind::RandomRows] {
            let bands = bands(kind, None, None);
            let plan = bands.plan(at(0.7));
            let points = Curve::of(&bands, at(0.7), &plan, INDEX).points;
            assert_eq!((points[0].candidate, points[0].found), (0.0, 0.0));
            assert!(points[100].candidate > 1.0 - 1e-12 && points[100].found > 1.0 - 1e-12);
            assert!((points[70].found - plan.expected_recall).abs() < 1e-9, "{kind:?}");
            for pair in points.windows(2) {
                assert!(pair[1].candidate >= pair[0].candidate - 1e-12, "{pair:?}");
                assert!(pair[1].found >= pair[0].found - 1e-12, "{pair:?}");
                assert!(pair[1].found <= pair[1].candidate + 1e-12, "{pair:?}");
            }
        }
    }

    /// The textbook's 20 bands of 5 rows (Leskovec, Rajaraman and Ullman, "Mining of Massive
    /// Datasets", 3.4.2).
    #[test]
    fn twenty_bands_of_5_rows_match_the_textbook() {
        let bands = bands(Kind::Bands, Some(20), Some(5));
        let curve = Curve::of(&bands, at(0.5), &bands.plan_all(at(0.5)), INDEX);
        for (step, chance) in [
            (20, 0.006),
            (30, 0.047),
            (40, 0.186),
            (50, 0.470),
            (60, 0.802),
            (70, 0.975),
            (80, 0.9996),
        ] {
            assert!((curve.points[step].candidate - chance).abs() < 6e-4, "{step}");
        }
    }

    #[test]
    fn means_match_numerical_integration() {
        for kind in [Kind::Bands, Kind::RandomRows] {
            let bands = bands(kind, None, None);
            for threshold in [0.5, 0.8, 0.95] {
                let plan = bands.plan(at(threshold));
                let curve = Curve::of(&bands, at(threshold), &plan, INDEX);
                let mean = |from: f64, to: f64| {
                    let middle = |n: i32| from + (to - from) * (f64::from(n) + 0.5) / 200.0;
                    let found = (0..200).map(|n| bands.probability_found(middle(n), &plan));
                    found.sum::<f64>() / 200.0
                };
                let missed = 1.0 - mean(threshold, 1.0);
                assert!((curve.false_negatives - missed).abs() < 1e-4, "{curve:?} {missed}");
                let false_positives = mean(0.0, threshold);
                assert!(
                    (curve.false_positives - false_positives).abs() < 1e-4,
                    "{curve:?} {false_positives}"
                );
            }
        }
    }

    #[test]
    fn at_threshold_1_nothing_equal_is_missed() {
        let bands = bands(Kind::Bands, None, None);
        let curve = Curve::of(&bands, at(1.0), &bands.plan(at(1.0)), INDEX);
        assert!(curve.false_negatives < 1e-12);
        assert!((0.0..0.1).contains(&curve.false_positives), "{}", curve.false_positives);
    }
}
