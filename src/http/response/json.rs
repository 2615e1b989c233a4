//! An answer as JSON.

use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::http::problem;

/// Bytes of most answers.
const USUAL_BYTES: usize = 1024;

/// Like axum's, but that what goes wrong is a problem as everywhere, and that it writes into a
/// plain vector, which takes a good half of the time.
pub struct Json<T>(pub T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        let mut body = Vec::with_capacity(USUAL_BYTES);
        match serde_json::to_writer(&mut body, &self.0) {
            Ok(()) => ([(header::CONTENT_TYPE, "application/json")], body).into_response(),
            Err(error) => {
                tracing::error!(%error, "an answer is no JSON");
                problem::internal().into_response()
            }
        }
    }
}
