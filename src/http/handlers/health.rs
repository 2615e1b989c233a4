//! Health and readiness.

use axum::extract::State;

use crate::http::AppState;
use crate::http::problem::Problem;
use crate::http::problem::code::Code;
use crate::http::request::extract::AllReady;
use crate::http::response::reply::Json;
use crate::http::response::stats::{ReadinessReply, StatusReply};

/// Alive
///
/// Answers 200 as long as the process runs.
#[utoipa::path(
    get, path = "/healthz", operation_id = "health", tag = "Operating",
    responses((status = 200, description = "Alive.", body = StatusReply)),
)]
pub async fn alive() -> Json<StatusReply> {
    Json(StatusReply { status: "alive" })
}

/// Ready to serve
///
/// Answers 503 `not_ready` with the progress while collections are being opened, 503 `not_ready`
/// without a progress while the server stops, and 503 `out_of_service` once the store of a
/// collection has failed, or while the database of the collections cannot be reached. Collections
/// that could not be opened are counted; all other collections are served.
#[utoipa::path(
    get, path = "/readyz", operation_id = "readiness", tag = "Operating",
    responses((status = 200, description = "Ready.", body = ReadinessReply)),
)]
pub async fn ready(
    State(state): State<AppState>,
    AllReady(collections): AllReady,
) -> Result<Json<ReadinessReply>, Problem> {
    if state.is_stopping() {
        return Err(Problem::new(Code::NotReady, "the server is stopping"));
    }
    match collections.fault() {
        None => {
            let unavailable = Some(collections.unavailable().len()).filter(|count| *count > 0);
            Ok(Json(ReadinessReply { status: "ready", unavailable }))
        }
        Some(reason) => {
            let detail = format!("the store is out of service: {reason}");
            Err(Problem::new(Code::OutOfService, detail))
        }
    }
}
