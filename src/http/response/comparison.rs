//! Comparisons of two documents.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use serde::Serialize;
use utoipa::ToSchema;

use crate::engine::{
    ComparedField, Comparison, Exact, Explanation, MeasureValues, Passages, Points,
};
use crate::http::response::found::PairContainmentReply;
use crate::measure::{BagOverlap, CommonSubsequence};
use crate::sketch::Estimate;

/// The estimated and the exact Jaccard similarity (resemblance) of two documents.
#[derive(Serialize, ToSchema)]
#[schema(as = Comparison)]
pub struct ComparisonReply {
    /// By the sketches; where sets are samples and a text is not kept, by the samples. Absent of
    /// records, which are not estimated.
    #[serde(skip_serializing_if = "Option::is_none")]
    estimated: Option<Estimate>,
    /// Absent where sets are samples and a text is not kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    exact: Option<ExactResemblanceReply>,
    /// Absent where `exact` is.
    #[serde(skip_serializing_if = "Option::is_none")]
    containment: Option<PairContainmentReply>,
    /// The probability that two documents of this resemblance share a key that a lookup at
    /// the collection's threshold probes; of records 1 if they share one, else 0. Absent where
    /// candidates are found otherwise (`kind = "prefix"`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 0.9999)]
    probability_candidate: Option<f64>,
    /// The probability that a lookup of one at the collection's threshold reports the other: 0
    /// below the threshold.
    #[schema(example = 0.9998)]
    probability_reported: f64,
    /// Of records only: the points of all fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 296)]
    points: Option<u32>,
    /// Of records only: the points of each field that both have.
    #[serde(skip_serializing_if = "Option::is_none")]
    field_points: Option<BTreeMap<String, u32>>,
    /// On request, by `measures`.
    #[serde(skip_serializing_if = "Option::is_none")]
    measures: Option<MeasuresReply>,
    /// On request, by `explain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<ExplanationReply>,
    took_us: u64,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ExactResemblance)]
struct ExactResemblanceReply {
    #[schema(example = 0.83)]
    value: f64,
    intersection: usize,
    union: usize,
    /// The similarity of the bags of shingles, with repetitions: Σmin of the counts / (Σa + Σb), at
    /// most ½. Absent where counts are not known: of documents stored without their texts, unless
    /// the collection's sets are multisets.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 0.44)]
    bag: Option<f64>,
    /// The Jaccard similarity of the bags: Σmin / Σmax of the counts, at most 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 0.79)]
    bag_max_union: Option<f64>,
}

/// The requested measures.
#[derive(Serialize, ToSchema)]
#[schema(as = Measures)]
struct MeasuresReply {
    /// Of the texts: the fewest characters to insert, delete or exchange to make one of the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    edit: Option<DistanceReply>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lcs: Option<CommonSubsequence>,
    /// Of the sets: shingles that only one of them has.
    #[serde(skip_serializing_if = "Option::is_none")]
    hamming: Option<DistanceReply>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cosine: Option<CosineReply>,
    #[serde(skip_serializing_if = "Option::is_none")]
    euclidean: Option<EuclideanReply>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Distance)]
struct DistanceReply {
    distance: usize,
}

/// The cosine similarity of the counts of shingles as vectors.
#[derive(Serialize, ToSchema)]
#[schema(as = CosineMeasure)]
struct CosineReply {
    /// The cosine of the angle between them.
    similarity: f64,
    /// The angle, 0..=90.
    angle_degrees: f64,
}

/// The Euclidean distance of the counts of shingles as vectors.
#[derive(Serialize, ToSchema)]
#[schema(as = EuclideanMeasure)]
struct EuclideanReply {
    /// The length of their difference.
    distance: f64,
}

/// Where two texts are alike.
#[derive(Serialize, ToSchema)]
#[schema(as = Explanation)]
struct ExplanationReply {
    a: PassagesReply,
    b: PassagesReply,
    /// The bands whose keys both have.
    bands_shared: Vec<u32>,
    /// Of records only, which have no passages: every field of either record.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    fields: Vec<ComparedFieldReply>,
}

/// A field of two records.
#[derive(Serialize, ToSchema)]
#[schema(as = ComparedField)]
struct ComparedFieldReply {
    #[schema(example = "name")]
    field: String,
    /// Its normalised value in the first record; absent if that lacks the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "william smith")]
    a: Option<String>,
    /// Its normalised value in the second record; absent if that lacks the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "william smyth")]
    b: Option<String>,
    /// Absent if one of the records lacks the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 96)]
    points: Option<u32>,
}

impl From<ComparedField> for ComparedFieldReply {
    fn from(field: ComparedField) -> Self {
        let ComparedField { name, a, b, points } = field;
        Self { field: name, a, b, points }
    }
}

/// Byte ranges of a text, each `[from, to)`; shared and differing ones do not overlap.
#[derive(Serialize, ToSchema)]
#[schema(as = Passages)]
struct PassagesReply {
    shared: Vec<[usize; 2]>,
    differing: Vec<[usize; 2]>,
}

impl ComparisonReply {
    pub fn new(comparison: Comparison, took: Duration) -> Self {
        let exact = comparison.exact;
        Self {
            estimated: comparison.estimated,
            exact: exact.map(|exact| ExactResemblanceReply::new(exact, comparison.bag)),
            containment: exact.map(PairContainmentReply::from),
            probability_candidate: comparison.probability_candidate,
            probability_reported: comparison.probability_reported,
            points: comparison.points.as_ref().map(Points::total),
            field_points: comparison.points.map(|points| points.by_field),
            measures: (comparison.measured != MeasureValues::default())
                .then(|| comparison.measured.into()),
            explanation: comparison.explanation.map(ExplanationReply::from),
            took_us: took.as_micros() as u64,
        }
    }
}

impl ExactResemblanceReply {
    fn new(exact: Exact, bag: Option<BagOverlap>) -> Self {
        Self {
            value: exact.value,
            intersection: exact.shared,
            union: exact.union,
            bag: bag.map(|bag| bag.by_sum_union()),
            bag_max_union: bag.map(|bag| bag.by_max_union()),
        }
    }
}

impl From<MeasureValues> for MeasuresReply {
    fn from(measured: MeasureValues) -> Self {
        let cosine = |(similarity, angle_degrees)| CosineReply { similarity, angle_degrees };
        Self {
            edit: measured.edit.map(|distance| DistanceReply { distance }),
            lcs: measured.lcs,
            hamming: measured.hamming.map(|distance| DistanceReply { distance }),
            cosine: measured.cosine.map(cosine),
            euclidean: measured.euclidean.map(|distance| EuclideanReply { distance }),
        }
    }
}

impl From<Explanation> for ExplanationReply {
    fn from(explanation: Explanation) -> Self {
        Self {
            a: (&explanation.a).into(),
            b: (&explanation.b).into(),
            bands_shared: explanation.bands_shared,
            fields: explanation.fields.into_iter().map(ComparedFieldReply::from).collect(),
        }
    }
}

impl From<&Passages> for PassagesReply {
    fn from(passages: &Passages) -> Self {
        Self { shared: pairs(&passages.shared), differing: pairs(&passages.differing) }
    }
}

fn pairs(ranges: &[Range<usize>]) -> Vec<[usize; 2]> {
    ranges.iter().map(|range| [range.start, range.end]).collect()
}
