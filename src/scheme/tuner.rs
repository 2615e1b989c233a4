//! How many bands a wanted recall takes.
//!
//! All chances here are those of independent slots that agree with a chance of just the
//! resemblance. Slots of fewer bits agree a little more often, by accident: that only helps.

use crate::sketch::{Estimator, SketchSettings};

use super::Threshold;

/// The most that pruning by sketch may cost: the chance that a document at just the threshold
/// agrees in fewer slots than are asked for.
const PRUNING_LOSS_MAX: f64 = 1e-4;

/// Pruning may have no larger share than this of the misses that the wanted recall allows.
const PRUNING_SHARE_OF_MISSES: f64 = 0.1;

/// How a lookup at one threshold goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProbePlan {
    /// Looks under the first this many bands.
    pub bands: u32,
    /// A candidate whose sketch agrees in fewer slots is not worth an exact check.
    pub agreeing_min: u32,
    /// The chance that a document at just the threshold is found (verified mode: candidate, and
    /// not pruned).
    pub expected_recall: f64,
    /// The same when the sketch alone decides: candidate, and estimate at or over the threshold.
    pub expected_recall_estimated: f64,
}

/// Plans lookups that reach a wanted recall.
#[derive(Clone, Debug)]
pub(super) struct Tuner {
    recall: f64,
    slots: usize,
    estimator: Estimator,
}

impl Tuner {
    pub(super) fn new(recall: f64, sketch: &SketchSettings) -> Self {
        Self { recall, slots: sketch.slots as usize, estimator: Estimator::new(sketch) }
    }

    /// The fewest of `bands` bands of `rows` rows that reach the wanted recall, or all of them.
    pub(super) fn plan(&self, threshold: Threshold, bands: u32, rows: u32) -> ProbePlan {
        let similarity = threshold.get();
        let mut misses = Misses::new(self.slots, similarity);
        let agreeing_min = self.agreeing_min(&misses.agreeing);
        let mut recall = 0.0;
        let mut probed = 0;
        while probed < bands && recall < self.recall {
            misses.probe_band(rows as usize);
            recall = misses.probability_found(agreeing_min);
            probed += 1;
        }
        ProbePlan {
            bands: probed,
            agreeing_min: agreeing_min as u32,
            expected_recall: recall,
            expected_recall_estimated: misses.probability_found(self.estimate_min(similarity)),
        }
    }

    pub(super) fn probability_found(
        &self,
        similarity: f64,
        bands: u32,
        rows: u32,
        agreeing_min: u32,
    ) -> f64 {
        let mut misses = Misses::new(self.slots, similarity);
        (0..bands).for_each(|_| misses.probe_band(rows as usize));
        misses.probability_found(agreeing_min as usize)
    }

    /// The most agreeing slots that can be asked for while no more than the pruning loss of the
    /// documents at just the threshold have fewer; from the chances of each number of them.
    fn agreeing_min(&self, agreeing: &[f64]) -> usize {
        let loss_max = PRUNING_LOSS_MAX.min((1.0 - self.recall) * PRUNING_SHARE_OF_MISSES);
        let mut fewer = 0.0;
        let mut within_loss = |chance: &f64| {
            fewer += chance;
            fewer <= loss_max
        };
        agreeing.iter().take_while(|chance| within_loss(chance)).count()
    }

    /// The fewest agreeing slots whose estimate is the threshold or over it.
    fn estimate_min(&self, threshold: f64) -> usize {
        let estimates = |agreeing| self.estimator.estimate(agreeing as u32).value;
        // When all slots agree the estimate is 1, the highest threshold there is.
        (0..self.slots).find(|agreeing| estimates(*agreeing) >= threshold).unwrap_or(self.slots)
    }
}

/// How a document at a given similarity is missed by a growing number of bands.
///
/// It is missed when too few slots agree, or when enough do but no probed band agrees whole. The
/// chances of these two are sums of positive terms, so nothing cancels.
struct Misses {
    similarity: f64,
    /// `agreeing[n]`: the chance that n of all slots agree.
    agreeing: Vec<f64>,
    /// Slots in the probed bands.
    probed_slots: usize,
    /// `no_band[n]`: the chance that n slots of the probed bands agree, and no band does whole.
    no_band: Vec<f64>,
}

impl Misses {
    fn new(slots: usize, similarity: f64) -> Self {
        Self {
            similarity,
            agreeing: binomial(slots, similarity),
            probed_slots: 0,
            no_band: vec![1.0],
        }
    }

    /// Adds a band: as polynomials in the number of agreeing slots, `no_band` is multiplied by
    /// the binomial of the band's rows without its last term.
    fn probe_band(&mut self, rows: usize) {
        let partial = &binomial(rows, self.similarity)[..rows];
        let mut product = vec![0.0; self.no_band.len() + rows - 1];
        for (before, chance) in self.no_band.iter().enumerate() {
            for (agreeing, partial_chance) in partial.iter().enumerate() {
                product[before + agreeing] += chance * partial_chance;
            }
        }
        self.no_band = product;
        self.probed_slots += rows;
    }

    /// The chance that a probed band agrees whole, and at least `agreeing_min` slots do.
    fn probability_found(&self, agreeing_min: usize) -> f64 {
        let too_few: f64 = self.agreeing[..agreeing_min].iter().sum();
        let other_slots = self.agreeing.len() - 1 - self.probed_slots;
        let others = at_least(binomial(other_slots, self.similarity));
        let enough_but_no_band: f64 = (0..)
            .zip(&self.no_band)
            .map(|(agreeing, chance)| {
                let missing = agreeing_min.saturating_sub(agreeing);
                chance * others.get(missing).unwrap_or(&0.0)
            })
            .sum();
        1.0 - too_few - enough_but_no_band
    }
}

/// The chances of 0, 1, … `trials` successes. From the likeliest number outwards by the ratio of
/// neighbours, then scaled to a sum of 1: the chance of no success would often be too small for
/// a float to start from.
fn binomial(trials: usize, success: f64) -> Vec<f64> {
    let likeliest = (((trials + 1) as f64 * success) as usize).min(trials);
    let mut chances = vec![0.0; trials + 1];
    chances[likeliest] = 1.0;
    for n in likeliest..trials {
        let ratio = (trials - n) as f64 / (n + 1) as f64 * (success / (1.0 - success));
        chances[n + 1] = chances[n] * ratio;
    }
    for n in (0..likeliest).rev() {
        let ratio = (n + 1) as f64 / (trials - n) as f64 * ((1.0 - success) / success);
        chances[n] = chances[n + 1] * ratio;
    }
    let sum: f64 = chances.iter().sum();
    chances.iter().map(|chance| chance / sum).collect()
}

/// From the chances of each number, those of at least each number.
fn at_least(mut chances: Vec<f64>) -> Vec<f64> {
    let mut sum = 0.0;
    for chance in chances.iter_mut().rev() {
        sum += *chance;
        *chance = sum;
    }
    chances
}
