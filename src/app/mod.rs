//! Composition: the listener, the collections and the periodic tasks, from start to shutdown.

mod access;
mod clusters;
mod descriptors;
mod error;
mod memory;
mod signals;
mod snapshots;

pub use descriptors::fit_connections;
pub use error::AppError;
pub use signals::{reload_signal, stop_signal};

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use metrics_exporter_prometheus::PrometheusHandle;
use tokio::net::TcpListener;
use tokio::signal::unix::Signal;
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use crate::backend::BackendError;
use crate::background;
use crate::config::Settings;
use crate::engine::{Collection, Collections, EngineError, Sample, StartProgress};
use crate::http::{self, ServerSettings};

/// Documents of a periodic measurement of recall.
const RECALL_SAMPLE: usize = 200;

/// Histograms grow until they are drained, even if no one scrapes.
const METRICS_UPKEEP: Duration = Duration::from_secs(5);

/// # Errors
/// `Listen`: the address is invalid, in use, or not permitted.
pub async fn bind(settings: &ServerSettings) -> Result<TcpListener, AppError> {
    let address = settings.listen.clone();
    let refused = |source| AppError::Listen { address: address.clone(), source };
    TcpListener::bind(&address).await.map_err(refused)
}

/// Serves until `shutdown` completes, and for `shutdown_delay_ms` more, in which it answers that it
/// is not ready; then lets requests finish and closes the stores. While the stores open it answers
/// that it is not ready, too. Reads keys and certificates again with each signal of `reload`.
///
/// # Errors
/// `Unprotected`, `Keys` or `Tls`; a store cannot be opened or closed, or goes out of service; or
/// the listener fails.
pub async fn run(
    mut settings: Settings,
    listener: TcpListener,
    metrics: PrometheusHandle,
    shutdown: impl Future<Output = ()> + Send + 'static,
    reload: Option<Signal>,
) -> Result<(), AppError> {
    let address = listener.local_addr().map_err(AppError::Serve)?;
    let (keys, tls) = access::open(&settings, address).await?;
    let tls = tls.map(Arc::new);
    memory::fit_memory(&mut settings);
    background::start();
    let state = http::AppState::new(settings.server.clone(), keys, metrics);
    let _ = state.request_log.set(http::RequestLog::new(settings.log.requests));
    if let Some(bytes) = memory::limit() {
        let _ = state.memory_limit.set(bytes);
    }
    let _for_good = memory::reserve_for_good(&state.budget, &settings);
    state.budget.ask(memory::can_allocate);
    tracing::info!(%address, tls = tls.is_some(), "listening");
    let (ended, end) = oneshot::channel();
    let until_stopped = {
        let (state, tls) = (state.clone(), tls.clone());
        async move {
            let outcome = tokio::select! {
                () = announced(shutdown, &state) => Ok(()),
                never = access::follow(&state, tls, reload) => match never {},
                Err(error) = work(settings, state.clone()) => Err(error),
            };
            tracing::info!("stopping: requests in progress may finish");
            // Sending fails only if serving has ended already.
            let _ = ended.send(outcome);
        }
    };
    let router = http::router(state.clone());
    http::serve(listener, router, until_stopped, &state.settings, tls).await;
    end.await.unwrap_or(Ok(()))?;
    close(state.collections.get()).await
}

/// Completes `shutdown_delay_ms` after `shutdown`.
async fn announced(shutdown: impl Future<Output = ()>, state: &http::AppState) {
    shutdown.await;
    state.stop();
    let delay_ms = state.settings.shutdown_delay_ms;
    if delay_ms > 0 {
        tracing::info!(delay_ms, "stopping: not ready, connections are still accepted");
        tokio::time::sleep(Duration::from_millis(delay_ms)).await;
    }
}

async fn close(collections: Option<&Arc<Collections>>) -> Result<(), AppError> {
    if let Some(collections) = collections {
        collections.close().await.map_err(AppError::Close)?;
    }
    tracing::info!("stopped");
    Ok(())
}

/// Opens the stores, then runs the periodic tasks. Ends only by failing.
async fn work(settings: Settings, state: http::AppState) -> Result<Infallible, AppError> {
    let metrics = state.metrics.clone();
    let every = Duration::from_secs(settings.storage.snapshot_interval_s);
    let operations = settings.storage.snapshot_operations;
    let measured_every = Duration::from_secs(settings.storage.recall_interval_s);
    let expiry_every = Duration::from_secs(settings.storage.expiry_interval_s);
    let collections = open(settings, &state).await?;
    let collections = state.collections.get_or_init(|| collections);
    tokio::select! {
        never = for_each(collections, every, snapshots::take) => match never {},
        never = snapshots::take_due(collections, operations) => match never {},
        never = for_each(collections, expiry_every, remove_expired) => match never {},
        never = for_each(collections, measured_every, measure_recall) => match never {},
        never = clusters::update(collections) => match never {},
        never = keep_metrics(metrics) => match never {},
        never = collections.follow() => match never {},
        reason = collections.failed() => Err(AppError::OutOfService { reason }),
    }
}

