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

/// So many of something, and so many for each client.
pub struct Shares {
    max: usize,
    per_client_max: usize,
    /// How many each holds; who holds none is not in it.
    held: Mutex<HashMap<Client, usize>>,
}

/// One of them, until it is dropped.
pub struct Share {
    of: Arc<Shares>,
    client: Client,
}

/// Why there is none.
#[derive(Debug, PartialEq, Eq)]
pub enum NoShare {
    AllAreHeld,
    ClientHoldsItsShare,
}

impl Shares {
    pub fn new(max: usize, per_client_max: usize) -> Arc<Self> {
        Arc::new(Self { max, per_client_max, held: Mutex::default() })
    }

    pub fn take(self: &Arc<Self>, client: Client) -> Result<Share, NoShare> {
        let mut held = self.held();
        if held.values().sum::<usize>() >= self.max {
            return Err(NoShare::AllAreHeld);
        }
        let its = held.entry(client.clone()).or_default();
        if *its >= self.per_client_max {
            return Err(NoShare::ClientHoldsItsShare);
        }
        *its += 1;
        drop(held);
        Ok(Share { of: Arc::clone(self), client })
    }

    /// No panic happens under the lock.
    fn held(&self) -> MutexGuard<'_, HashMap<Client, usize>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut held = self.of.held();
        let its = held.get_mut(&self.client).expect("who has a share is counted");
        *its -= 1;
        if *its == 0 {
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
        let shares = Shares::new(3, 2);
        let first = shares.take(key("a")).ok().unwrap();
        let _second = shares.take(key("a")).ok().unwrap();
        assert_eq!(shares.take(key("a")).err(), Some(NoShare::ClientHoldsItsShare));
        let other = shares.take(key("b")).ok().unwrap();
        assert_eq!(shares.take(key("c")).err(), Some(NoShare::AllAreHeld));
        drop(other);
        assert_eq!(shares.take(key("a")).err(), Some(NoShare::ClientHoldsItsShare));
        drop(first);
        assert!(shares.take(key("a")).is_ok());
        assert_eq!(shares.held().len(), 1, "who holds none takes no memory");
    }
}
