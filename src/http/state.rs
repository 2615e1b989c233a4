use std::ops::Deref;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jiff::Timestamp;
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::ServerSettings;
use crate::budget::Budget;
use crate::engine::{Collections, Progress};
use crate::http::access::hosts::Hosts;
use crate::http::access::key_ring::KeyRing;
use crate::http::access::quotas::{Client, ClientQuotas, QuotaExceeded, QuotaPermit};
use crate::http::access::rates::Rates;
use crate::http::connection::trace::Tracer;
use crate::http::metrics::requests::RequestSeries;
use crate::http::problem::Problem;
use crate::http::problem::code::Code;

/// The state that all requests share. Cheap to clone, as every layer does for every request.
#[derive(Clone)]
pub struct AppState(Arc<Shared>);

impl Deref for AppState {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

pub struct Shared {
    /// Set once all collections are open; until then only health, readiness and metrics answer.
    pub collections: OnceLock<Arc<Collections>>,
    /// Progress of opening them.
    pub progress: Arc<Progress>,
    pub settings: ServerSettings,
    pub keys: KeyRing,
    pub(super) hosts: Hosts,
    /// `None`: no limit.
    pub(super) rate_per_key: Option<Rates>,
    pub(super) rate_per_address: Option<Rates>,
    pub metrics: PrometheusHandle,
    /// The counters of requests.
    pub(super) request_series: RequestSeries,
    /// When the process started to serve.
    pub started_at: Timestamp,
    /// Set if requests are traced.
    pub tracer: OnceLock<Tracer>,
    /// The memory of all requests.
    pub budget: Arc<Budget>,
    /// A permit for each request that may be in flight.
    pub(super) requests: Semaphore,
    /// The streamed requests that may be in flight.
    bulk_requests: Arc<ClientQuotas>,
    /// A permit for each discovery that may be running.
    discoveries: Arc<Semaphore>,
}

impl AppState {
    #[must_use]
    pub fn new(settings: ServerSettings, keys: KeyRing, metrics: PrometheusHandle) -> Self {
        let burst = Duration::from_secs(u64::from(settings.rate_burst_s));
        Self(Arc::new(Shared {
            collections: OnceLock::new(),
            progress: Arc::default(),
            tracer: OnceLock::new(),
            request_series: RequestSeries::default(),
            metrics,
            started_at: Timestamp::now(),
            budget: Budget::new(match settings.memory_max {
                0 => usize::MAX,
                max => max,
            }),
            requests: Semaphore::new(settings.requests_in_flight_max),
            discoveries: Arc::new(Semaphore::new(settings.discoveries_max)),
            bulk_requests: ClientQuotas::new(
                settings.bulk_requests_max,
                settings.bulk_requests_of_a_client(),
            ),
            hosts: Hosts::new(&settings),
            rate_per_key: Rates::new(settings.rate_per_key, burst),
            rate_per_address: Rates::new(settings.rate_per_address, burst),
            keys,
            settings,
        }))
    }

    /// A permit to add, export or remove many documents, held while that goes on.
    ///
    /// # Errors
    /// `overloaded` if `bulk_requests_max` are held, `too_many_requests` if the client holds its
    /// share of them.
    pub(super) fn bulk_permit(&self, client: Client) -> Result<QuotaPermit, Problem> {
        let running = "bulk imports, exports and removals";
        self.bulk_requests.take(client).map_err(|none| match none {
            QuotaExceeded::AllAreHeld => {
                let max = self.settings.bulk_requests_max;
                Problem::new(Code::Overloaded, format!("{max} {running} are running already"))
            }
            QuotaExceeded::ClientHoldsItsShare => {
                let max = self.settings.bulk_requests_of_a_client();
                let detail = format!(
                    "{max} {running} of this client are running already \
                     (bulk_requests_per_client_max)"
                );
                Problem::new(Code::TooManyRequests, detail)
            }
        })
    }

    /// A permit for a discovery, held while it runs.
    ///
    /// # Errors
    /// `overloaded` if `discoveries_max` are held.
    pub(super) fn discovery_permit(&self) -> Result<OwnedSemaphorePermit, Problem> {
        Arc::clone(&self.discoveries).try_acquire_owned().map_err(|_| {
            let max = self.settings.discoveries_max;
            let detail = format!("{max} discoveries of pairs or clusters are running already");
            Problem::new(Code::Overloaded, detail)
        })
    }
}
