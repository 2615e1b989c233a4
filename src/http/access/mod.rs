//! Access: the hosts that are served, the web pages that may send requests, and the permissions of
//! keys.
//!
//! Every request passes [`guard`] before it reaches a handler. The needs of a route are named where
//! the route is registered ([`routes`]).

pub mod grant;
pub mod headers;
pub mod hosts;
pub mod key;
pub mod key_file;
pub mod key_ring;
pub mod origin;
mod pattern;
pub mod quotas;
pub mod rates;
pub mod routes;

pub use grant::{EndsByItself, Grant};
pub use key::{Action, ApiKey};
pub use key_ring::KeyRing;
pub use quotas::{ClientQuotas, QuotaPermit, RequestClient};
pub use routes::{Limits, Needs, Route, Table};

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tracing::Span;

use crate::engine::CollectionName;
use crate::http::AppState;
use crate::http::connection::layers;
use crate::http::problem::{Code, Problem};
use crate::http::request::in_path;
use akin_files::input::name_of;

/// The other end of the connection of a request.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    pub address: IpAddr,
    pub room: ConnectionRoom,
}

/// The room for a connection when it was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionRoom {
    Open,
    /// All connections are busy. This is one of the reserve, which answers probes alone.
    AllAreBusy,
    /// The address has its share of the connections. This is one of the reserve, too.
    ShareIsTaken,
}

/// The key that a request was sent with; `None` if it needed none.
#[derive(Clone, Default)]
pub struct Caller(Option<Arc<ApiKey>>);

impl Caller {
    /// The key's name.
    pub fn name(&self) -> Option<&str> {
        self.0.as_ref().map(|key| key.name.as_str())
    }

    /// Whether it may know of the collection.
    pub fn covers(&self, collection: &CollectionName) -> bool {
        self.0.as_ref().is_none_or(|key| key.covers(collection.as_str()))
    }

    /// For a part of a call that needs an action of its own, such as a sketch in an answer.
    ///
    /// # Errors
    /// `not_permitted`
    pub fn permits(&self, action: Action) -> Result<(), Problem> {
        self.0.as_ref().map_or(Ok(()), |key| permits(key, Needs::Anywhere(action), None))
    }

    /// The key, if it is limited to some collections.
    pub fn limited(&self) -> Option<&ApiKey> {
        self.0.as_deref().filter(|key| !key.covers_all())
    }
}

impl FromRequestParts<AppState> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, Problem> {
        Ok(parts.extensions.get::<Self>().cloned().expect("`guard` has let the request pass"))
    }
}

/// Lets a request pass if the end of its body is certain, it names this server, comes from no
/// foreign web page, and its key permits the action of its route.
pub async fn guard(
    State((state, table)): State<(AppState, Arc<Table>)>,
    request: Request,
    next: Next,
) -> Response {
    let (mut parts, body) = request.into_parts();
    let mut caller = Caller::default();
    let route = parts.extensions.get::<MatchedPath>();
    // Where there is no route there is nothing to protect.
    let route = route.and_then(|path| table.route(path.as_str(), &parts.method));
    let needs = route.map(|route| route.needs);
    let mut response = match authorize(&state, needs, &mut parts, &mut caller).await {
        Ok(()) => {
            parts.extensions.insert(caller.clone());
            layers::answer(&state, route, Request::from_parts(parts, body), next).await
        }
        Err(problem) => problem.into_response(),
    };
    if caller.0.is_some() {
        response.extensions_mut().insert(caller);
    }
    response
}

