//! Counts and logs each request, and renders every error as a problem.

use std::time::{Instant, SystemTime};

use axum::extract::{MatchedPath, Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;
use tracing::Instrument;
use tracing::field::Empty;

use crate::http::access::{Caller, headers};
use crate::http::connection::trace::Span;
use crate::http::{AppState, problem, request_id};

/// Requested every few seconds by machines, so they are logged at `debug`.
const PROBES: [&str; 3] = ["/healthz", "/readyz", "/metrics"];

pub async fn observe(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let (started, began) = (Instant::now(), SystemTime::now());
    let tracer = state.tracer.get();
    let context = tracer.and_then(|tracer| tracer.begin(request.headers()));
    let id = request_id::of(request.extensions());
    let request_id = request_id::text(&id);
    let method = method_label(request.method());
    let route = request.extensions().get::<MatchedPath>().cloned();
    let route = route.as_ref().map_or("unmatched", MatchedPath::as_str);
    let span = tracing::info_span!("request", request_id, key = Empty);

    let _in_flight = InFlight::enter();
    let response = next.run(request).instrument(span).await;
    let caller = response.extensions().get::<Caller>().cloned().unwrap_or_default();
    let mut response = problem::render(response, request_id);
    headers::protect(response.headers_mut());

    let (status, took) = (response.status().as_u16(), started.elapsed());
    let took_us = took.as_micros() as u64;
    let key = caller.name();
    match PROBES.contains(&route) {
        true => tracing::debug!(request_id, key, method, route, status, took_us, "request"),
        false => tracing::info!(request_id, key, method, route, status, took_us, "request"),
    }
    if let (Some(tracer), Some(context)) = (tracer, context) {
        let (route, request_id) = (route.to_owned(), request_id.to_owned());
        tracer.end(Span { context, method, route, status, request_id, began, took });
    }
    state.request_series.answered(method, route, status, took);
    response
}

/// The method as a label. Those that clients make up share one, as each would be a series.
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

/// Counts a request as in flight until it is answered or abandoned.
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

    #[test]
    fn made_up_methods_share_a_label() {
        assert_eq!(method_label(&Method::from_bytes(b"BREW").unwrap()), "other");
        assert_eq!(method_label(&Method::DELETE), "DELETE");
    }
}
