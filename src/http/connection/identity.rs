//! The outermost layer: gives each request its id, counts and logs it, and sees to it that every
//! error leaves as a problem.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use axum::extract::{MatchedPath, Request, State};
use axum::http::{Extensions, HeaderMap, HeaderName, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::Response;
use tracing::Instrument;
use uuid::{Builder, Uuid};

use crate::http::{AppState, problem};

const HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// The longest id taken over from a request, in bytes.
const BYTES_MAX: usize = 128;

/// What a request goes by in its response, in problems and in the log: visible ASCII.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestId(Arc<str>);

impl RequestId {
    /// The id that the request brings, or a new UUIDv7 if it brings none that can be logged.
    pub fn of(headers: &HeaderMap) -> Self {
        let brought = headers.get(&HEADER).and_then(|value| value.to_str().ok());
        match brought.filter(|id| is_sane(id)) {
            Some(id) => Self(id.into()),
            None => Self::new(),
        }
    }

    fn new() -> Self {
        let mut text = Uuid::encode_buffer();
        Self(Arc::from(&*new_uuid().hyphenated().encode_lower(&mut text)))
    }

    /// The id that [`observe`] gave the request with these extensions.
    pub fn given_to(extensions: &Extensions) -> Self {
        extensions.get().cloned().expect("every request passes observe first")
    }

    fn header(&self) -> HeaderValue {
        HeaderValue::from_str(&self.0).expect("an id is visible ASCII")
    }
}

/// A UUIDv7. Its random bits are a hash of a counter, keyed once: to ask the system for some would
/// be a system call a request.
fn new_uuid() -> Uuid {
    static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    static MADE: AtomicU64 = AtomicU64::new(0);
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    let mut random = [0; 10];
    random[..8].copy_from_slice(&KEY.hash_one(number).to_le_bytes());
    random[8..].copy_from_slice(&KEY.hash_one(!number).to_le_bytes()[..2]);
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Builder::from_unix_timestamp_millis(since_epoch.as_millis() as u64, &random).into_uuid()
}

fn is_sane(id: &str) -> bool {
    (1..=BYTES_MAX).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic())
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

pub async fn observe(State(state): State<AppState>, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let request_id = RequestId::of(request.headers());
    request.extensions_mut().insert(request_id.clone());
    let method = method_label(request.method());
    let route = request.extensions().get::<MatchedPath>().cloned();
    let route = route.as_ref().map_or("unmatched", MatchedPath::as_str);
    let span = tracing::info_span!("request", %request_id);

    let _in_flight = InFlight::enter();
    let response = next.run(request).instrument(span).await;
    let mut response = problem::render(response, &request_id);
    response.headers_mut().insert(HEADER, request_id.header());

    let (status, took) = (response.status().as_u16(), started.elapsed());
    let took_us = took.as_micros() as u64;
    tracing::info!(%request_id, method, route, status, took_us, "request");
    state.measures.answered(method, route, status, took);
    response
}

/// The method, but for those that a client made up: a metric must not have a label for each.
fn method_label(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::DELETE => "DELETE",
        Method::HEAD => "HEAD",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

/// Counts a request in until it is dropped, answered or abandoned.
struct InFlight;

impl InFlight {
    fn enter() -> Self {
        metrics::gauge!("akin_http_requests_in_flight").increment(1);
        Self
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        metrics::gauge!("akin_http_requests_in_flight").decrement(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(id: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(HEADER, HeaderValue::from_static(id))])
    }

    #[test]
    fn a_sane_id_is_taken_over() {
        assert_eq!(RequestId::of(&headers("trace-7/a")).to_string(), "trace-7/a");
    }

    #[test]
    fn any_other_is_replaced() {
        let long = "x".repeat(BYTES_MAX + 1);
        assert!(!is_sane(&long) && is_sane(&long[1..]));
        for id in ["", "two words", "tab\there"] {
            let made = RequestId::of(&headers(id)).to_string();
            assert!(Uuid::parse_str(&made).is_ok(), "{id:?} became {made:?}");
        }
        assert!(Uuid::parse_str(&RequestId::of(&HeaderMap::new()).to_string()).is_ok());
    }

    #[test]
    fn made_up_methods_share_a_label() {
        assert_eq!(method_label(&Method::from_bytes(b"BREW").unwrap()), "other");
        assert_eq!(method_label(&Method::DELETE), "DELETE");
    }
}
