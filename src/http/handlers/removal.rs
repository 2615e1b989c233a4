//! Removing many documents at once.

use std::time::Instant;

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::engine::Removed;
use crate::http::AppState;
use crate::http::problem::Problem;
use crate::http::problem::of_calls::RemovingMany;
use crate::http::request::extract::Ready;
use crate::http::request::lookup::ConditionParameters;
use crate::http::request::query::Query;
use crate::http::response::json::Json;

/// The outcome of a removal by conditions.
#[derive(Serialize, ToSchema)]
#[schema(as = Removed)]
pub struct RemovedReply {
    /// Documents that met the conditions.
    matched: u64,
    /// Documents removed: fewer than `matched` if others removed or replaced some meanwhile.
    removed: u64,
    took_us: u64,
}

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
    let removed = engine.remove_where(conditions).await?;
    let took_us = started.elapsed().as_micros() as u64;
    let Removed { matched, removed } = removed;
    tracing::info!(collection = %engine.name(), matched, removed, took_us, "removal");
    Ok(Json(RemovedReply { matched, removed, took_us }))
}
