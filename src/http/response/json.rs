//! An answer as JSON.

use std::io;

use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use serde::Serialize;

use crate::budget::Reservation;
use crate::http::bulk::ndjson;
use crate::http::problem::code::Code;
use crate::http::problem::{self, Problem};

/// Bytes of most answers.
const USUAL_BYTES: usize = 1024;

/// Like axum's `Json`, but errors are problems, and it writes into a plain vector, in about half
/// the time.
pub struct Json<T>(pub T);

/// JSON whose memory is reserved until it was sent.
pub struct CountedJson<T, M = Reservation>(pub T, pub M);

/// JSON whose memory is reserved while it is written, until it was sent. What the value itself
/// takes is for the caller to reserve.
pub struct ReservedJson<T>(pub T, pub Reservation);

/// NDJSON whose memory is reserved until it was sent.
pub struct CountedLines<T>(pub Vec<T>, pub Reservation);

/// The bytes of an answer, with their reservation.
struct Counted<M> {
    body: Vec<u8>,
    _memory: M,
}

impl<M> AsRef<[u8]> for Counted<M> {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

impl<T: Serialize, M: Send + 'static> IntoResponse for CountedJson<T, M> {
    fn into_response(self) -> Response {
        let Self(value, memory) = self;
        response(&value, |body| Bytes::from_owner(Counted { body, _memory: memory }))
    }
}

impl<T: Serialize> IntoResponse for CountedLines<T> {
    fn into_response(self) -> Response {
        let Self(values, memory) = self;
        let mut body = Vec::with_capacity(USUAL_BYTES);
        for value in &values {
            ndjson::write_line(&mut body, value);
        }
        let body = Bytes::from_owner(Counted { body, _memory: memory });
        ([(header::CONTENT_TYPE, ndjson::MEDIA)], body).into_response()
    }
}

/// A vector that grows by doubling, within a reservation.
struct Growing {
    body: Vec<u8>,
    memory: Reservation,
}

impl io::Write for Growing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (needed, capacity) = (self.body.len() + bytes.len(), self.body.capacity());
        if needed > capacity {
            let larger = needed.max(2 * capacity);
            // The smaller one is there until its bytes have been moved.
            self.memory.grow(larger).map_err(io::Error::other)?;
            self.body.reserve_exact(larger - self.body.len());
        }
        self.body.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<T: Serialize> IntoResponse for ReservedJson<T> {
    fn into_response(self) -> Response {
        let Self(value, memory) = self;
        let mut growing = Growing { body: Vec::with_capacity(USUAL_BYTES), memory };
        match serde_json::to_writer(&mut growing, &value) {
            Ok(()) => {
                let Growing { body, memory } = growing;
                let body = Bytes::from_owner(Counted { body, _memory: memory });
                ([(header::CONTENT_TYPE, "application/json")], body).into_response()
            }
            Err(error) if error.is_io() => {
                Problem::new(Code::MemoryBudgetExhausted, error.to_string()).into_response()
            }
            Err(error) => unwritten(&error),
        }
    }
}

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        response(&self.0, Bytes::from)
    }
}

fn response(value: &impl Serialize, counted: impl FnOnce(Vec<u8>) -> Bytes) -> Response {
    let mut body = Vec::with_capacity(USUAL_BYTES);
    match serde_json::to_writer(&mut body, value) {
        Ok(()) => ([(header::CONTENT_TYPE, "application/json")], counted(body)).into_response(),
        Err(error) => unwritten(&error),
    }
}

fn unwritten(error: &serde_json::Error) -> Response {
    tracing::error!(%error, "an answer cannot be written as JSON");
    problem::internal().into_response()
}
