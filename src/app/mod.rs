//! Composition: a listener, an engine and what runs beside them, from start to a clean end.

mod error;
mod signals;

pub use error::AppError;
pub use signals::stop_signal;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use metrics_exporter_prometheus::PrometheusHandle;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::config::Settings;
use crate::engine::{Engine, EngineError};
use crate::http::{self, ServerSettings};

/// Where the paths without a collection's name lead to, below the data directory.
const DEFAULT_COLLECTION: &str = "collections/default";

/// The recorder wants its histograms drained even if nobody scrapes.
const METRICS_UPKEEP: Duration = Duration::from_secs(5);

/// # Errors
/// `Listen`: the address is no address, is taken, or may not be used.
pub async fn bind(settings: &ServerSettings) -> Result<TcpListener, AppError> {
    let address = settings.listen.clone();
    let refused = |source| AppError::Listen { address: address.clone(), source };
    TcpListener::bind(&address).await.map_err(refused)
}

/// Serves on the listener until `shutdown` comes about, then lets requests finish and closes the
/// store. Answers from the start: while the store opens, that it is not ready.
///
/// # Errors
/// The store cannot be opened or closed, or went out of service meanwhile; or the listener fails.
pub async fn run(
    settings: Settings,
    listener: TcpListener,
    metrics: PrometheusHandle,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<(), AppError> {
    let state = http::AppState::new(settings.server.clone(), metrics);
    if let Ok(address) = listener.local_addr() {
        tracing::info!(%address, "listening");
    }
    let (tell, told) = oneshot::channel();
    let until_stopped = {
        let state = state.clone();
        async move {
            let ended = tokio::select! {
                () = shutdown => Ok(()),
                Err(error) = work(settings, state) => Err(error),
            };
            tracing::info!("stopping: requests under way may finish");
            // Nobody listens only if serving has ended already.
            let _ = tell.send(ended);
        }
    };
    http::serve(listener, http::router(state.clone()), until_stopped, &state.settings).await;
    told.await.unwrap_or(Ok(()))?;
    close(state.engine.get()).await
}

async fn close(engine: Option<&Arc<Engine>>) -> Result<(), AppError> {
    if let Some(engine) = engine {
        engine.close().await.map_err(AppError::Close)?;
    }
    tracing::info!("stopped");
    Ok(())
}

/// Opens the store, then does what is due from time to time. Ends only by failing.
async fn work(settings: Settings, state: http::AppState) -> Result<Infallible, AppError> {
    let metrics = state.metrics.clone();
    let every = Duration::from_secs(settings.storage.snapshot_interval_s);
    let engine = open(settings, &state).await?;
    let engine = state.engine.get_or_init(|| engine);
    let mut poisoned = engine.poisoned();
    tokio::select! {
        never = take_snapshots(engine, every) => match never {},
        never = keep_metrics(metrics) => match never {},
        reason = poisoned.wait_for(Option::is_some) => {
            let reason = reason.ok().and_then(|reason| reason.clone());
            Err(AppError::OutOfService { reason: reason.unwrap_or_default() })
        }
    }
}

async fn open(settings: Settings, state: &http::AppState) -> Result<Arc<Engine>, AppError> {
    let progress = Arc::clone(&state.progress);
    let dir = settings.storage.data_dir.clone();
    tracing::info!(data_dir = %dir.display(), "opening");
    let opened = tokio::task::spawn_blocking(move || {
        let storage = &settings.storage;
        let dir = storage.data_dir.join(DEFAULT_COLLECTION);
        let cache_bytes = storage.sets_cache_bytes;
        Engine::open(&dir, settings.collection, &storage.store, cache_bytes, &progress)
    });
    let opened = opened.await.unwrap_or_else(|_| {
        Err(EngineError::Store { reason: "opening it panicked, see the log".into() })
    });
    let engine = opened.map_err(|source| AppError::Open { dir, source })?;
    tracing::info!("ready");
    Ok(Arc::new(engine))
}

async fn take_snapshots(engine: &Arc<Engine>, every: Duration) -> Infallible {
    if every.is_zero() {
        return std::future::pending().await;
    }
    let mut ticks = interval_at(Instant::now() + every, every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        match engine.snapshot_if_changed().await {
            Ok(Some(snapshot)) => tracing::info!(
                sequence = snapshot.sequence,
                documents = snapshot.documents,
                bytes = snapshot.bytes,
                "took a snapshot"
            ),
            Ok(None) => {}
            Err(error) => tracing::error!(%error, "no snapshot could be taken"),
        }
    }
}

async fn keep_metrics(metrics: PrometheusHandle) -> Infallible {
    let mut ticks = tokio::time::interval(METRICS_UPKEEP);
    loop {
        ticks.tick().await;
        metrics.run_upkeep();
    }
}
