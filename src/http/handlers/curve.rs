//! The S-curve of a scheme.

use std::time::{Duration, Instant};

use serde::Serialize;
use utoipa::ToSchema;

use crate::engine::CurveAnswer;
use crate::http::problem::Problem;
use crate::http::problem::of_calls::OfTexts;
use crate::http::request::extract::Ready;
use crate::http::request::parameters::CurveParameters;
use crate::http::request::query::Query;
use crate::http::response::json::Json;
use crate::scheme::{CurvePoint, Kind};

/// What a scheme finds at each resemblance, and what it costs.
#[derive(Serialize, ToSchema)]
#[schema(as = Curve)]
pub struct CurveReply {
    kind: Kind,
    /// Keys of a document.
    #[schema(example = 32)]
    bands: u32,
    /// Slots of a key.
    #[schema(example = 4)]
    rows: u32,
    /// Slots of a sketch.
    #[schema(example = 128)]
    slots: u32,
    #[schema(example = 0.8)]
    threshold: f64,
    /// Keys that a lookup at the threshold looks under.
    #[schema(example = 9)]
    keys_probed: u32,
    /// A candidate with fewer agreeing slots is not checked exactly.
    agreeing_min: u32,
    /// The chance that a document at just the threshold is found.
    #[schema(example = 0.992)]
    expected_recall: f64,
    /// The share missed, on average over the resemblances from the threshold to 1.
    false_negatives: f64,
    /// The share checked in vain, on average over the resemblances from 0 to the threshold.
    false_positives: f64,
    /// Memory of the index for a document, as its layout has it.
    bytes_per_document: f64,
    /// The same as it is in the collection: of its own scheme only, and once there are documents.
    #[serde(skip_serializing_if = "Option::is_none")]
    measured_bytes_per_document: Option<f64>,
    /// At 0, 0.01, …, 1.
    points: Vec<CurvePointReply>,
    took_us: u64,
}

#[derive(Serialize, ToSchema)]
#[schema(as = CurvePoint)]
struct CurvePointReply {
    similarity: f64,
    /// The chance of sharing a key that is looked under.
    candidate: f64,
    /// The chance of being a candidate whose sketch agrees enough to be checked.
    found: f64,
}

impl From<CurvePoint> for CurvePointReply {
    fn from(CurvePoint { similarity, candidate, found }: CurvePoint) -> Self {
        Self { similarity, candidate, found }
    }
}

impl CurveReply {
    fn new(answer: CurveAnswer, took: Duration) -> Self {
        let CurveAnswer { kind, slots, threshold, plan, curve, measured_document_bytes } = answer;
        Self {
            kind,
            bands: curve.bands,
            rows: curve.rows,
            slots,
            threshold: threshold.get(),
            keys_probed: plan.bands,
            agreeing_min: plan.agreeing_min,
            expected_recall: plan.expected_recall,
            false_negatives: curve.false_negatives,
            false_positives: curve.false_positives,
            bytes_per_document: curve.document_bytes,
            measured_bytes_per_document: measured_document_bytes,
            points: curve.points.into_iter().map(CurvePointReply::from).collect(),
            took_us: took.as_micros() as u64,
        }
    }
}

/// Draw the S-curve
///
/// What a scheme over the collection's sketches finds at each resemblance, and what it costs: of
/// the collection's own, of the one that akin would choose for a `threshold` and `recall`, or of
/// `bands` keys of `rows` slots. It is computed; `GET /recall` measures.
#[utoipa::path(
    get, path = "/curve", operation_id = "curve", tag = "Looking up",
    params(CurveParameters),
    responses((status = 200, description = "The curve.", body = CurveReply), OfTexts),
)]
pub async fn curve(
    Query(parameters): Query<CurveParameters>,
    Ready(engine): Ready,
) -> Result<Json<CurveReply>, Problem> {
    let started = Instant::now();
    let answer = engine.curve(parameters.of()?).await?;
    Ok(Json(CurveReply::new(answer, started.elapsed())))
}
