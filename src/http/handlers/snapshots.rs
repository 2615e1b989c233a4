//! Snapshots: taking and listing them.

use axum::http::{StatusCode, header};
use axum::response::IntoResponse;

use crate::engine::CollectionName;
use crate::http::problem::Problem;
use crate::http::request::extract::Ready;
use crate::http::response::reply::Json;
use crate::http::response::stats::{SnapshotsReply, StatusReply};

/// Take a snapshot
///
/// Starts a snapshot, unless a snapshot is being written already. `GET /snapshots` lists it once it
/// is complete.
#[utoipa::path(
    post, path = "/snapshots", operation_id = "take_snapshot", tag = "Operating",
    responses((status = 202, description = "Started.", body = StatusReply,
        headers(("location" = String, description = "Where snapshots are listed.")))),
)]
pub async fn take(Ready(engine): Ready) -> Result<impl IntoResponse, Problem> {
    engine.check_snapshots()?;
    let listed_at = path_of(engine.name());
    tokio::spawn(async move {
        if let Err(error) = engine.snapshot().await {
            tracing::error!(%error, "snapshot failed");
        }
    });
    let started = Json(StatusReply { status: "started" });
    Ok((StatusCode::ACCEPTED, [(header::LOCATION, listed_at)], started))
}

fn path_of(name: &CollectionName) -> String {
    match name.is_default() {
        true => "/snapshots".to_owned(),
        false => format!("/collections/{name}/snapshots"),
    }
}

/// List snapshots
///
/// Returns the complete snapshots of the collection.
#[utoipa::path(
    get, path = "/snapshots", operation_id = "list_snapshots", tag = "Operating",
    responses((status = 200, description = "The snapshots.", body = SnapshotsReply)),
)]
pub async fn list(Ready(engine): Ready) -> Result<Json<SnapshotsReply>, Problem> {
    Ok(Json(SnapshotsReply { snapshots: engine.snapshots().await? }))
}
