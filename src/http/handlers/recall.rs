//! Measured recall.

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::engine::Recall;
use crate::http::AppState;
use crate::http::problem::Problem;
use crate::http::problem::of_calls::OfTexts;
use crate::http::request::extract::Ready;
use crate::http::request::parameters::RecallParameters;
use crate::http::request::query::Query;
use crate::http::response::json::Json;
use crate::http::response::timed::{Timed, timed};

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
    /// All documents, with which each sampled one was compared.
    documents: u64,
    /// Pairs of a sampled document and another whose similarity is at least the threshold.
    pairs: u64,
    /// The share of the pairs that was found; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 0.996)]
    recall: Option<f64>,
    /// Pairs of sets that differ.
    pairs_unequal: u64,
    /// The share of those that was found. Equal sets are always found, so they hide what is missed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 0.994)]
    recall_unequal: Option<f64>,
    /// The share of the found pairs whose similarity is at least the threshold; absent if none was
    /// found.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 1.0)]
    precision: Option<f64>,
    /// The chance to find a document whose similarity is exactly the threshold. Those with a higher
    /// similarity are found more surely.
    #[schema(example = 0.991)]
    expected_recall: f64,
}

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
/// Looks documents drawn at random up in mode `verified`, compares them with every stored set of
/// one consistent view, and returns recall and precision. Documents that are written meanwhile do
/// not count. A second measurement of the collection at the same time is refused with 503. It takes
/// as long as reading all sets: for collections that take longer than `server.request_timeout_ms`,
/// let the server measure (`storage.recall_interval_s`).
#[utoipa::path(
    get, path = "/recall", operation_id = "recall", tag = "Operating",
    params(RecallParameters),
    responses((status = 200, description = "The measurement.", body = TimedRecall), OfTexts),
)]
pub async fn recall(
    Query(parameters): Query<RecallParameters>,
    State(state): State<AppState>,
    Ready(engine): Ready,
) -> Result<Json<TimedRecall>, Problem> {
    let sample = parameters.sample(state.settings.recall_sample_max)?;
    let recall = engine.measure_recall(sample, parameters.threshold);
    timed(async { Ok(RecallReply::from(recall.await?)) }).await
}
