//! Measured recall.

use std::sync::Arc;

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

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

type TimedRecall = Timed<RecallReply>;

/// Recall and precision of lookups, measured on a random sample.
#[derive(Serialize, ToSchema)]
#[schema(as = Recall)]
pub struct RecallReply {
    #[schema(example = 0.8)]
    threshold: f64,
    /// Documents drawn at random and looked up.
    sampled: usize,
    /// Sampled documents that do not count, since they have over a thousand near-duplicates or
    /// their lookup was `truncated`.
    left_out: usize,
    /// All documents, with which each sampled document was compared.
    documents: u64,
    /// Pairs of a sampled document and another document with a similarity of at least the
    /// threshold.
    pairs: u64,
    /// The share of the pairs that was found; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 0.996)]
    recall: Option<f64>,
    /// Pairs of sets that differ.
    pairs_unequal: u64,
    /// The share of these pairs that was found. Equal sets are always found, so `recall` hides
    /// missed pairs where most pairs are equal.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 0.994)]
    recall_unequal: Option<f64>,
    /// The share of the found pairs with a similarity of at least the threshold; absent if none was
    /// found.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 1.0)]
    precision: Option<f64>,
    /// The chance to find a document with a similarity of exactly the threshold. A document with a
    /// higher similarity is found more surely.
    #[schema(example = 0.991)]
    expected_recall: f64,
}

impl Bounded for RecallReply {}

impl From<Recall> for RecallReply {
    fn from(recall: Recall) -> Self {
        Self {
            threshold: recall.threshold.get(),
            sampled: recall.sampled,
            left_out: recall.left_out,
            documents: recall.documents,
            pairs: recall.all.pairs,
            recall: recall.all.recall(),
            pairs_unequal: recall.unequal.pairs,
            recall_unequal: recall.unequal.recall(),
            precision: recall.precision(),
            expected_recall: recall.expected_recall,
        }
    }
}

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
    Box::pin(timed(async { Ok(RecallReply::from(recall.await?)) })).await
}
