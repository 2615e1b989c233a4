//! Counts and logs each request, and renders every error as a problem, a panic as well.

use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use tower_http::request_id::RequestId;
use tracing::Instrument;
use tracing::field::Empty;

use crate::http::access::{Caller, headers};
use crate::http::connection::holding;
use crate::http::connection::trace;
use crate::http::problem::Problem;
use crate::http::{AppState, problem, request_id};

/// Requested every few seconds by machines, so they are logged at `debug`.
const PROBES: [&str; 3] = ["/healthz", "/readyz", "/metrics"];

pub async fn observe(State(state): State<AppState>, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let trace_id = trace::trace_id(request.headers()).map(Box::<str>::from);
    let id = request_id::give(&mut request);
    let request_id = request_id::text(&id);
    let (method, version) = (method_label(request.method()), request.version());
    let route = request.extensions().get::<MatchedPath>().cloned();
    let span =
        tracing::info_span!("request", request_id, trace_id = trace_id.as_deref(), key = Empty);

    let in_flight = RequestInFlight::enter();
    let answering = AssertUnwindSafe(next.run(request)).catch_unwind().instrument(span);
    // A panic is a fault of the server; the panic hook has printed its message.
    let response = answering.await.unwrap_or_else(|_| problem::internal().into_response());
    let caller = response.extensions().get::<Caller>().cloned().unwrap_or_default();
    let mut response = problem::render(response, request_id);
    response.headers_mut().insert(request_id::HEADER, id.header_value().clone());
    headers::protect(response.headers_mut());
    if state.is_stopping() {
        // So that the client goes elsewhere, and has no request under way when the server closes.
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        // To a reply of HTTP/1.1 hyper adds `keep-alive`, if a client of HTTP/1.0 asks for it.
        *response.version_mut() = version;
    }

    let status = response.status();
    let problem = response.extensions_mut().remove();
    let observed =
        Observed { state, id, trace_id, caller, method, route, status, problem, started };
    response.map(|body| Body::new(holding(body, (observed, in_flight))))
}

/// A request with an answer that has begun. It is counted and logged when the answer ends, or
/// breaks off: an import is answered while its documents arrive, and its head says nothing of its
/// time.
struct Observed {
    state: AppState,
    id: RequestId,
    trace_id: Option<Box<str>>,
    caller: Caller,
    method: &'static str,
    route: Option<MatchedPath>,
    status: StatusCode,
    problem: Option<Problem>,
    started: Instant,
}

impl Drop for Observed {
    fn drop(&mut self) {
        let took = self.started.elapsed();
        let request_id = request_id::text(&self.id);
        let route = self.route.as_ref().map_or("unmatched", MatchedPath::as_str);
        self.log(request_id, route, took);
        let status = self.status.as_u16();
        self.state.request_series.answered(self.method, route, status, took);
    }
}

/// A line of the log, with the same fields at each level.
macro_rules! line {
    ($observed:ident, $level:ident, $message:literal, $request_id:ident, $route:ident, $took:ident,
     $left_out:ident) => {{
        let problem = $observed.problem.as_ref();
        tracing::$level!(
            request_id = $request_id,
            trace_id = $observed.trace_id.as_deref(),
            key = $observed.caller.name(),
            method = $observed.method,
            route = $route,
            status = $observed.status.as_u16(),
            took_us = $took.as_micros() as u64,
            code = problem.map(|problem| problem.code.facts().0),
            detail = problem.and_then(Problem::logged_detail),
            left_out = $left_out,
            $message
        )
    }};
}

impl Observed {
    fn log(&self, request_id: &str, route: &str, took: Duration) {
        if PROBES.contains(&route) {
            let left_out = None::<u64>;
            return line!(self, debug, "request", request_id, route, took, left_out);
        }
        let line = self.state.request_log.get().map(|log| log.line(route, self.status, took));
        let Some(left_out) = line.unwrap_or(Some(0)) else { return };
        let left_out = Some(left_out).filter(|lines| *lines > 0);
        match self.status.as_u16() {
            500 => line!(self, error, "request failed", request_id, route, took, left_out),
            501.. => line!(self, warn, "request refused", request_id, route, took, left_out),
            _ => line!(self, info, "request", request_id, route, took, left_out),
        }
    }
}

/// The method as a label. Methods that clients make up share one label, because each label is a
/// series.
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
struct RequestInFlight;

impl RequestInFlight {
    fn enter() -> Self {
        metrics::gauge!("akin_http_requests_in_flight").increment(1);
        Self
    }
}

impl Drop for RequestInFlight {
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
