//! Health, metrics, statistics and snapshots.

use std::sync::LazyLock;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use jiff::Timestamp;

use crate::engine::CollectionName;
use crate::http::AppState;
use crate::http::metrics::{exposition, process};
use crate::http::problem::Problem;
use crate::http::problem::code::Code;
use crate::http::problem::of_calls::{OfSnapshots, Plain};
use crate::http::request::extract::{AllReady, Ready};
use crate::http::request::query::{NoParameters, Query};
use crate::http::response::json::Json;
use crate::http::response::stats::{
    ReadinessReply, SnapshotReply, SnapshotsReply, StatsReply, StatusReply,
};

/// Alive
///
/// Answers 200 as long as the process runs.
#[utoipa::path(
    get, path = "/healthz", operation_id = "health", tag = "Operating",
    responses((status = 200, description = "Alive.", body = StatusReply)),
)]
pub async fn health() -> Json<StatusReply> {
    Json(StatusReply { status: "alive" })
}

/// Ready to serve
///
/// Answers 503 `not_ready` with the progress while collections are being opened, and 503
/// `out_of_service` once the store of one has failed. Collections that could not be opened are
/// counted; the others are served.
#[utoipa::path(
    get, path = "/readyz", operation_id = "readiness", tag = "Operating",
    responses((status = 200, description = "Ready.", body = ReadinessReply), Plain),
)]
pub async fn readiness(AllReady(collections): AllReady) -> Result<Json<ReadinessReply>, Problem> {
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

/// Metrics
///
/// Returns metrics in the text format of Prometheus. Those of a collection have its name as the
/// label `collection`.
#[utoipa::path(
    get, path = "/metrics", operation_id = "metrics", tag = "Operating",
    responses((status = 200, description = "The metrics.", body = String,
        content_type = "text/plain; version=0.0.4")),
)]
pub async fn metrics(State(state): State<AppState>) -> impl IntoResponse {
    let mut text = state.metrics.render();
    // Fails only if the process is stopping.
    text += &tokio::task::spawn_blocking(process::text).await.unwrap_or_default();
    text += &exposition::memory(&state.budget);
    if let Some(collections) = state.collections.get() {
        let figures = exposition::figures(&collections.list()).await;
        text += &exposition::gauges(&figures, Timestamp::now().as_millisecond());
        text += &exposition::unavailable(collections.unavailable().len());
    }
    let media = "text/plain; version=0.0.4; charset=utf-8";
    ([(header::CONTENT_TYPE, media)], text)
}

/// Statistics of the collection
///
/// Returns sizes, memory, running discoveries and settings.
#[utoipa::path(
    get, path = "/stats", operation_id = "stats", tag = "Operating",
    responses((status = 200, description = "The statistics.", body = StatsReply), Plain),
)]
pub async fn stats(
    _: Query<NoParameters>,
    State(state): State<AppState>,
    Ready(engine): Ready,
) -> Result<Json<StatsReply>, Problem> {
    let figures = engine.stats().await?;
    Ok(Json(StatsReply::new(figures, state.started_at, engine.settings().clone())))
}

/// Take a snapshot
///
/// Starts a snapshot, unless one is being written already. `GET /snapshots` lists it once it is
/// complete.
#[utoipa::path(
    post, path = "/snapshots", operation_id = "take_snapshot", tag = "Operating",
    responses((status = 202, description = "Started.", body = StatusReply,
        headers(("location" = String, description = "Where snapshots are listed."))), OfSnapshots),
)]
pub async fn take_snapshot(
    _: Query<NoParameters>,
    Ready(engine): Ready,
) -> Result<impl IntoResponse, Problem> {
    engine.check_snapshots()?;
    let listed_at = snapshots_of(engine.name());
    tokio::spawn(async move {
        if let Err(error) = engine.snapshot().await {
            tracing::error!(%error, "snapshot failed");
        }
    });
    let started = Json(StatusReply { status: "started" });
    Ok((StatusCode::ACCEPTED, [(header::LOCATION, listed_at)], started))
}

fn snapshots_of(name: &CollectionName) -> String {
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
    responses((status = 200, description = "The snapshots.", body = SnapshotsReply), OfSnapshots),
)]
pub async fn snapshots(
    _: Query<NoParameters>,
    Ready(engine): Ready,
) -> Result<Json<SnapshotsReply>, Problem> {
    let snapshots = engine.snapshots().await?;
    let snapshots = snapshots.into_iter().map(SnapshotReply::from).collect();
    Ok(Json(SnapshotsReply { snapshots }))
}

/// This document as JSON
///
/// Returns the OpenAPI document of the server. `GET /docs` shows it as pages.
#[utoipa::path(
    get, path = "/openapi.json", operation_id = "openapi_json", tag = "Operating",
    responses((status = 200, description = "The OpenAPI document.", body = Object)),
)]
pub async fn openapi_json() -> impl IntoResponse {
    static JSON: LazyLock<String> = LazyLock::new(crate::http::openapi::json);
    ([(header::CONTENT_TYPE, "application/json")], JSON.as_str())
}

/// This document
///
/// Returns the OpenAPI document of the server.
#[utoipa::path(
    get, path = "/openapi.yaml", operation_id = "openapi", tag = "Operating",
    responses((status = 200, description = "The OpenAPI document.", body = Object,
        content_type = "application/yaml")),
)]
pub async fn openapi() -> impl IntoResponse {
    static YAML: LazyLock<String> = LazyLock::new(crate::http::openapi::yaml);
    ([(header::CONTENT_TYPE, "application/yaml")], YAML.as_str())
}
