//! Comparing two contents.

use std::time::Instant;

use axum::extract::{FromRequest, Request};

use crate::document::DocumentId;
use crate::engine::{CompareOptions, Engine, EngineError, Probe};
use crate::http::AppState;
use crate::http::openapi::schemas::PairSchema;
use crate::http::problem::Problem;
use crate::http::problem::of_calls::{Comparing, ComparingStored};
use crate::http::request::bodies;
use crate::http::request::extract::Ready;
use crate::http::request::json;
use crate::http::request::parameters::{CompareParameters, StoredPairParameters};
use crate::http::request::query::Query;
use crate::http::request::reading;
use crate::http::response::comparison::ComparisonReply;
use crate::http::response::json::Json;

/// The two probes of a `POST /resemblance`.
pub struct Pair(Probe, Probe);

impl FromRequest<AppState> for Pair {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, Problem> {
        let body = reading::whole_json(request, state).await?;
        let (a, b) = json::off_runtime_if_large(body, |body| bodies::pair(&body)).await?;
        Ok(Self(a, b))
    }
}

/// Compare two stored documents
///
/// Their estimated resemblance beside the exact one, and the measures that are asked for.
#[utoipa::path(
    get, path = "/resemblance", operation_id = "compare_stored", tag = "Looking up",
    params(
        ("a" = DocumentId, Query, description = "The id of a stored document."),
        ("b" = DocumentId, Query, description = "The id of another."),
        CompareParameters,
    ),
    responses(
        (status = 200, description = "The comparison.", body = ComparisonReply),
        ComparingStored,
    ),
)]
pub async fn stored(
    Query(parameters): Query<StoredPairParameters>,
    Ready(engine): Ready,
) -> Result<Json<ComparisonReply>, Problem> {
    let options = parameters.compare.options();
    compare(&engine, Probe::Stored(parameters.a), Probe::Stored(parameters.b), options).await
}

/// Compare what is posted
///
/// The estimated resemblance of two probes beside the exact one, and the measures that are asked
/// for; nothing is stored.
#[utoipa::path(
    post, path = "/resemblance", operation_id = "compare_posted", tag = "Looking up",
    params(CompareParameters),
    request_body(
        content = PairSchema,
        example = json!({"a": {"id": "a"}, "b": {"text": "the fox"}}),
    ),
    responses((status = 200, description = "The comparison.", body = ComparisonReply), Comparing),
)]
pub async fn posted(
    Query(parameters): Query<CompareParameters>,
    Ready(engine): Ready,
    Pair(a, b): Pair,
) -> Result<Json<ComparisonReply>, Problem> {
    compare(&engine, a, b, parameters.options()).await
}

async fn compare(
    engine: &Engine,
    a: Probe,
    b: Probe,
    options: CompareOptions,
) -> Result<Json<ComparisonReply>, Problem> {
    let started = Instant::now();
    let comparison = engine.compare(a, b, options).await.map_err(of_either)?;
    Ok(Json(ComparisonReply::new(comparison, started.elapsed())))
}

/// Which of the two a fault is of is not known, so it points at neither.
fn of_either(error: EngineError) -> Problem {
    Problem { errors: Vec::new(), ..Problem::from(error) }
}
