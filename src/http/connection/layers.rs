//! Layers around the handlers: limits of time and number, and panics caught.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::sync::SemaphorePermit;

use crate::budget::Purpose;
use crate::http::AppState;
use crate::http::problem::code::Code;
use crate::http::problem::{self, Problem};

/// Refuses requests while `requests_in_flight_max` others are in flight, and those that take longer
/// than `request_timeout_ms`.
pub async fn limit(State(state): State<AppState>, mut request: Request, next: Next) -> Response {
    // What extractors reserve is held until there is an answer.
    let memory = Arc::new(state.budget.reservation(Purpose::Bodies));
    request.extensions_mut().insert(Arc::clone(&memory));
    let _permit = match permit(&state) {
        Ok(permit) => permit,
        Err(problem) => return problem.into_response(),
    };
    let limit_ms = state.settings.request_timeout_ms;
    let timeout = Duration::from_millis(limit_ms);
    let answered = tokio::time::timeout(timeout, next.run(request)).await;
    answered.unwrap_or_else(|_| {
        let detail = format!("no answer within the {limit_ms} ms of request_timeout_ms");
        Problem::new(Code::TimedOut, detail).into_response()
    })
}

/// Limits the number of requests as [`limit`] does, but not their time.
pub async fn limit_number(State(state): State<AppState>, request: Request, next: Next) -> Response {
    match permit(&state) {
        Ok(_permit) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

fn permit(state: &AppState) -> Result<SemaphorePermit<'_>, Problem> {
    state.requests.try_acquire().map_err(|_| {
        let max = state.settings.requests_in_flight_max;
        let detail = format!("{max} requests are in flight already (requests_in_flight_max)");
        Problem::new(Code::Overloaded, detail)
    })
}

/// A panic in a handler is a fault of the server; the panic hook has printed its message.
pub fn panicked(_panic: Box<dyn Any + Send>) -> Response {
    problem::internal().into_response()
}