async fn open(settings: Settings, state: &http::AppState) -> Result<Arc<Collections>, AppError> {
    let of_all = settings.of_collections(StartProgress::clone(&state.progress));
    let (place, backend) = (settings.place(), settings.storage.backend);
    tracing::info!(%place, "opening");
    let opened = spawn_blocking(move || {
        Collections::open(settings.open_store()?, &settings.collection, of_all)
    });
    let opened = opened.await.unwrap_or_else(|_| {
        Err(EngineError::Backend(BackendError::Store {
            reason: "opening it panicked, see the log".into(),
        }))
    });
    let collections = opened.map_err(|source| AppError::Open { place, backend, source })?;
    tracing::info!(collections = collections.list().len(), "ready");
    Ok(Arc::new(collections))
}

/// Ticks of a period. Never returns for a period of zero.
async fn ticks(every: Duration) -> Interval {
    if every.is_zero() {
        return std::future::pending().await;
    }
    let mut ticks = interval_at(Instant::now() + every, every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

/// Does `work` for each collection at each tick.
async fn for_each<W: Future<Output = ()>>(
    collections: &Collections,
    every: Duration,
    work: impl Fn(Arc<Collection>) -> W,
) -> Infallible {
    let mut ticks = ticks(every).await;
    loop {
        ticks.tick().await;
        for collection in collections.list() {
            work(collection).await;
        }
    }
}

async fn measure_recall(collection: Arc<Collection>) {
    let name = collection.name();
    match collection.measure_recall(Sample::Exactly(RECALL_SAMPLE), None).await {
        Ok(recall) => tracing::info!(
            collection = %name,
            recall = recall.recall,
            precision = recall.precision,
            pairs = recall.pairs,
            sampled = recall.sampled,
            "measured recall"
        ),
        // The collection may have been removed, or a measurement may be running; and the recall of
        // records and signatures is not measured.
        Err(
            EngineError::Backend(BackendError::Closed)
            | EngineError::MeasurementUnderWay
            | EngineError::NotForRecords
            | EngineError::NotForSignatures,
        ) => {}
        Err(error) => tracing::error!(collection = %name, %error, "cannot measure recall"),
    }
}

async fn remove_expired(collection: Arc<Collection>) {
    let name = collection.name();
    match collection.remove_expired().await {
        // The collection may have been removed.
        Ok(0) | Err(EngineError::Backend(BackendError::Closed)) => {}
        Ok(removed) => tracing::info!(collection = %name, removed, "removed expired documents"),
        Err(error) => {
            tracing::error!(collection = %name, %error, "cannot remove expired documents");
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::document::{Content, Document, DocumentId};
    use crate::engine::{
        AddOptions, CollectionSettings, CollectionsSettings, LimitSettings, Opening,
    };
    use crate::storage::StorageSettings;

    pub(super) fn open(dir: &Path) -> Collections {
        let of_all = CollectionsSettings {
            collections_max: 1,
            limits_max: LimitSettings::default(),
            opening: Opening::default(),
        };
        let store =
            crate::backend::LocalCollections::new(dir.to_owned(), StorageSettings::default());
        Collections::open(Arc::new(store), &CollectionSettings::default(), of_all).unwrap()
    }

    pub(super) async fn add(collection: &Collection, id: &str) {
        let id = DocumentId::new(id).unwrap();
        let content = Content::Text("one two three four".to_owned());
        let document = Document { id, content, metadata: None, expires_at_ms: None };
        collection.add(document, AddOptions::default()).await.unwrap();
    }

    #[tokio::test]
    async fn recall_is_measured_periodically() {
        let dir = tempfile::tempdir().unwrap();
        let collections = open(dir.path());
        let collection = collections.list().remove(0);
        for id in ["a", "b"] {
            add(&collection, id).await;
        }
        let measured = async {
            loop {
                if let Some(recall) = collection.stats().await.unwrap().last_recall {
                    return recall;
                }
                tokio::task::yield_now().await;
            }
        };
        let every = Duration::from_millis(1);
        tokio::select! {
            never = for_each(&collections, every, measure_recall) => match never {},
            recall = measured => assert_eq!(recall.recall, Some(1.0)),
            () = tokio::time::sleep(Duration::from_secs(60)) => panic!("nothing was measured"),
        }
    }
}
