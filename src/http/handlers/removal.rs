//! Removing many documents at once.

use std::time::Instant;

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::engine::Removed;
use crate::http::AppState;
use crate::http::problem::Problem;
use crate::http::problem::of_calls::RemovingMany;
use crate::http::request::conditions::ConditionParameters;
use crate::http::request::extract::Ready;
use crate::http::request::query::Query;
use crate::http::response::json::Json;

/// What removing by conditions did.
#[derive(Serialize, ToSchema)]
#[schema(as = Removed)]
pub struct RemovedReply {
    /// Documents that met the conditions.
    matched: u64,
    /// Of those, the ones removed. Fewer if some were removed or replaced by others meanwhile.
    removed: u64,
    took_us: u64,
}

/// Remove documents
///
/// Removes every document that meets the conditions, of which there must be one, as they are in one
/// consistent view; a document that is added or replaced meanwhile stays. Answers once all are gone
/// for good, however long that takes. If the client goes away, it stops; what is removed by then is
/// gone, and the same call again removes the rest.
#[utoipa::path(
    delete, path = "/documents", operation_id = "remove_documents", tag = "Documents",
    params(ConditionParameters),
    responses(
        (status = 200, description = "The documents are gone.", body = RemovedReply),
        RemovingMany,
    ),
)]
pub async fn remove(
    Query(parameters): Query<ConditionParameters>,
    State(state): State<AppState>,
    Ready(engine): Ready,
) -> Result<Json<RemovedReply>, Problem> {
    let _permit = state.bulk_permit()?;
    let started = Instant::now();
    let removed = engine.remove_where(parameters.conditions()).await?;
    let took_us = started.elapsed().as_micros() as u64;
    let Removed { matched, removed } = removed;
    tracing::info!(collection = %engine.name(), matched, removed, took_us, "removal");
    Ok(Json(RemovedReply { matched, removed, took_us }))
}
