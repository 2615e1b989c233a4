//! Permits with a share for each client, so that a client never holds the permits of all clients.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::{Arc, LazyLock};

use axum::extract::FromRequestParts;
use axum::http::Extensions;
use axum::http::request::Parts;
use parking_lot::Mutex;

use crate::background::turns::ClientId;
use crate::http::AppState;
use crate::http::access::{Caller, Peer, rates};
use crate::http::problem::{Code, Problem};

/// A client: a key or, where no key is needed, an address. Its requests count together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RequestClient {
    Key(Arc<str>),
    Address(IpAddr),
    /// Of requests that came over no connection.
    InProcess,
}

impl FromRequestParts<AppState> for RequestClient {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, Problem> {
        Ok(Self::of(&parts.extensions))
    }
}

/// Makes the numbers of clients, for which clients cannot choose names that collide.
static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);

impl RequestClient {
    /// The number with which the client takes turns.
    pub fn id(&self) -> ClientId {
        ClientId(HASHER.hash_one(self))
    }

    /// Of a request with these extensions.
    pub fn of(extensions: &Extensions) -> Self {
        if let Some(key) = extensions.get::<Caller>().and_then(Caller::name) {
            return Self::Key(key.into());
        }
        let peer = extensions.get::<Peer>();
        peer.map_or(Self::InProcess, |peer| Self::Address(rates::network(peer.address)))
    }
}

/// A number of permits, and the largest number of permits of a client.
pub struct ClientQuotas {
    /// The activity of a request with a permit, for the problem.
    what: &'static str,
    /// The setting of `max`.
    setting: &'static str,
    max: usize,
    per_client_max: usize,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    /// The permits of each client that holds a permit.
    by_client: HashMap<RequestClient, usize>,
    sum: usize,
}

/// A permit, held until it is dropped.
pub struct QuotaPermit {
    quotas: Arc<ClientQuotas>,
    client: RequestClient,
}

impl ClientQuotas {
    /// `max` permits, of which a client may hold a share.
    pub fn new(
        what: &'static str,
        (setting, max): (&'static str, usize),
        share_percent: u32,
    ) -> Arc<Self> {
        let per_client_max = share(max, share_percent);
        Arc::new(Self { what, setting, max, per_client_max, held: Mutex::default() })
    }

    /// # Errors
    /// `overloaded`: all permits are held; `too_many_requests`: the client holds its share.
    pub fn take(self: &Arc<Self>, client: &RequestClient) -> Result<QuotaPermit, Problem> {
        let Self { what, setting, max, per_client_max, .. } = **self;
        let mut held = self.held.lock();
        if held.sum >= max {
            return Err(Problem::new(
                Code::Overloaded,
                format!("{max} {what} already ({setting})"),
            ));
        }
        let count = held.by_client.entry(client.clone()).or_default();
        if *count >= per_client_max {
            let detail = format!(
                "{per_client_max} {what} for this client already, its share (client_share_percent) \
                 of {setting}: a client is a key or, where none is needed, an address"
            );
            return Err(Problem::new(Code::TooManyRequests, detail));
        }
        *count += 1;
        held.sum += 1;
        drop(held);
        Ok(QuotaPermit { quotas: Arc::clone(self), client: client.clone() })
    }
}

impl Drop for QuotaPermit {
    fn drop(&mut self) {
        let mut held = self.quotas.held.lock();
        held.sum -= 1;
        let count = held.by_client.get_mut(&self.client).expect("whoever has a permit is counted");
        *count -= 1;
        if *count == 0 {
            held.by_client.remove(&self.client);
        }
    }
}

/// A share of `max`, rounded up, and at least one.
pub fn share(max: usize, percent: u32) -> usize {
    let share = (max as u64 * u64::from(percent)).div_ceil(100);
    usize::try_from(share).unwrap_or(max).clamp(1, max.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> RequestClient {
        RequestClient::Key(name.into())
    }

    #[test]
    fn a_client_holds_its_share_of_permits() {
        let quotas = ClientQuotas::new("requests run", ("requests_max", 3), 50);
        let is_share = |client: RequestClient| {
            let refused = quotas.take(&client).err();
            refused.is_some_and(|problem| {
                problem.code == Code::TooManyRequests && problem.detail.starts_with("2 requests")
            })
        };
        let first = quotas.take(&key("a")).ok().unwrap();
        let _second = quotas.take(&key("a")).ok().unwrap();
        assert!(is_share(key("a")));
        let other = quotas.take(&key("b")).ok().unwrap();
        let refused = quotas.take(&key("c")).err();
        assert_eq!(refused.unwrap().detail, "3 requests run already (requests_max)");
        drop(other);
        assert!(is_share(key("a")));
        drop(first);
        assert!(quotas.take(&key("a")).is_ok());
        assert_eq!(quotas.held.lock().by_client.len(), 1, "who holds none takes no memory");
    }

    #[test]
    fn a_share_is_rounded_up_and_never_nothing() {
        assert_eq!([(1, 50), (3, 50), (1024, 50)].map(|(max, of)| share(max, of)), [1, 2, 512]);
        assert_eq!([(4, 1), (4, 100), (0, 50)].map(|(max, of)| share(max, of)), [1, 4, 1]);
    }
}
