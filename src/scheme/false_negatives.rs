//! How a document at a given similarity is missed.

use super::binomial::{at_least, binomial};

/// The misses of a growing number of keys, none at first.
pub(super) trait Misses {
    /// Looks under one more key.
    fn probe_key(&mut self);

    /// The chance that a probed key agrees, and at least `agreeing_min` slots do.
    fn probability_found(&self, agreeing_min: usize) -> f64;
}

/// Misses of bands of consecutive slots, of which no two share one.
///
/// A document is missed when too few slots agree, or when enough do but no probed band agrees
/// whole. The chances of these two are sums of positive terms, so nothing cancels.
pub(super) struct BandMisses {
    rows: usize,
    similarity: f64,
    /// `agreeing[n]`: the chance that n of all slots agree.
    agreeing: Vec<f64>,
    /// Slots in the probed bands.
    probed_slots: usize,
    /// `no_band[n]`: the chance that n slots of the probed bands agree, and no band does whole.
    no_band: Vec<f64>,
}

impl BandMisses {
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

impl Misses for BandMisses {
    /// As polynomials in the number of agreeing slots, `no_band` is multiplied by the binomial of
    /// the band's rows without its last term.
    fn probe_key(&mut self) {
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

/// Misses of keys whose rows are drawn at random, on average over the draws.
///
/// When a of k slots agree, a key of r rows agrees with a chance of C(a, r) / C(k, r), each for
/// itself.
pub(super) struct DrawnMisses {
    /// `agreeing[n]`: the chance that n of all slots agree.
    agreeing: Vec<f64>,
    /// `disagrees[n]`: the chance that a key does not agree when n slots do.
    disagrees: Vec<f64>,
    /// `no_key[n]`: the chance that no probed key agrees when n slots do.
    no_key: Vec<f64>,
}

impl DrawnMisses {
    pub(super) fn new(slots: usize, rows: usize, similarity: f64) -> Self {
        let agrees = |agreeing: usize| -> f64 {
            let drawn = |row: usize| agreeing.saturating_sub(row) as f64 / (slots - row) as f64;
            (0..rows).map(drawn).product()
        };
        Self {
            agreeing: binomial(slots, similarity),
            disagrees: (0..=slots).map(|agreeing| 1.0 - agrees(agreeing)).collect(),
            no_key: vec![1.0; slots + 1],
        }
    }
}

impl Misses for DrawnMisses {
    fn probe_key(&mut self) {
        for (no_key, disagrees) in self.no_key.iter_mut().zip(&self.disagrees) {
            *no_key *= disagrees;
        }
    }

    fn probability_found(&self, agreeing_min: usize) -> f64 {
        let found = self.agreeing.iter().zip(&self.no_key).skip(agreeing_min);
        found.map(|(chance, no_key)| chance * (1.0 - no_key)).sum()
    }
}
