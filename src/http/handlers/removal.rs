//! Removing many documents at once.

use std::time::Instant;

use axum::extract::State;

use crate::engine::Removed;
use crate::http::AppState;
use crate::http::problem::Problem;
use crate::http::problem::of_calls::RemovingMany;
use crate::http::request::extract::Ready;
use crate::http::request::lookup::ConditionParameters;
use crate::http::request::query::Query;
use crate::http::response::json::Json;
use crate::http::response::timed::Timed;

type RemovedReply = Timed<Removed>;

/// Remove documents
///
/// Removes every document that meets the conditions, of which at least one must be given, in one
/// consistent view; documents that are added or replaced meanwhile stay. Answers once all are
/// removed, however long that takes. If the client disconnects, the removal stops; documents
/// removed by then stay removed, and the same call removes the rest.
#[utoipa::path(
    delete, path = "/documents", operation_id = "remove_documents", tag = "Documents",
    params(ConditionParameters),
    responses(
        (status = 200, description = "The documents are removed.", body = RemovedReply),
        RemovingMany,
    ),
)]
pub async fn remove(
    Query(parameters): Query<ConditionParameters>,
    State(state): State<AppState>,
    Ready(engine): Ready,
) -> Result<Json<RemovedReply>, Problem> {
    let conditions = parameters.conditions(&state.settings)?;
    let _permit = state.bulk_permit()?;
    let started = Instant::now();
    let outcome = engine.remove_where(conditions).await?;
    let took = started.elapsed();
    let (Removed { matched, removed }, took_us) = (outcome, took.as_micros() as u64);
    tracing::info!(collection = %engine.name(), matched, removed, took_us, "removal");
    Ok(Json(Timed::new(outcome, took)))
}
