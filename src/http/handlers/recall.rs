//! Measured recall.

use std::time::{Duration, Instant};

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

/// What lookups find of what there is, on a random sample.
#[derive(Serialize, ToSchema)]
#[schema(as = Recall)]
pub struct RecallReply {
    #[schema(example = 0.8)]
    threshold: f64,
    /// Documents drawn at random and looked up.
    sampled: usize,
    /// Those of them that are left out of the figures: they have over a thousand near-duplicates,
    /// or their lookup was `truncated`.
    left_out: usize,
    /// Documents they were compared with: all there are.
    documents: u64,
    /// Pairs of a sampled document and another at or over the threshold.
    pairs: u64,
    /// The share of the pairs that was found; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 0.996)]
    recall: Option<f64>,
    /// Pairs of sets that differ.
    pairs_unequal: u64,
    /// The share of those that was found: equal sets are always found, and hide how others fare.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 0.994)]
    recall_unequal: Option<f64>,
    /// The share of what was found that is at or over the threshold; absent if nothing was.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 1.0)]
    precision: Option<f64>,
    /// The chance that a document at just the threshold is found; others are found more surely.
    #[schema(example = 0.991)]
    expected_recall: f64,
    took_us: u64,
}

impl RecallReply {
    fn new(recall: &Recall, took: Duration) -> Self {
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
            took_us: took.as_micros() as u64,
        }
    }
}

/// Measure recall
///
/// Documents drawn at random are looked up as `GET /similar` does in mode `verified`, and compared
/// with every stored set of one consistent view. What is written meanwhile counts neither for nor
/// against. One measurement of a collection goes on at a time; another is refused with 503. It
/// takes as long as reading all sets does: for collections that take longer than
/// `server.request_timeout_ms`, let the server measure (`storage.recall_interval_s`).
#[utoipa::path(
    get, path = "/recall", operation_id = "recall", tag = "Operating",
    params(RecallParameters),
    responses((status = 200, description = "What was measured.", body = RecallReply), OfTexts),
)]
pub async fn recall(
    Query(parameters): Query<RecallParameters>,
    State(state): State<AppState>,
    Ready(engine): Ready,
) -> Result<Json<RecallReply>, Problem> {
    let started = Instant::now();
    let sample = parameters.sample(state.settings.recall_sample_max)?;
    let recall = engine.measure_recall(sample, parameters.threshold).await?;
    Ok(Json(RecallReply::new(&recall, started.elapsed())))
}
