use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use jiff::Timestamp;
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::ServerSettings;
use crate::engine::{Collections, Progress};
use crate::http::problem::Problem;
use crate::http::problem::code::Code;
use crate::http::response::requests::Measures;

/// What every request may get at. Cheap to clone, which every layer does for every request.
#[derive(Clone)]
pub struct AppState(Arc<Shared>);

impl Deref for AppState {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

/// What there is once.
pub struct Shared {
    /// Set once all are open; until then only health, readiness and metrics are answered.
    pub collections: OnceLock<Arc<Collections>>,
    /// How far their opening has come.
    pub progress: Arc<Progress>,
    pub settings: ServerSettings,
    pub metrics: PrometheusHandle,
    /// What requests are counted by.
    pub(super) measures: Measures,
    /// When the process started to serve.
    pub started_at: Timestamp,
    /// A permit for each request that may be worked on.
    pub(super) requests: Semaphore,
    /// A permit for each streamed request that may be worked on.
    pub(super) bulk_requests: Arc<Semaphore>,
    /// A permit for each discovery that may be under way.
    discoveries: Arc<Semaphore>,
}

impl AppState {
    #[must_use]
    pub fn new(settings: ServerSettings, metrics: PrometheusHandle) -> Self {
        Self(Arc::new(Shared {
            collections: OnceLock::new(),
            progress: Arc::default(),
            measures: Measures::default(),
            metrics,
            started_at: Timestamp::now(),
            requests: Semaphore::new(settings.requests_in_flight_max),
            discoveries: Arc::new(Semaphore::new(settings.discoveries_max)),
            bulk_requests: Arc::new(Semaphore::new(settings.bulk_requests_max)),
            settings,
        }))
    }

    /// Leave to stream or to remove many, for as long as it is held.
    ///
    /// # Errors
    /// `overloaded` while `bulk_requests_max` others do.
    pub(super) fn bulk_permit(&self) -> Result<OwnedSemaphorePermit, Problem> {
        Arc::clone(&self.bulk_requests).try_acquire_owned().map_err(|_| {
            let max = self.settings.bulk_requests_max;
            let detail =
                format!("{max} bulk additions, exports and removals are being worked on already");
            Problem::new(Code::Overloaded, detail)
        })
    }

    /// Leave to go through all documents, for as long as it is held.
    ///
    /// # Errors
    /// `overloaded` while `discoveries_max` others do.
    pub(super) fn discovery_permit(&self) -> Result<OwnedSemaphorePermit, Problem> {
        Arc::clone(&self.discoveries).try_acquire_owned().map_err(|_| {
            let max = self.settings.discoveries_max;
            let detail = format!("{max} discoveries of pairs or clusters are under way already");
            Problem::new(Code::Overloaded, detail)
        })
    }
}
