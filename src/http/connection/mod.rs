//! Around requests: connections, limits of time and number, counters and logs.

pub mod admission;
pub mod compression;
pub mod decompression;
pub mod layers;
mod lingering;
pub mod observe;
mod open;
pub mod request_log;
pub mod serve;
pub mod tls;
pub mod trace;

use axum::body::{Body, Bytes, HttpBody};
use http_body_util::BodyExt;

/// A body; `held` is dropped with it, once its last byte is taken or its reader has gone.
fn holding<T>(body: Body, held: T) -> impl HttpBody<Data = Bytes, Error = axum::Error> {
    body.map_err(move |error| {
        let _held = &held;
        error
    })
}
