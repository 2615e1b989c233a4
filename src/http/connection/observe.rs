//! Counts and logs each request, and renders every error as a problem.

use std::time::{Instant, SystemTime};

use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;
use tower_http::request_id::RequestId;
use tracing::Instrument;
use tracing::field::Empty;

use crate::http::access::{Caller, headers};
use crate::http::connection::holding::HoldingBody;
use crate::http::connection::trace::{Context, Span};
use crate::http::{AppState, problem, request_id};

/// Requested every few seconds by machines, so they are logged at `debug`.
const PROBES: [&str; 3] = ["/healthz", "/readyz", "/metrics"];

pub async fn observe(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let (started, began) = (Instant::now(), SystemTime::now());
    let context = state.tracer.get().and_then(|tracer| tracer.begin(request.headers()));
    let id = request_id::of(request.extensions());
    let request_id = request_id::text(&id);
    let method = method_label(request.method());
    let route = request.extensions().get::<MatchedPath>().cloned();
    let span = tracing::info_span!("request", request_id, key = Empty);

    let in_flight = InFlight::enter();
    let response = next.run(request).instrument(span).await;
    let caller = response.extensions().get::<Caller>().cloned().unwrap_or_default();
    let mut response = problem::render(response, request_id);
    headers::protect(response.headers_mut());

    let status = response.status().as_u16();
    let observed = Observed { state, id, caller, method, route, status, started, began, context };
    response.map(|body| Body::new(HoldingBody::new(body, (observed, in_flight))))
}

/// A request with an answer that has begun. It is counted and logged when the answer ends, or
/// breaks off: an import is answered while its documents arrive, and its head says nothing of its
/// time.
struct Observed {
    state: AppState,
    id: RequestId,
    caller: Caller,
    method: &'static str,
    route: Option<MatchedPath>,
    status: u16,
    started: Instant,
    began: SystemTime,
    context: Option<Context>,
}

impl Drop for Observed {
    fn drop(&mut self) {
        let Self { state, method, status, began, .. } = self;
        let (method, status, took) = (*method, *status, self.started.elapsed());
        let request_id = request_id::text(&self.id);
        let route = self.route.as_ref().map_or("unmatched", MatchedPath::as_str);
        let (key, took_us) = (self.caller.name(), took.as_micros() as u64);
        match PROBES.contains(&route) {
            true => tracing::debug!(request_id, key, method, route, status, took_us, "request"),
            false => tracing::info!(request_id, key, method, route, status, took_us, "request"),
        }
        if let (Some(tracer), Some(context)) = (state.tracer.get(), self.context.take()) {
            let (route, request_id) = (route.to_owned(), request_id.to_owned());
            tracer.end(Span { context, method, route, status, request_id, began: *began, took });
        }
        state.request_series.answered(method, route, status, took);
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
