//! Stand-ins for `crate::http` until it brings them.

use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::net::TcpListener;

use crate::config::ServerSettings;
use crate::engine::{Engine, Progress};

#[derive(Clone)]
pub struct AppState {
    pub engine: Arc<OnceLock<Arc<Engine>>>,
    pub progress: Arc<Progress>,
    pub settings: Arc<ServerSettings>,
    pub metrics: PrometheusHandle,
}

impl AppState {
    pub fn new(settings: ServerSettings, metrics: PrometheusHandle) -> Self {
        Self {
            engine: Arc::default(),
            progress: Arc::default(),
            settings: Arc::new(settings),
            metrics,
        }
    }
}

pub fn router(_state: AppState) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok" }))
        .route("/readyz", get(|| async { StatusCode::SERVICE_UNAVAILABLE }))
}

pub async fn serve(
    listener: TcpListener,
    router: Router,
    shutdown: impl Future<Output = ()> + Send + 'static,
    _grace: Duration,
) -> io::Result<()> {
    axum::serve(listener, router).with_graceful_shutdown(shutdown).await
}
