//! Sketches → keys, and how many keys a wanted recall takes.

use serde::{Deserialize, Serialize};

use crate::sketch::SketchSettings;

/// A resemblance from which documents count as near-duplicates: above 0, at most 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Threshold(f64);

impl Threshold {
    /// # Errors
    /// [`ThresholdError`] for what is not above 0 and at most 1.
    pub fn new(value: f64) -> Result<Self, ThresholdError> {
        if value > 0.0 && value <= 1.0 { Ok(Self(value)) } else { Err(ThresholdError(value)) }
    }

    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Threshold {
    type Error = ThresholdError;
    fn try_from(value: f64) -> Result<Self, ThresholdError> {
        Self::new(value)
    }
}

impl From<Threshold> for f64 {
    fn from(threshold: Threshold) -> f64 {
        threshold.0
    }
}

#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("a threshold must be above 0 and at most 1, not {0}")]
pub struct ThresholdError(f64);

/// How keys are made. `bands` and `rows` decide what is stored: fixed for a collection's life.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SchemeSettings {
    /// The threshold of calls that name none.
    pub threshold: Threshold,
    /// The wanted chance to find a document at just the threshold: above 0, below 1.
    pub recall: f64,
    /// Bands filed under; without it, as many as the sketch has slots for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bands: Option<u32>,
    /// Rows of a band; without it, the most (up to 4) that reach the recall at the threshold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u32>,
}

impl Default for SchemeSettings {
    fn default() -> Self {
        Self { threshold: Threshold(0.8), recall: 0.99, bands: None, rows: None }
    }
}

/// What a sketch is filed under: a value in one of the scheme's tables (a band is a table).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    pub table: u32,
    pub value: u32,
}

/// Banded minhash LSH: `bands` keys of `rows` consecutive slots.
#[derive(Clone, Debug)]
pub struct Bands {
    pub bands: u32,
    pub rows: u32,
}

/// How a lookup at one threshold goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProbePlan {
    /// Looks under the first this many bands.
    pub bands: u32,
    /// A candidate whose sketch agrees in fewer slots is not worth an exact check.
    pub agreeing_min: u32,
    /// The chance that a document at just the threshold is found (verified mode: candidate, and not pruned).
    pub expected_recall: f64,
    /// The same when the sketch alone decides: candidate, and estimate at or over the threshold.
    pub expected_recall_estimated: f64,
}

impl Bands {
    #[must_use]
    pub fn new(_scheme: &SchemeSettings, _sketch: &SketchSettings) -> Self {
        todo!()
    }

    /// The first `bands` keys of a sketch, in band order.
    pub fn keys<'a>(&'a self, _sketch: &'a [u8], _bands: u32) -> impl Iterator<Item = Key> + 'a {
        std::iter::empty()
    }

    /// The fewest bands that reach the wanted recall at this threshold, or all there are.
    #[must_use]
    pub fn plan(&self, _threshold: Threshold) -> ProbePlan {
        todo!()
    }
}
