//! Comparing two documents.

use axum::response::Response;

use crate::budget::Reservation;
use crate::engine::{CompareOptions, Comparison, Engine, Probe};
use crate::http::problem::Problem;
use crate::http::request::{
    AnswerMemory, CompareParameters, JsonCall, PairBody, PairMembers, Query, Ready, SMALL,
    StoredPair,
};
use crate::http::response::timed_within;
use akin_model::timed::Timed;

type ComparisonReply = Timed<Comparison>;

/// Compare two stored documents
///
/// Returns the estimated and the exact Jaccard similarity (resemblance) of two stored documents,
/// and further measures on request.
#[utoipa::path(
    get, path = "/resemblance", operation_id = "compare_stored", tag = "Looking up",
    params(StoredPair, CompareParameters),
    responses(
        (status = 200, description = "The comparison.", body = ComparisonReply),
    ),
)]
pub async fn stored(
    Query((pair, options)): Query<(StoredPair, CompareParameters)>,
    Ready(engine): Ready,
    AnswerMemory(memory): AnswerMemory<SMALL>,
) -> Result<Response, Problem> {
    compare(&engine, Probe::Stored(pair.a), Probe::Stored(pair.b), options.options(), memory).await
}

/// Compare posted documents
///
/// Returns the estimated and the exact Jaccard similarity (resemblance) of two probes, and further
/// measures on request; nothing is stored. Options may stand in the query or in the body.
#[utoipa::path(
    post, path = "/resemblance", operation_id = "compare_posted", tag = "Looking up",
    params(CompareParameters),
    request_body(
        content = PairBody,
        example = json!({"a": {"id": "https://example.org/a"}, "b": {"text": "the fox"}}),
    ),
    responses((status = 200, description = "The comparison.", body = ComparisonReply)),
)]
pub async fn posted(
    Ready(engine): Ready,
    AnswerMemory(memory): AnswerMemory,
    JsonCall((a, b), options): JsonCall<PairMembers>,
) -> Result<Response, Problem> {
    compare(&engine, a, b, options.options(), memory).await
}

async fn compare(
    engine: &Engine,
    a: Probe,
    b: Probe,
    options: CompareOptions,
    memory: Reservation,
) -> Result<Response, Problem> {
    let compared = timed_within(memory, engine.compare(a, b, options)).await;
    // The error may be of either probe, so it points at none.
    compared.map_err(|problem| Problem { errors: Vec::new(), ..problem })
}
