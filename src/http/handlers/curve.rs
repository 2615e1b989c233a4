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

/// The chance to find a document by its Jaccard similarity, and what the scheme costs.
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
    /// Keys that a lookup at the threshold probes.
    #[schema(example = 9)]
    keys_probed: u32,
    /// A candidate with fewer agreeing slots is not checked exactly.
    agreeing_min: u32,
    /// The chance to find a document whose similarity is exactly the threshold.
    #[schema(example = 0.992)]
    expected_recall: f64,
    /// The share that is missed, on average over similarities from the threshold to 1.
    false_negatives: f64,
    /// The share that is checked in vain, on average over similarities from 0 to the threshold.
    false_positives: f64,
    /// Memory of the index for a document, computed from its layout.
    bytes_per_document: f64,
    /// Memory of the collection's index for a document. Only for the collection's own scheme, and
    /// only if there are documents.
    #[serde(skip_serializing_if = "Option::is_none")]
    measured_bytes_per_document: Option<f64>,
    /// At 0, 0.01, …, 1.
    points: Vec<CurvePoint>,
    took_us: u64,
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
            points: curve.points,
            took_us: took.as_micros() as u64,
        }
    }
}

/// Draw the S-curve
///
/// Returns the S-curve of MinHash LSH over the collection's sketches, the chance to find a document
/// by its Jaccard similarity: for the collection's own scheme, for the one that akin would choose
/// for a `threshold` and `recall`, or for `bands` keys of `rows` slots. It is computed; `GET
/// /recall` measures.
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
