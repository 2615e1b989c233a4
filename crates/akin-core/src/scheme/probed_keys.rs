//! The probability that a document of a given similarity is found with a growing number of keys.

use std::sync::Arc;

use super::binomial::{at_least, binomial};
use super::completion::Completion;

/// The keys that a lookup probes; initially none.
pub(super) trait ProbedKeys {
    fn probe_next(&mut self);

    /// The probability that a probed key agrees and that at least `agreeing_min` slots do.
    fn probability_found(&self, agreeing_min: usize) -> f64;
}

/// Bands of consecutive slots, which are disjoint.
///
/// A document is missed when too few slots agree, or when enough do but no probed band agrees
/// entirely. Both probabilities are sums of positive terms, so there is no cancellation.
pub(super) struct ProbedBands {
    rows: usize,
    similarity: f64,
    /// `agreeing[n]`: the probability that n of all slots agree.
    agreeing: Vec<f64>,
    /// Slots in the probed bands.
    probed_slots: usize,
    /// `no_band[n]`: the probability that n slots of the probed bands agree, but no entire band.
    no_band: Vec<f64>,
}

impl ProbedBands {
    pub(super) fn new(slots: usize, rows: usize, similarity: f64) -> Self {
        Self {
            rows,
            similarity,
            agreeing: binomial(slots, similarity),
            probed_slots: 0,
            no_band: vec![1.0],
        }
    }
}

impl ProbedKeys for ProbedBands {
    /// Convolves `no_band` with the binomial of the band's rows without its last term, in which the
    /// entire band agrees.
    fn probe_next(&mut self) {
        let rows = self.rows;
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

/// Keys of random rows.
pub(super) struct ProbedDraws {
    completion: Arc<Completion>,
    /// `at_least[n]`: the probability that n or more slots agree.
    at_least: Vec<f64>,
    probed: usize,
}

impl ProbedDraws {
    pub(super) fn new(completion: Arc<Completion>, slots: usize, similarity: f64) -> Self {
        Self { completion, at_least: at_least(binomial(slots, similarity)), probed: 0 }
    }
}

impl ProbedKeys for ProbedDraws {
    fn probe_next(&mut self) {
        self.probed += 1;
    }

    fn probability_found(&self, agreeing_min: usize) -> f64 {
        let Some(last) = self.probed.checked_sub(1) else { return 0.0 };
        let shares = self.completion.shares(last).enumerate();
        shares.map(|(agreeing, share)| share * self.at_least[agreeing.max(agreeing_min)]).sum()
    }
}