/// Refuses preflights of pages that may not send the request.
pub async fn guard_preflight(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    if *request.method() != Method::OPTIONS {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    let allowed = &state.settings.cors_origins;
    let checked = state
        .hosts
        .check(&parts)
        .and_then(|host| origin::check_preflight(&parts.headers, &host, allowed));
    match checked {
        Ok(()) => next.run(Request::from_parts(parts, body)).await,
        Err(problem) => problem.into_response(),
    }
}

/// Sets `caller` once the key is known, also if it does not permit the request.
async fn authorize(
    state: &AppState,
    needs: Option<Needs>,
    parts: &mut Parts,
    caller: &mut Caller,
) -> Result<(), Problem> {
    check_framing(&parts.headers)?;
    let host = state.hosts.check(parts)?;
    // Browsers name the origin of a page with its scripts, too: without them, the console could not
    // say that its calls are refused.
    if needs != Some(Needs::Nothing) {
        origin::check(&parts.headers, &host, &state.settings.cors_origins)?;
    }
    let needs = match needs {
        Some(Needs::NothingAtAnyRate) => return Ok(()),
        needs => needs,
    };
    limit(state, parts, needs)?;
    let needs = match needs {
        None | Some(Needs::Nothing) => return Ok(()),
        Some(Needs::Metrics) if state.settings.metrics_open => return Ok(()),
        Some(needs) => needs,
    };
    // Before the key is looked up, so that no change of the keys is missed.
    let keys = state.keys.watch();
    let Some(key) = state.keys.identify(&parts.headers)? else { return Ok(()) };
    Span::current().record("key", key.name.as_str());
    *caller = Caller(Some(Arc::clone(&key)));
    let rates = state.rate_per_key.as_ref().filter(|_| !is_local_probe(parts, needs));
    if rates.is_some_and(|rates| !rates.take(&key.name)) {
        let detail = format!(
            "the key '{}' has sent more than {} requests per second (rate_per_key)",
            key.name, state.settings.rate_per_key
        );
        return Err(Problem::new(Code::TooManyRequests, detail));
    }
    let collection = match needs {
        Needs::In(_) => {
            let named = in_path(parts, "collection").await?;
            Some(named.unwrap_or_else(|| CollectionName::default().to_string()))
        }
        _ => None,
    };
    permits(&key, needs, collection.as_deref())?;
    parts.extensions.insert(Grant::new(key, needs, collection.as_deref(), keys));
    Ok(())
}

/// hyper takes any list of transfer codings that ends in `chunked`; a proxy in front may see the
/// end of the same body elsewhere, and then the bytes of a client become the request of another
/// client.
///
/// # Errors
/// `malformed_request`: the transfer coding is another than `chunked`, or it is given twice.
fn check_framing(headers: &HeaderMap) -> Result<(), Problem> {
    let mut codings = headers.get_all(header::TRANSFER_ENCODING).iter();
    let Some(coding) = codings.next() else { return Ok(()) };
    if coding.as_bytes().eq_ignore_ascii_case(b"chunked") && codings.next().is_none() {
        return Ok(());
    }
    Err(Problem::new(Code::MalformedRequest, "Transfer-Encoding must be chunked, and given once"))
}

/// A supervisor on this machine reads the metrics.
fn is_local_probe(parts: &Parts, needs: Needs) -> bool {
    let peer = parts.extensions.get::<Peer>();
    needs == Needs::Metrics && peer.is_some_and(|peer| peer.address.to_canonical().is_loopback())
}

/// Limits the requests of an address, and keeps the reserve of connections for probes.
///
/// # Errors
/// `overloaded`, `too_many_requests`
fn limit(state: &AppState, parts: &Parts, needs: Option<Needs>) -> Result<(), Problem> {
    let Some(peer) = parts.extensions.get::<Peer>() else { return Ok(()) };
    let max = state.settings.connections_max;
    match peer.room {
        _ if needs == Some(Needs::Metrics) => {}
        ConnectionRoom::Open => {}
        ConnectionRoom::AllAreBusy => {
            let detail = format!("{max} connections are busy (connections_max)");
            return Err(Problem::new(Code::Overloaded, detail));
        }
        ConnectionRoom::ShareIsTaken => {
            let share = quotas::share(max, state.settings.client_share_percent);
            let detail = format!(
                "{share} connections of this address are busy, its share (client_share_percent) of \
                 connections_max"
            );
            return Err(Problem::new(Code::TooManyRequests, detail));
        }
    }
    if needs.is_some_and(|needs| is_local_probe(parts, needs)) {
        return Ok(());
    }
    let rates = state.rate_per_address.as_ref();
    if rates.is_some_and(|rates| !rates.take(rates::network(peer.address))) {
        let detail = format!(
            "{} has sent more than {} requests per second (rate_per_address)",
            peer.address, state.settings.rate_per_address
        );
        return Err(Problem::new(Code::TooManyRequests, detail));
    }
    Ok(())
}

/// # Errors
/// `not_permitted`
pub(super) fn permits(key: &ApiKey, needs: Needs, collection: Option<&str>) -> Result<(), Problem> {
    let refused = |what: String| {
        let detail = format!("the key '{}' does not permit {what}", key.name);
        Err(Problem::new(Code::NotPermitted, detail))
    };
    let action = match needs {
        Needs::Nothing | Needs::NothingAtAnyRate => return Ok(()),
        Needs::Metrics => Action::Metrics,
        Needs::In(action) | Needs::InAll(action) | Needs::Anywhere(action) => action,
    };
    if !key.permits(action) {
        return refused(format!("the action `{}`", name_of(&action)));
    }
    match needs {
        Needs::InAll(_) if !key.covers_all() => {
            refused("this: it needs a key for all collections (`--collections '*'`)".to_owned())
        }
        Needs::In(_) => match collection {
            Some(name) if !key.covers(name) => {
                refused(format!("anything in the collection '{name}'"))
            }
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}
