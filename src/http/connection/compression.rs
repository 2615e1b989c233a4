//! Compressed answers.
//!
//! An encoder takes megabytes until the last byte of its answer is read, so they are reserved.
//! Where the budget has no room for them, the answer is sent uncompressed.

use axum::body::Body;
use axum::http::{Extensions, HeaderMap, StatusCode, Version};
use axum::response::Response;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{DefaultPredicate, Predicate};

use crate::budget::Purpose;
use crate::http::AppState;
use crate::http::access::RequestClient;
use crate::http::connection::holding;

/// Of zstd at its usual level: a window of 2 MiB, tables and blocks. gzip takes a tenth of it.
const ENCODER_BYTES: usize = 4 << 20;

/// Marks an answer that is sent as it is.
#[derive(Clone)]
struct Uncompressed;

/// Compresses the answers for which [`reserved`] has found memory.
pub fn layer() -> CompressionLayer<impl Predicate> {
    let is_reserved = |_: StatusCode, _: Version, _: &HeaderMap, extensions: &Extensions| {
        extensions.get::<Uncompressed>().is_none()
    };
    CompressionLayer::new().compress_when(DefaultPredicate::new().and(is_reserved))
}

/// Reserves the memory of an encoder until the end of the answer to a client.
pub fn reserved(state: &AppState, client: &RequestClient, mut response: Response) -> Response {
    if !DefaultPredicate::new().should_compress(&response) {
        return response;
    }
    let share = state.client_share(client);
    let memory = state.budget.reservation(Purpose::Answers).of_client(share);
    if memory.grow(ENCODER_BYTES).is_err() {
        response.extensions_mut().insert(Uncompressed);
        return response;
    }
    response.map(|body| Body::new(holding(body, memory)))
}
