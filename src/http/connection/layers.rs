//! From a request that may pass to its answer: limits of number and time, and compressed bodies.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::http::header;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::background::turns;
use crate::budget::Purpose;
use crate::http::access::grant;
use crate::http::access::{Grant, Limits, RequestClient, Route};
use crate::http::connection::admission::Admission;
use crate::http::connection::holding;
use crate::http::connection::{compression, decompression};
use crate::http::problem::{Code, Problem};
use crate::http::request::NoParameters;
use crate::http::request::query;
use crate::http::{AppState, request_id};

/// Answers a request within the limits of its route, if there is a route.
pub async fn answer(
    state: &AppState,
    route: Option<&Route>,
    request: Request,
    next: Next,
) -> Response {
    let client = RequestClient::of(request.extensions());
    let is_compressed = request.headers().contains_key(header::ACCEPT_ENCODING);
    let revocable = request.extensions().get::<Grant>().cloned();
    let revocable = revocable.map(|grant| (grant, request_id::of(request.extensions())));
    let mut response = match route.filter(|route| route.limits != Limits::None) {
        None => next.run(request).await,
        Some(route) => {
            let answered = limited(state, route, client.clone(), request, next).await;
            answered.unwrap_or_else(|refused| refused)
        }
    };
    if let Some((grant, id)) = revocable {
        response = grant::revocable(grant, id, response);
    }
    if is_compressed { compression::reserved(state, &client, response) } else { response }
}

/// # Errors
/// The answer to a request that is refused while `requests_in_flight_max` requests are in flight,
/// because of a parameter where there is none, or because of the encoding of its body.
async fn limited(
    state: &AppState,
    route: &Route,
    client: RequestClient,
    request: Request,
    next: Next,
) -> Result<Response, Response> {
    if let Some(query) = request.uri().query().filter(|_| !route.takes_query()) {
        query::read::<NoParameters>(query).map_err(IntoResponse::into_response)?;
    }
    let client_id = client.id();
    let admission = Admission::of(state, client).map_err(IntoResponse::into_response)?;
    let plain = decompression::decompressed(state, &admission.share, request);
    let mut request = plain.map_err(|refusal| *refusal)?;
    // The memory that extractors reserve is held until there is an answer.
    let memory = state.budget.reservation(Purpose::Bodies).of_client(Arc::clone(&admission.share));
    let memory = Arc::new(memory.with_cost_of_each(state.settings.request_cost_max));
    request.extensions_mut().insert(Arc::clone(&memory));
    request.extensions_mut().insert(Arc::clone(&admission));
    let grant = request.extensions().get().cloned();
    let answering = turns::on_behalf_of(client_id, next.run(request));
    let limit_ms = state.settings.request_timeout_ms;
    let response = match route.limits {
        Limits::NumberAndTime => {
            let answered = tokio::time::timeout(Duration::from_millis(limit_ms), answering).await;
            answered.unwrap_or_else(|_| {
                let detail = format!("no answer within the {limit_ms} ms of request_timeout_ms");
                Problem::new(Code::TimedOut, detail).into_response()
            })
        }
        // It ends with its key.
        Limits::None | Limits::Number => tokio::select! {
            response = answering => response,
            problem = grant::ended(grant) => problem.into_response(),
        },
    };
    if response.body().size_hint().exact().is_some() {
        return Ok(response);
    }
    // A streamed answer makes work until its end.
    Ok(response.map(|body| Body::new(holding(body, admission))))
}
