//! Sketches → keys, and how many keys a wanted recall takes.

mod bands;
mod tuner;

pub use bands::{Bands, Key};
pub use tuner::ProbePlan;

use serde::{Deserialize, Serialize};

use crate::sketch::SketchSettings;

const ROWS_MAX: u32 = 32;

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

impl SchemeSettings {
    /// What is wrong with the settings, a sentence a fault that starts with the key's name.
    #[must_use]
    pub fn faults(&self, sketch: &SketchSettings) -> Vec<String> {
        let mut faults = Vec::new();
        if !(self.recall > 0.0 && self.recall < 1.0) {
            faults.push(format!("recall must be above 0 and below 1, not {}", self.recall));
        }
        if self.bands == Some(0) {
            faults.push("bands must be at least 1, not 0".to_owned());
        }
        if let Some(rows) = self.rows.filter(|rows| !(1..=ROWS_MAX).contains(rows)) {
            faults.push(format!("rows must be from 1 to {ROWS_MAX}, not {rows}"));
        }
        let (bands, rows) = (self.bands.unwrap_or(1), self.rows.unwrap_or(1));
        if u64::from(bands) * u64::from(rows) > u64::from(sketch.slots) {
            let slots = sketch.slots;
            faults.push(format!(
                "bands of rows must fit the sketch: {bands} × {rows} is more than {slots} slots"
            ));
        }
        faults
    }
}

impl Default for SchemeSettings {
    fn default() -> Self {
        Self { threshold: Threshold(0.8), recall: 0.99, bands: None, rows: None }
    }
}

#[cfg(test)]
mod tests;
