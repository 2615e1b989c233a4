//! What stands between a client and the handlers: limits of time and number, and panics caught.

use std::any::Any;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::sync::SemaphorePermit;

use crate::http::AppState;
use crate::http::problem::code::Code;
use crate::http::problem::{self, Problem};

/// Refuses what comes while `requests_in_flight_max` others are worked on, and gives up on what
/// takes longer than `request_timeout_ms`.
pub async fn limit(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let _permit = match leave(&state) {
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

/// Refuses as [`limit`] does, and leaves what is let in its time.
pub async fn limit_number(State(state): State<AppState>, request: Request, next: Next) -> Response {
    match leave(&state) {
        Ok(_permit) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

fn leave(state: &AppState) -> Result<SemaphorePermit<'_>, Problem> {
    state.requests.try_acquire().map_err(|_| {
        let max = state.settings.requests_in_flight_max;
        let detail = format!("{max} requests are being worked on already");
        Problem::new(Code::Overloaded, detail)
    })
}

/// A handler that panics is a fault of the server's; the panic hook has printed its message.
pub fn panicked(_panic: Box<dyn Any + Send>) -> Response {
    problem::internal().into_response()
}
