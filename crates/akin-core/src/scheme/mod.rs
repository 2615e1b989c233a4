//! LSH schemes: make keys of sketches and sets, and choose how many keys to probe for a recall.

mod bands;
mod binomial;
mod completion;
mod curve;
mod dispatch;
mod field_recall;
mod fields;
mod in_flight;
mod nearest;
mod order;
mod prefix;
mod probed_keys;
mod random_rows;
mod record_settings;
mod tuner;

pub use bands::{Bands, Key};
pub use binomial::binomial_at_least;
pub use curve::{Curve, CurvePoint, IndexBytes};
pub use dispatch::Scheme;
pub use fields::FieldKeys;
pub use nearest::NearestPlan;
pub use order::{ElementOrder, FrequencySample};
pub use prefix::{Prefix, SizeReach, prefix_len};
pub use tuner::ProbePlan;

use serde::{Deserialize, Serialize};

use crate::sketch::SketchSettings;

const ROWS_MAX: u32 = 32;

/// Each key has a table of its own in the index.
const BANDS_MAX: u32 = 1024;

/// A Jaccard similarity (resemblance) from which documents count as near-duplicates: above 0, at
/// most 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(try_from = "f64", into = "f64")]
#[cfg_attr(feature = "schema", schema(exclusive_minimum = 0.0, maximum = 1.0, example = 0.8))]
pub struct Threshold(f64);

impl Threshold {
    /// The lowest threshold: sets that share an element reach it.
    pub const LEAST: Self = Self(f64::MIN_POSITIVE);

    /// # Errors
    /// [`ThresholdError`] for a number that is not above 0 and at most 1.
    pub fn new(value: f64) -> Result<Self, ThresholdError> {
        if value > 0.0 && value <= 1.0 { Ok(Self(value)) } else { Err(ThresholdError(value)) }
    }

    /// The similarity as a number.
    #[inline]
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

/// A number that is no threshold.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("a threshold must be above 0 and at most 1, not {0}")]
pub struct ThresholdError(f64);

/// The source of keys. `bands`: consecutive slots of the sketch (MinHash LSH). `random_rows`: slots
/// drawn at random. `prefix`: the first elements of the set itself, so that lookups miss nothing.
/// `fields`: the fields of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", schema(as = SchemeKind))]
pub enum Kind {
    /// Consecutive slots of a sketch, a band: no slot is in two keys.
    #[default]
    Bands,
    /// Distinct slots, drawn at random for each key.
    RandomRows,
    /// The first elements of the set itself, rare elements first: no near-duplicate is missed.
    Prefix,
    /// No keys of sketches: records are indexed under each of their fields.
    Fields,
}

/// How keys are made. `kind`, `threshold_min`, `bands`, `rows`, `fields` and `field_sketches`
/// determine the stored data: fixed for a collection's life.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct SchemeSettings {
    pub kind: Kind,
    /// The threshold of calls that give none.
    pub threshold: Threshold,
    /// The wanted probability to find a document with a similarity of exactly the threshold.
    #[cfg_attr(feature = "schema", schema(exclusive_minimum = 0.0, exclusive_maximum = 1.0))]
    pub recall: f64,
    /// The lowest threshold of lookups by keys: documents are indexed under the fewest keys that
    /// reach `recall` there, or all there are, and lookups below it are refused. By default
    /// documents are indexed under all keys, and lookups at any threshold say which recall to
    /// expect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold_min: Option<Threshold>,
    /// Keys that a document is indexed under. By default the keys of `threshold_min`; without it as
    /// many bands as the sketch has slots for, or 125 keys of random rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bands: Option<u32>,
    /// Slots of a key. By default the most, up to 4, with which the bands reach `recall` at
    /// `threshold_min`, without it at `threshold`, or 3 random rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u32>,
    /// The lowest threshold for which lookups in mode `exact` have an index; below it they scan
    /// every set. By default there is no index for exact lookups; with the kind `prefix` it serves
    /// thresholds from `threshold` up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exact_from: Option<Threshold>,
    /// For the kind `fields`: the names of the fields that records may have.
    #[cfg_attr(
        feature = "schema",
        schema(max_items = 32, example = json!(["name", "address", "phone"]))
    )]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<String>,
    /// For the kind `fields`: find records by fields that are nearly equal, too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub field_sketches: bool,
    /// For the kind `fields`: the points from which records count as near-duplicates, for calls
    /// that give none; at most 100 for each field, by default 80.
    #[cfg_attr(feature = "schema", schema(minimum = 1, maximum = 3_200, example = 250))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub points: Option<u32>,
    /// For the kind `fields`: the points that an edit costs; d edits cost d² times as much. By
    /// default 4.
    #[cfg_attr(feature = "schema", schema(minimum = 1, maximum = 100))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub penalty: Option<u32>,
}

