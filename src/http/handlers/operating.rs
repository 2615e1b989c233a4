//! Health, statistics, snapshots, backups, metrics and the OpenAPI document.

use std::io;
use std::sync::{Arc, LazyLock};

use axum::body::Body;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;

use crate::engine::{Collection, CollectionName, Collections};
use crate::http::AppState;
use crate::http::access::Caller;
use crate::http::metrics::exposition;
use crate::http::problem::{Code, Problem};
use crate::http::request::{AllReady, Ready};
use crate::http::response::{JSON, Json, ReadinessReply, SnapshotsReply, StatsReply, StatusReply};

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

/// Statistics of the collection
///
/// Returns sizes, memory, running discoveries and settings.
#[utoipa::path(
    get, path = "/stats", operation_id = "stats", tag = "Operating",
    responses((status = 200, description = "The statistics.", body = StatsReply)),
)]
pub async fn stats(
    State(state): State<AppState>,
    Ready(engine): Ready,
) -> Result<Json<StatsReply>, Problem> {
    let figures = engine.stats().await?;
    Ok(Json(StatsReply::new(figures, state.started_at, engine.settings().clone())))
}

/// Take a snapshot
///
/// Starts a snapshot, unless a snapshot is being written already. `GET /snapshots` lists it once it
/// is complete.
#[utoipa::path(
    post, path = "/snapshots", operation_id = "take_snapshot", tag = "Operating",
    responses((status = 202, description = "Started.", body = StatusReply,
        headers(("location" = String, description = "Where snapshots are listed.")))),
)]
pub async fn take_snapshot(Ready(engine): Ready) -> Result<impl IntoResponse, Problem> {
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
pub async fn list_snapshots(Ready(engine): Ready) -> Result<Json<SnapshotsReply>, Problem> {
    Ok(Json(SnapshotsReply { snapshots: engine.snapshots().await? }))
}

const TAR: &str = "application/x-tar";

/// Back up all collections
///
/// Returns a tar archive of all stores and settings for `akin restore`: each collection from one
/// consistent view, while requests go on. The server makes one backup at a time. Each store is
/// copied, and every row of the copy is checked, before the first byte is sent: the answer may take
/// a while to begin. The problem `document_damaged` names a damaged document and the remedy. A
/// damaged document in a further collection is named in the server's log, and the connection is
/// closed without the end of the body, so that a part never looks whole. Refused with 503
/// `collection_unavailable` if a collection could not be opened.
#[utoipa::path(
    get, path = "/backup", operation_id = "back_up", tag = "Operating",
    responses((status = 200, description = "The archive.", body = String,
        content_type = "application/x-tar")),
)]
pub async fn back_up_all(AllReady(collections): AllReady) -> Result<Response, Problem> {
    if let Some(name) = collections.unavailable().first() {
        collections.get(name)?;
    }
    let of = collections.list();
    archive(&collections, of).await
}

/// Back up one collection
///
/// Returns a backup of one collection, in the form of `GET /backup`.
#[utoipa::path(
    get, path = "/collections/{collection}/backup", operation_id = "back_up",
    tag = "Operating",
    responses((status = 200, description = "The archive.", body = String,
        content_type = "application/x-tar")),
)]
pub async fn back_up(
    AllReady(collections): AllReady,
    Ready(collection): Ready,
) -> Result<Response, Problem> {
    archive(&collections, vec![collection]).await
}

async fn archive(collections: &Collections, of: Vec<Arc<Collection>>) -> Result<Response, Problem> {
    let pieces = collections.backup(of).await?.map(|piece| {
        piece.map_err(|error| {
            tracing::error!(%error, "backup failed");
            io::Error::other("the backup was aborted")
        })
    });
    Ok(([(header::CONTENT_TYPE, TAR)], Body::from_stream(pieces)).into_response())
}

/// Metrics
///
/// Returns metrics in the text format of Prometheus. The metrics of a collection have its name as
/// the label `collection`; they are left out if the key does not cover the collection.
#[utoipa::path(
    get, path = "/metrics", operation_id = "metrics", tag = "Operating",
    responses((status = 200, description = "The metrics.", body = String,
        content_type = "text/plain; version=0.0.4")),
)]
pub async fn metrics(State(state): State<AppState>, caller: Caller) -> impl IntoResponse {
    let mut text = state.metrics.render();
    let collections = state.collections.get().cloned();
    let read = move || {
        let disk = collections.and_then(|collections| collections.disk());
        exposition::process() + &disk.map(exposition::disk).unwrap_or_default()
    };
    // Fails only if the process is stopping.
    text += &tokio::task::spawn_blocking(read).await.unwrap_or_default();
    text += &exposition::memory(state.memory_limit.get().copied(), &state.budget);
    if let Some(collections) = state.collections.get() {
        let figures = exposition::figures(&collections.list()).await;
        text += &exposition::gauges(&figures);
        text += &exposition::unavailable(collections.unavailable().len());
    }
    if let Some(key) = caller.limited() {
        text = exposition::of_collections(&text, |name| key.covers(name));
    }
    let media = "text/plain; version=0.0.4; charset=utf-8";
    ([(header::CONTENT_TYPE, media)], text)
}

/// This document as JSON
///
/// Returns the OpenAPI document of the server. `GET /docs` shows it as pages.
#[utoipa::path(
    get, path = "/openapi.json", operation_id = "openapi_json", tag = "Operating",
    responses((status = 200, description = "The OpenAPI document.", body = Object)),
)]
pub async fn openapi_json() -> impl IntoResponse {
    static TEXT: LazyLock<String> = LazyLock::new(crate::http::openapi::json);
    ([(header::CONTENT_TYPE, JSON)], TEXT.as_str())
}

/// This document
///
/// Returns the OpenAPI document of the server.
#[utoipa::path(
    get, path = "/openapi.yaml", operation_id = "openapi", tag = "Operating",
    responses((status = 200, description = "The OpenAPI document.", body = Object,
        content_type = "application/yaml")),
)]
pub async fn openapi_yaml() -> impl IntoResponse {
    static YAML: LazyLock<String> = LazyLock::new(crate::http::openapi::yaml);
    ([(header::CONTENT_TYPE, "application/yaml")], YAML.as_str())
}
