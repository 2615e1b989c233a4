//! The options of a comparison, and its result.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

use crate::engine::{MeasureSelection, MeasureValues, PairContainment};
use akin_core::measure::Overlap;
use akin_core::sketch::Estimate;

/// The parts of a comparison that are made on request.
#[derive(Clone, Copy, Debug, Default)]
pub struct CompareOptions {
    /// Add the shared and differing passages, and the bands whose keys both have.
    pub explain: bool,
    /// Add further measures.
    pub measures: MeasureSelection,
}

/// The estimated and the exact Jaccard similarity (resemblance) of two documents.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Comparison {
    #[serde(flatten)]
    #[schema(inline)]
    pub scores: Scores,
    /// The probability that two documents of this resemblance share a key that a lookup at
    /// the collection's threshold probes; of records 1 if they share a key, else 0. Absent where
    /// candidates are found otherwise (`kind = "prefix"`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 0.9999)]
    pub probability_candidate: Option<f64>,
    /// The probability that a lookup of one at the collection's threshold reports the other: 0
    /// below the threshold.
    #[schema(example = 0.9998)]
    pub probability_reported: f64,
    /// On request, by `measures`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measures: Option<MeasureValues>,
    /// On request, by `explain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
}

/// How similar two documents are, by their kind.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Scores {
    #[schema(title = "OfSets")]
    Sets {
        /// By the sketches.
        estimated: Estimate,
        exact: ExactResemblance,
        containment: PairContainment,
    },
    /// Signatures have no sets.
    #[schema(title = "OfSignatures")]
    Signatures { estimated: Estimate },
    /// Records are not estimated.
    #[schema(title = "OfRecords")]
    Records {
        exact: ExactResemblance,
        containment: PairContainment,
        /// The points of all fields.
        #[schema(example = 296)]
        points: u32,
        /// The points of each field that both have.
        field_points: BTreeMap<String, u32>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
pub struct ExactResemblance {
    #[schema(example = 0.83)]
    pub value: f64,
    pub intersection: usize,
    pub union: usize,
    /// The similarity of the bags of shingles, with repetitions: Σmin of the counts / (Σa + Σb), at
    /// most ½. Absent where counts are not known: of documents stored without their texts, unless
    /// the collection's sets are multisets.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 0.44)]
    pub bag: Option<f64>,
    /// The Jaccard similarity of the bags: Σmin / Σmax of the counts, at most 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 0.79)]
    pub bag_max_union: Option<f64>,
}

impl From<Overlap> for ExactResemblance {
    fn from(overlap: Overlap) -> Self {
        let (value, union) = (overlap.resemblance(), overlap.union());
        Self { value, intersection: overlap.shared, union, bag: None, bag_max_union: None }
    }
}

/// Where two texts are alike.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
pub struct Explanation {
    pub a: Passages,
    pub b: Passages,
    /// The bands with equal keys.
    pub bands_shared: Vec<u32>,
    /// Of records only, which have no passages: every field of either record.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub fields: Vec<ComparedField>,
}

/// A field of two records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ComparedField {
    #[serde(rename = "field")]
    #[schema(example = "name")]
    pub name: String,
    /// Its normalised value in the first record; absent if that lacks the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "william smith")]
    pub a: Option<String>,
    /// Its normalised value in the second record; absent if that lacks the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "william smyth")]
    pub b: Option<String>,
    /// Absent if one of the records lacks the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 96)]
    pub points: Option<u32>,
}

/// Parts of a text in Unicode code points, each `[from, to)`: the slice `text[from:to]` of Python.
/// Differing parts overlap no other part.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
pub struct Passages {
    pub shared: Vec<[usize; 2]>,
    pub differing: Vec<[usize; 2]>,
    /// Ranges of shingles that `shingles.ignore` leaves out of the set. Shingles of words on both
    /// sides of an end of such a range count, so up to a shingle less a word may be shared, too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub ignored: Vec<[usize; 2]>,
}