impl SchemeSettings {
    /// The lowest threshold that exact lookups are indexed for, if they are at all.
    pub fn exact_from(&self) -> Option<Threshold> {
        self.exact_from.or((self.kind == Kind::Prefix).then_some(self.threshold))
    }

    /// The faults of the settings: a sentence for each, starting with the key's name.
    pub fn faults(&self, sketch: &SketchSettings) -> Vec<String> {
        let mut faults = Vec::new();
        if !(self.recall > 0.0 && self.recall < 1.0) {
            faults.push(format!("recall must be above 0 and below 1, not {}", self.recall));
        }
        if let Some(bands) = self.bands.filter(|bands| !(1..=BANDS_MAX).contains(bands)) {
            faults.push(format!("bands must be from 1 to {BANDS_MAX}, not {bands}"));
        }
        if let Some(rows) = self.rows.filter(|rows| !(1..=ROWS_MAX).contains(rows)) {
            faults.push(format!("rows must be from 1 to {ROWS_MAX}, not {rows}"));
        }
        faults.extend(self.misfit(sketch.slots));
        faults.extend(self.misfit_of_threshold_min());
        faults.extend(self.record_faults());
        faults
    }

    fn misfit_of_threshold_min(&self) -> Option<String> {
        let least = self.threshold_min?;
        if !matches!(self.kind, Kind::Bands | Kind::RandomRows) {
            return Some("threshold_min is for the kinds bands and random_rows only".to_owned());
        }
        if self.bands.is_some() {
            return Some(
                "threshold_min decides the number of bands: give only one of them".to_owned(),
            );
        }
        let (least, usual) = (least.get(), self.threshold.get());
        (least > usual)
            .then(|| format!("threshold_min must be at most the threshold {usual}, not {least}"))
    }

    /// Takes a threshold for work without an index, which no index limits.
    pub fn take_threshold(&mut self, threshold: Threshold) {
        self.threshold = threshold;
        self.threshold_min = self.threshold_min.filter(|least| *least <= threshold);
    }

    /// The threshold that decides the slots of a key: the lowest with a wanted recall.
    fn served_from(&self) -> Threshold {
        self.threshold_min.unwrap_or(self.threshold)
    }

    fn misfit(&self, slots: u32) -> Option<String> {
        let (bands, rows) = (self.bands.unwrap_or(1), self.rows.unwrap_or(1));
        match self.kind {
            Kind::Bands if u64::from(bands) * u64::from(rows) > u64::from(slots) => Some(format!(
                "bands of rows must fit the sketch: {bands} × {rows} is more than {slots} slots"
            )),
            Kind::RandomRows if rows > slots => {
                Some(format!("rows must be distinct slots: {rows} is more than {slots} slots"))
            }
            Kind::Prefix if self.bands.is_some() || self.rows.is_some() => {
                Some("kind prefix makes its keys of elements: it has no bands or rows".to_owned())
            }
            Kind::Prefix if self.exact_from.is_some_and(|from| from > self.threshold) => {
                Some("exact_from must be at most the threshold where kind is prefix".to_owned())
            }
            _ => None,
        }
    }
}

impl Default for SchemeSettings {
    fn default() -> Self {
        Self {
            kind: Kind::Bands,
            threshold: Threshold(0.8),
            recall: 0.99,
            threshold_min: None,
            bands: None,
            rows: None,
            exact_from: None,
            fields: Vec::new(),
            field_sketches: false,
            points: None,
            penalty: None,
        }
    }
}

#[cfg(test)]
mod tests;
