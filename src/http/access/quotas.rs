//! What each client may hold of something that few can have at once, so that some is left for
//! others.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::http::AppState;
use crate::http::access::{Caller, Peer, rates};
use crate::http::problem::Problem;

/// Whose requests count together: those of a key or, where none is needed, those of an address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Client {
    Key(String),
    Address(IpAddr),
    /// Of requests that came over no connection.
    InProcess,
}

impl FromRequestParts<AppState> for Client {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, Problem> {
        Ok(Self::of(parts))
    }
}

impl Client {
    pub fn of(parts: &Parts) -> Self {
        if let Some(key) = parts.extensions.get::<Caller>().and_then(Caller::name) {
            return Self::Key(key.to_owned());
        }
        let peer = parts.extensions.get::<Peer>();
        peer.map_or(Self::InProcess, |peer| Self::Address(rates::network(peer.address)))
    }
}

/// A number of permits, and the most of them for one client.
pub struct ClientQuotas {
    max: usize,
    per_client_max: usize,
    /// The permits of each client; clients without one are not in it.
    held: Mutex<HashMap<Client, usize>>,
}

/// A permit, held until it is dropped.
pub struct QuotaPermit {
    quotas: Arc<ClientQuotas>,
    client: Client,
}

/// Why there is none.
#[derive(Debug, PartialEq, Eq)]
pub enum QuotaExceeded {
    AllAreHeld,
    ClientHoldsItsShare,
}

impl ClientQuotas {
    pub fn new(max: usize, per_client_max: usize) -> Arc<Self> {
        Arc::new(Self { max, per_client_max, held: Mutex::default() })
    }

    pub fn take(self: &Arc<Self>, client: Client) -> Result<QuotaPermit, QuotaExceeded> {
        let mut held = self.held();
        if held.values().sum::<usize>() >= self.max {
            return Err(QuotaExceeded::AllAreHeld);
        }
        let count = held.entry(client.clone()).or_default();
        if *count >= self.per_client_max {
            return Err(QuotaExceeded::ClientHoldsItsShare);
        }
        *count += 1;
        drop(held);
        Ok(QuotaPermit { quotas: Arc::clone(self), client })
    }

    /// No panic happens under the lock.
    fn held(&self) -> MutexGuard<'_, HashMap<Client, usize>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for QuotaPermit {
    fn drop(&mut self) {
        let mut held = self.quotas.held();
        let count = held.get_mut(&self.client).expect("whoever has a permit is counted");
        *count -= 1;
        if *count == 0 {
            held.remove(&self.client);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Client {
        Client::Key(name.to_owned())
    }

    #[test]
    fn a_client_has_its_share_and_leaves_the_others_theirs() {
        let quotas = ClientQuotas::new(3, 2);
        let first = quotas.take(key("a")).ok().unwrap();
        let _second = quotas.take(key("a")).ok().unwrap();
        assert_eq!(quotas.take(key("a")).err(), Some(QuotaExceeded::ClientHoldsItsShare));
        let other = quotas.take(key("b")).ok().unwrap();
        assert_eq!(quotas.take(key("c")).err(), Some(QuotaExceeded::AllAreHeld));
        drop(other);
        assert_eq!(quotas.take(key("a")).err(), Some(QuotaExceeded::ClientHoldsItsShare));
        drop(first);
        assert!(quotas.take(key("a")).is_ok());
        assert_eq!(quotas.held().len(), 1, "who holds none takes no memory");
    }
}
