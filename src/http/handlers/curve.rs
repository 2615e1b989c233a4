//! The S-curve of a scheme.

use std::time::{Duration, Instant};

use serde::Serialize;
use utoipa::{IntoParams, ToSchema};

use crate::engine::{CurveAnswer, CurveOf};
use crate::http::problem::Problem;
use crate::http::problem::code::Code;
use crate::http::problem::of_calls::OfTexts;
use crate::http::request::extract::Ready;
use crate::http::request::query::{Parameters, Query, ReadParameters};
use crate::http::response::json::Json;
use crate::scheme::{CurvePoint, Kind, Threshold};

/// Of which scheme: without any, the collection's own.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub struct CurveParameters {
    /// The resemblance from which documents count as near-duplicates; the collection's own by
    /// default.
    #[param(value_type = Option<f64>, exclusive_minimum = 0.0, maximum = 1.0, example = 0.8)]
    threshold: Option<Threshold>,
    /// The wanted chance to find a document at just the threshold: the curve is that of the scheme
    /// that akin would choose for it.
    #[param(exclusive_minimum = 0.0, exclusive_maximum = 1.0, example = 0.99)]
    recall: Option<f64>,
    /// So many keys, all of them looked under; with `rows`.
    #[param(minimum = 1, maximum = 1024)]
    bands: Option<u32>,
    /// Slots of a key; with `bands`.
    #[param(minimum = 1, maximum = 32)]
    rows: Option<u32>,
}

impl ReadParameters for CurveParameters {
    fn read(parameters: &mut Parameters) -> Result<Self, Problem> {
        Ok(Self {
            threshold: parameters.optional("threshold")?,
            recall: parameters.optional("recall")?,
            bands: parameters.optional("bands")?,
            rows: parameters.optional("rows")?,
        })
    }
}

impl CurveParameters {
    fn of(&self) -> Result<CurveOf, Problem> {
        let threshold = self.threshold;
        let wrong = |detail| Err(Problem::new(Code::InvalidParameter, detail));
        match (self.recall, self.bands, self.rows) {
            (None, None, None) => Ok(CurveOf::Collection { threshold }),
            (Some(recall), None, None) => Ok(CurveOf::Wanted { threshold, recall }),
            (None, Some(bands), Some(rows)) => Ok(CurveOf::Keys { bands, rows, threshold }),
            (Some(_), ..) => wrong("the parameter 'recall' must stand without 'bands' and 'rows'"),
            (None, Some(_), None) => wrong("the parameter 'rows' is missing beside 'bands'"),
            (None, None, Some(_)) => wrong("the parameter 'bands' is missing beside 'rows'"),
        }
    }
}

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
