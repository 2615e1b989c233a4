//! Metrics of the process and of its collections.

use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;

use crate::http::AppState;
use crate::http::access::Caller;
use crate::http::metrics::{exposition, process};

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
        process::text() + &disk.map(exposition::disk).unwrap_or_default()
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
