//! Layers around the handlers: limits of time and number, and panics caught.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::background::turns;
use crate::budget::Purpose;
use crate::http::AppState;
use crate::http::access::grant;
use crate::http::connection::admission::Admission;
use crate::http::connection::holding::HoldingBody;
use crate::http::problem::code::Code;
use crate::http::problem::{self, Problem};

/// Refuses a request while `requests_in_flight_max` requests are in flight, and ends a request that
/// takes longer than `request_timeout_ms`.
pub async fn limit(State(state): State<AppState>, mut request: Request, next: Next) -> Response {
    let admission = match Admission::of(&state, request.extensions()) {
        Ok(admission) => admission,
        Err(problem) => return problem.into_response(),
    };
    // The memory that extractors reserve is held until there is an answer.
    let share = state.client_share(admission.client());
    let memory = Arc::new(state.budget.reservation(Purpose::Bodies).of_client(share));
    request.extensions_mut().insert(Arc::clone(&memory));
    request.extensions_mut().insert(Arc::clone(&admission));
    let limit_ms = state.settings.request_timeout_ms;
    let timeout = Duration::from_millis(limit_ms);
    let answering = turns::on_behalf_of(admission.client().id(), next.run(request));
    let answered = tokio::time::timeout(timeout, answering).await;
    let response = answered.unwrap_or_else(|_| {
        let detail = format!("no answer within the {limit_ms} ms of request_timeout_ms");
        Problem::new(Code::TimedOut, detail).into_response()
    });
    in_flight_while_streamed(response, admission)
}

/// Limits the number of requests as [`limit`] does, but not their time: they end with their key.
pub async fn limit_number(
    State(state): State<AppState>,
    mut request: Request,
    next: Next,
) -> Response {
    let admission = match Admission::of(&state, request.extensions()) {
        Ok(admission) => admission,
        Err(problem) => return problem.into_response(),
    };
    request.extensions_mut().insert(Arc::clone(&admission));
    let ended = grant::ended(request.extensions().get().cloned());
    let response = tokio::select! {
        response = turns::on_behalf_of(admission.client().id(), next.run(request)) => response,
        problem = ended => problem.into_response(),
    };
    in_flight_while_streamed(response, admission)
}

/// A streamed answer makes work until its end.
fn in_flight_while_streamed(response: Response, admission: Arc<Admission>) -> Response {
    if response.body().size_hint().exact().is_some() {
        return response;
    }
    response.map(|body| Body::new(HoldingBody::new(body, admission)))
}

/// A panic in a handler is a fault of the server; the panic hook has printed its message.
pub fn panicked(_panic: Box<dyn Any + Send>) -> Response {
    problem::internal().into_response()
}
