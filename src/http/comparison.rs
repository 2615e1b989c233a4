//! The wire type of a comparison.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use serde::Serialize;
use utoipa::ToSchema;

use super::fields::ComparedFieldReply;
use crate::engine::{Comparison, Exact, Explanation, Passages, Points};
use crate::sketch::Estimate;

/// Estimated beside exact resemblance.
#[derive(Serialize, ToSchema)]
#[schema(as = Comparison)]
pub struct ComparisonReply {
    estimated: EstimateReply,
    exact: ExactResemblanceReply,
    containment: PairContainmentReply,
    /// The chance that a lookup of one at the collection's threshold finds the other.
    #[schema(example = 0.999)]
    probability_found: f64,
    /// Of records only: those of all fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 296)]
    points: Option<u32>,
    /// Of records only: the points of each field that both have.
    #[serde(skip_serializing_if = "Option::is_none")]
    field_points: Option<BTreeMap<String, u32>>,
    /// With `?explain=true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<ExplanationReply>,
    took_us: u64,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Estimate)]
struct EstimateReply {
    #[schema(example = 0.81)]
    value: f64,
    #[schema(example = 0.035)]
    standard_error: f64,
    /// The 95 % Wilson interval.
    #[schema(example = json!([0.73, 0.87]))]
    interval: [f64; 2],
    /// Slots of the two sketches that agree…
    agreeing: u32,
    /// … out of this many.
    slots: u32,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ExactResemblance)]
struct ExactResemblanceReply {
    #[schema(example = 0.83)]
    value: f64,
    intersection: usize,
    union: usize,
}

#[derive(Serialize, ToSchema)]
#[schema(as = PairContainment)]
struct PairContainmentReply {
    a_in_b: f64,
    b_in_a: f64,
}

/// Where two texts are alike.
#[derive(Serialize, ToSchema)]
#[schema(as = Explanation)]
struct ExplanationReply {
    a: PassagesReply,
    b: PassagesReply,
    /// The bands whose keys both have.
    bands_shared: Vec<u32>,
    /// Of records only, which have no passages: every field that either has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    fields: Vec<ComparedFieldReply>,
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
        Self {
            estimated: comparison.estimated.into(),
            exact: (&comparison.exact).into(),
            containment: PairContainmentReply {
                a_in_b: comparison.exact.containment_of_a,
                b_in_a: comparison.exact.containment_of_b,
            },
            probability_found: comparison.probability_found,
            points: comparison.points.as_ref().map(Points::total),
            field_points: comparison.points.map(|points| points.by_field),
            explanation: comparison.explanation.map(ExplanationReply::from),
            took_us: took.as_micros() as u64,
        }
    }
}

impl From<Estimate> for EstimateReply {
    fn from(estimate: Estimate) -> Self {
        Self {
            value: estimate.value,
            standard_error: estimate.standard_error,
            interval: estimate.interval.into(),
            agreeing: estimate.agreeing,
            slots: estimate.slots,
        }
    }
}

impl From<&Exact> for ExactResemblanceReply {
    fn from(exact: &Exact) -> Self {
        Self { value: exact.value, intersection: exact.shared, union: exact.union }
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
