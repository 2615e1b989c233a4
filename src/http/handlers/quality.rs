//! The S-curve of a scheme, and measured recall.

use axum::extract::State;
use axum::response::Response;

use crate::engine::{CurveAnswer, Recall};
use crate::http::AppState;
use crate::http::access::RequestClient;
use crate::http::problem::Problem;
use crate::http::request::{AnswerMemory, CurveParameters, Query, Ready, RecallParameters, SMALL};
use crate::http::response::timed_within;
use akin_model::timed::Timed;

type CurveReply = Timed<CurveAnswer>;

/// Draw the S-curve
///
/// Returns the S-curve of MinHash LSH over the collection's sketches, the chance to find a document
/// by its Jaccard similarity: for the collection's own scheme, for the scheme that akin would
/// choose for a `threshold` and `recall`, or for `bands` keys of `rows` slots. It is computed; `GET
/// /recall` measures.
#[utoipa::path(
    get, path = "/curve", operation_id = "curve", tag = "Looking up",
    params(CurveParameters),
    responses((status = 200, description = "The curve.", body = CurveReply)),
)]
pub async fn curve(
    Query(parameters): Query<CurveParameters>,
    Ready(engine): Ready,
    AnswerMemory(memory): AnswerMemory<SMALL>,
) -> Result<Response, Problem> {
    timed_within(memory, engine.curve(parameters.of()?)).await
}

type TimedRecall = Timed<Recall>;

/// Measure recall
///
/// Looks up documents drawn at random, in mode `verified`, compares them with every stored set of
/// one consistent view, and returns recall and precision. Documents that are written during the
/// measurement do not count. Without `sample`, 200 documents are drawn, or as many as
/// `server.request_cost_max` allows; a larger sample is refused with 422 `request_too_costly`,
/// which names the largest sample. For larger collections let the server measure
/// (`storage.recall_interval_s`). A measurement counts as a discovery (`server.discoveries_max`),
/// and a second measurement of the same collection at the same time is refused with 503.
#[utoipa::path(
    get, path = "/recall", operation_id = "recall", tag = "Operating",
    params(RecallParameters),
    responses((status = 200, description = "The measurement.", body = TimedRecall)),
)]
pub async fn recall(
    Query(parameters): Query<RecallParameters>,
    State(state): State<AppState>,
    Ready(engine): Ready,
    AnswerMemory(memory): AnswerMemory,
    client: RequestClient,
) -> Result<Response, Problem> {
    let _permit = state.discoveries.take(&client)?;
    let recall = engine.measure_recall(parameters.sample(), parameters.threshold);
    Box::pin(timed_within(memory, recall)).await
}
