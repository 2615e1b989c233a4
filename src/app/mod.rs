//! Composition: a listener, collections and what runs beside them, from start to a clean end.

mod error;
mod signals;

pub use error::AppError;
pub use signals::stop_signal;

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use metrics_exporter_prometheus::PrometheusHandle;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::config::Settings;
use crate::engine::{Collection, Collections, CollectionsSettings, EngineError};
use crate::http::{self, ServerSettings};

/// Where the collections are, below the data directory.
const COLLECTIONS: &str = "collections";

/// The directory of all collections of a data directory.
#[must_use]
pub fn collections_dir(data_dir: &Path) -> PathBuf {
    data_dir.join(COLLECTIONS)
}

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
/// stores. Answers from the start: while they open, that it is not ready.
///
/// # Errors
/// A store cannot be opened or closed, or went out of service meanwhile; or the listener fails.
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
    close(state.collections.get()).await
}

async fn close(collections: Option<&Arc<Collections>>) -> Result<(), AppError> {
    if let Some(collections) = collections {
        collections.close().await.map_err(AppError::Close)?;
    }
    tracing::info!("stopped");
    Ok(())
}

/// Opens the stores, then does what is due from time to time. Ends only by failing.
async fn work(settings: Settings, state: http::AppState) -> Result<Infallible, AppError> {
    let metrics = state.metrics.clone();
    let every = Duration::from_secs(settings.storage.snapshot_interval_s);
    let collections = open(settings, &state).await?;
    let collections = state.collections.get_or_init(|| collections);
    tokio::select! {
        never = take_snapshots(collections, every) => match never {},
        never = keep_metrics(metrics) => match never {},
        reason = collections.failed() => Err(AppError::OutOfService { reason }),
    }
}

async fn open(settings: Settings, state: &http::AppState) -> Result<Arc<Collections>, AppError> {
    let progress = Arc::clone(&state.progress);
    let dir = settings.storage.data_dir.clone();
    tracing::info!(data_dir = %dir.display(), "opening");
    let opened = tokio::task::spawn_blocking(move || {
        let storage = settings.storage;
        let root = collections_dir(&storage.data_dir);
        let of_all = CollectionsSettings {
            store: storage.store,
            sets_cache_bytes: storage.sets_cache_bytes,
            collections_max: storage.collections_max,
        };
        Collections::open(&root, settings.collection, of_all, &progress)
    });
    let opened = opened.await.unwrap_or_else(|_| {
        Err(EngineError::Store { reason: "opening it panicked, see the log".into() })
    });
    let collections = opened.map_err(|source| AppError::Open { dir, source })?;
    tracing::info!(collections = collections.list().len(), "ready");
    Ok(Arc::new(collections))
}

async fn take_snapshots(collections: &Collections, every: Duration) -> Infallible {
    if every.is_zero() {
        return std::future::pending().await;
    }
    let mut ticks = interval_at(Instant::now() + every, every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        for collection in collections.list() {
            take_snapshot(&collection).await;
        }
    }
}

async fn take_snapshot(collection: &Collection) {
    let name = collection.name();
    match collection.snapshot_if_changed().await {
        Ok(Some(snapshot)) => tracing::info!(
            collection = %name,
            sequence = snapshot.sequence,
            documents = snapshot.documents,
            bytes = snapshot.bytes,
            "took a snapshot"
        ),
        // It may have been removed meanwhile.
        Ok(None) | Err(EngineError::Closed) => {}
        Err(error) => tracing::error!(collection = %name, %error, "no snapshot could be taken"),
    }
}

async fn keep_metrics(metrics: PrometheusHandle) -> Infallible {
    let mut ticks = tokio::time::interval(METRICS_UPKEEP);
    loop {
        ticks.tick().await;
        metrics.run_upkeep();
    }
}
