//! Measured recall.

use std::sync::Arc;

use axum::extract::State;

use crate::background::request;
use crate::engine::Recall;
use crate::http::AppState;
use crate::http::access::quotas::RequestClient;
use crate::http::problem::Problem;
use crate::http::request::extract::{AnswerMemory, Ready};
use crate::http::request::parameters::RecallParameters;
use crate::http::request::query::Query;
use crate::http::response::reply::{Bounded, Json};
use crate::http::response::timed::timed;
use akin_model::timed::Timed;

type TimedRecall = Timed<Recall>;

impl Bounded for Recall {}

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
) -> Result<Json<TimedRecall>, Problem> {
    let sample = parameters.sample()?;
    let _permit = state.discovery_permit(&client)?;
    let recall = engine.measure_recall(sample, parameters.threshold);
    let recall = request::within(Some(Arc::new(memory)), recall);
    Box::pin(timed(recall)).await
}
