//! The permit of a request: a permit to work while the server works on it, and a permit to wait
//! while it waits for its client.
//!
//! A client that sends no body, or waits for changes, makes no work, so it must not take a permit
//! to work. A request that waits holds a connection and little else, so as many requests may wait
//! as there may be connections.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

use crate::budget::ClientShare;
use crate::http::AppState;
use crate::http::access::{ClientQuotas, QuotaPermit, RequestClient};
use crate::http::problem::Problem;

/// How often a request that has waited tries to go on.
const TRIED_EVERY: Duration = Duration::from_millis(20);

/// The permit of a request, given back when this is dropped.
pub struct Admission {
    state: AppState,
    client: RequestClient,
    /// The memory and work that the requests of the client may take together.
    pub share: Arc<ClientShare>,
    permit: Mutex<Option<QuotaPermit>>,
}

impl Admission {
    /// Lets a request be worked on.
    ///
    /// # Errors
    /// `overloaded`, `too_many_requests`
    pub fn of(state: &AppState, client: RequestClient) -> Result<Arc<Self>, Problem> {
        let permit = Mutex::new(Some(state.requests.take(&client)?));
        let share = state.client_share(&client);
        Ok(Arc::new(Self { state: state.clone(), client, share, permit }))
    }

    /// The request waits for its client from here on.
    ///
    /// # Errors
    /// As for [`Self::of`].
    pub fn wait(&self) -> Result<(), Problem> {
        self.exchange(&self.state.waiting_requests)
    }

    /// The request is worked on from here on.
    ///
    /// # Errors
    /// As for [`Self::of`].
    pub fn work(&self) -> Result<(), Problem> {
        self.exchange(&self.state.requests)
    }

    /// [`Self::work`], once there is room: a change wakes all requests that wait for it at the same
    /// time.
    ///
    /// # Errors
    /// As for [`Self::of`]: there was no room for as long as a request may take.
    pub async fn work_soon(&self) -> Result<(), Problem> {
        let patience = Duration::from_millis(self.state.settings.request_timeout_ms);
        let deadline = Instant::now() + patience;
        loop {
            match self.work() {
                Err(_) if Instant::now() < deadline => sleep(TRIED_EVERY).await,
                outcome => return outcome,
            }
        }
    }

    fn exchange(&self, quotas: &Arc<ClientQuotas>) -> Result<(), Problem> {
        let permit = quotas.take(&self.client)?;
        *self.permit.lock() = Some(permit);
        Ok(())
    }
}
