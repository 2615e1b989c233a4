//! Results with the time that they took.

use std::sync::Arc;
use std::time::Instant;

use axum::response::Response;
use serde::Serialize;

use crate::background::request;
use crate::budget::Reservation;
use crate::engine::EngineError;
use crate::http::problem::Problem;
use crate::http::response::Bounded;
use crate::http::response::reply;
use akin_model::timed::Timed;

impl<T: Bounded> Bounded for Timed<T> {}

/// Answers with the result of `work` and how long it took, with memory and work counted for the
/// request.
pub async fn timed_within<T: Serialize>(
    memory: Reservation,
    work: impl Future<Output = Result<T, EngineError>>,
) -> Result<Response, Problem> {
    let (started, memory) = (Instant::now(), Arc::new(memory));
    let result = request::within(Some(Arc::clone(&memory)), work).await?;
    reply::json(&Timed::new(result, started.elapsed()), Some(memory))
}
