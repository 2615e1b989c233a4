use std::collections::HashMap;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use jiff::Timestamp;
use metrics_exporter_prometheus::PrometheusHandle;
use parking_lot::Mutex;

use super::ServerSettings;
use super::settings::RATE_BURST_S;
use crate::budget::{Budget, ClientShare};
use crate::engine::{Collections, StartProgress};
use crate::http::access::hosts::Hosts;
use crate::http::access::rates::Rates;
use crate::http::access::{ClientQuotas, KeyRing, RequestClient};
use crate::http::connection::request_log::RequestLog;
use crate::http::metrics::requests::RequestSeries;

/// The memory of the largest body and of the values decoded from it, for each byte of the body.
/// Each client may send a body of that size, however small the budget is.
const BODY_FACTOR: usize = 8;

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
    pub progress: Arc<StartProgress>,
    /// Set by the signal to stop.
    is_stopping: AtomicBool,
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
    /// Without it all requests are logged.
    pub request_log: OnceLock<RequestLog>,
    /// The memory of all requests.
    pub budget: Arc<Budget>,
    /// The memory that the process may take, if it is known.
    pub memory_limit: OnceLock<usize>,
    /// The requests that may be in flight.
    pub(super) requests: Arc<ClientQuotas>,
    /// The requests that may wait for their client: for a body, or for changes.
    pub(super) waiting_requests: Arc<ClientQuotas>,
    /// The additions, exports and removals of many documents that may be running.
    pub(super) bulk_requests: Arc<ClientQuotas>,
    /// Of clients with requests, and of some that had some.
    client_shares: Mutex<HashMap<RequestClient, Weak<ClientShare>>>,
    /// The discoveries that may be running.
    pub(super) discoveries: Arc<ClientQuotas>,
}

impl AppState {
    #[must_use]
    pub fn new(settings: ServerSettings, keys: KeyRing, metrics: PrometheusHandle) -> Self {
        let burst = Duration::from_secs(RATE_BURST_S);
        let share = settings.client_share_percent;
        let quotas = |what, max| ClientQuotas::new(what, max, share);
        Self(Arc::new(Shared {
            collections: OnceLock::new(),
            progress: Arc::default(),
            is_stopping: AtomicBool::new(false),
            request_log: OnceLock::new(),
            memory_limit: OnceLock::new(),
            request_series: RequestSeries::default(),
            metrics,
            started_at: Timestamp::now(),
            budget: Budget::new(match settings.memory_max {
                0 => usize::MAX,
                max => max,
            }),
            requests: quotas(
                "requests are in flight",
                ("requests_in_flight_max", settings.requests_in_flight_max),
            ),
            waiting_requests: quotas(
                "requests wait for a body or for changes",
                ("connections_max", settings.connections_max),
            ),
            bulk_requests: quotas(
                "bulk imports, exports and removals are running",
                ("bulk_requests_max", settings.bulk_requests_max),
            ),
            discoveries: quotas(
                "discoveries of pairs or clusters are running",
                ("discoveries_max", settings.discoveries_max),
            ),
            hosts: Hosts::new(&settings),
            client_shares: Mutex::default(),
            rate_per_key: Rates::new(settings.rate_per_key, burst),
            rate_per_address: Rates::new(settings.rate_per_address, burst),
            keys,
            settings,
        }))
    }

    /// `/readyz` answers 503 from here on, so that load balancers send no more requests.
    pub fn stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Relaxed)
    }

    /// The memory and work that the requests of a client may take together.
    pub(super) fn client_share(&self, client: &RequestClient) -> Arc<ClientShare> {
        let mut shares = self.client_shares.lock();
        if let Some(share) = shares.get(client).and_then(Weak::upgrade) {
            return share;
        }
        if shares.len() >= self.settings.connections_max {
            shares.retain(|_, share| share.strong_count() > 0);
        }
        let ServerSettings { client_share_percent, request_cost_max, .. } = self.settings;
        let ServerSettings { body_bytes_max, document_bytes_max, .. } = self.settings;
        let largest = body_bytes_max.max(document_bytes_max).saturating_mul(BODY_FACTOR);
        let share = self.budget.client_share(client_share_percent, largest, request_cost_max);
        shares.insert(client.clone(), Arc::downgrade(&share));
        share
    }
}
