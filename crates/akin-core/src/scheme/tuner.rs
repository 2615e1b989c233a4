//! Chooses how many keys to probe for a wanted recall.
//!
//! All probabilities assume independent slots, each agreeing with a probability equal to the
//! resemblance. Slots of few bits also agree by accident, which only raises recall.

use std::sync::Arc;

use crate::sketch::{Estimator, SketchSettings};

use super::binomial::reached;
use super::completion::Completion;
use super::probed_keys::{ProbedBands, ProbedDraws, ProbedKeys};
use super::{Key, SchemeSettings, Threshold};

/// The highest loss by pruning: the probability that a document at just the threshold agrees in
/// fewer than `agreeing_min` slots.
const PRUNING_LOSS_MAX: f64 = 1e-4;

/// The highest share that pruning may have of the false negatives that the wanted recall allows.
const PRUNING_SHARE_OF_MISSES: f64 = 0.1;

/// How a lookup at a given threshold probes and prunes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProbePlan {
    /// The number of keys to probe, from the first on.
    pub bands: u32,
    /// Candidates with sketches that agree in fewer slots are pruned without verification.
    pub agreeing_min: u32,
    /// The probability that mode `verified` finds a document at just the threshold: it is a
    /// candidate and not pruned.
    pub expected_recall: f64,
    /// The probability that mode `estimated` finds a document: it is a candidate and its estimate
    /// reaches the threshold.
    pub expected_recall_estimated: f64,
}

impl ProbePlan {
    /// The keys to probe among all keys of a sketch, which are in the order of their tables.
    pub fn keys_of<'a>(&self, all: &'a [Key]) -> &'a [Key] {
        &all[..all.partition_point(|key| key.table < self.bands)]
    }
}

/// Plans lookups for a wanted recall.
#[derive(Clone, Debug)]
pub(super) struct Tuner {
    /// For random rows; `None` for bands.
    completion: Option<Arc<Completion>>,
    recall: f64,
    slots: usize,
    estimator: Estimator,
}

impl Tuner {
    pub(super) fn new(scheme: &SchemeSettings, sketch: &SketchSettings) -> Self {
        Self {
            completion: None,
            recall: scheme.recall,
            slots: sketch.slots as usize,
            estimator: Estimator::new(sketch),
        }
    }

    /// The tuner of random-rows keys.
    pub(super) fn with_drawn(self, keys: &[u16], rows: u32) -> Self {
        let completion = Completion::of(keys, rows as usize, self.slots);
        Self { completion: Some(Arc::new(completion)), ..self }
    }

    /// Probes the fewest of `bands` keys of `rows` rows that reach the wanted recall, or all.
    pub(super) fn plan(&self, threshold: Threshold, bands: u32, rows: u32) -> ProbePlan {
        self.plan_until(self.recall, threshold, bands, rows)
    }

    /// Probes all of `bands` keys of `rows` rows, regardless of the wanted recall.
    pub(super) fn plan_all(&self, threshold: Threshold, bands: u32, rows: u32) -> ProbePlan {
        self.plan_until(f64::INFINITY, threshold, bands, rows)
    }

    fn plan_until(&self, wanted: f64, threshold: Threshold, bands: u32, rows: u32) -> ProbePlan {
        let similarity = threshold.get();
        let agreeing_min = self.agreeing_min(similarity);
        let mut keys = self.keys(similarity, rows);
        let mut recall = 0.0;
        let mut probed = 0;
        while probed < bands && recall < wanted {
            keys.probe_next();
            recall = keys.probability_found(agreeing_min);
            probed += 1;
        }
        ProbePlan {
            bands: probed,
            agreeing_min: agreeing_min as u32,
            expected_recall: recall,
            expected_recall_estimated: keys.probability_found(self.estimate_min(similarity)),
        }
    }

    pub(super) fn probability_found(
        &self,
        similarity: f64,
        bands: u32,
        rows: u32,
        agreeing_min: u32,
    ) -> f64 {
        let mut keys = self.keys(similarity, rows);
        (0..bands).for_each(|_| keys.probe_next());
        keys.probability_found(agreeing_min as usize).clamp(0.0, 1.0)
    }

    fn keys(&self, similarity: f64, rows: u32) -> Box<dyn ProbedKeys> {
        match &self.completion {
            None => Box::new(ProbedBands::new(self.slots, rows as usize, similarity)),
            Some(draws) => Box::new(ProbedDraws::new(draws.clone(), self.slots, similarity)),
        }
    }

    /// The highest minimum of agreeing slots with a loss within the limits for documents at just
    /// the threshold.
    fn agreeing_min(&self, threshold: f64) -> usize {
        let loss_max = PRUNING_LOSS_MAX.min((1.0 - self.recall) * PRUNING_SHARE_OF_MISSES);
        reached(self.slots, threshold, loss_max)
    }

    /// The fewest agreeing slots with an estimate that reaches the threshold.
    fn estimate_min(&self, threshold: f64) -> usize {
        let estimates = |agreeing| self.estimator.estimate(agreeing as u32).value;
        // When all slots agree the estimate is 1, the highest possible threshold.
        (0..self.slots).find(|agreeing| estimates(*agreeing) >= threshold).unwrap_or(self.slots)
    }
}
