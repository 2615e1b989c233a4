//! An answer as JSON.
//!
//! There are three kinds, by what bounds the size of the answer: [`Json`] for replies of a fixed
//! size, [`ReservedJson`] for replies whose JSON is counted in the memory of the request while it
//! is written, and [`CountedJson`] for replies whose JSON was reserved before. Lists are written by
//! [`super::pieces`] while they are sent.

use std::{io, mem};

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use serde::Serialize;

use crate::budget::{Exhausted, Reservation};
use crate::http::problem::{self, Problem};

pub const JSON: &str = "application/json";

/// Bytes of most answers.
const USUAL_BYTES: usize = 1024;

/// A chunk of a large answer has so many bytes.
const CHUNK_BYTES: usize = 64 << 10;

/// A reply whose size is bounded by settings and constants. Neither documents nor ids nor
/// parameters of a request make it grow, so its memory is not counted.
pub trait Bounded: Serialize {}

/// Like axum's `Json`, but errors are problems, and it writes into a plain vector, in about half
/// the time.
pub struct Json<T>(pub T);

/// JSON whose memory was reserved before, together with the value; the reservation ends once the
/// JSON was sent.
pub struct CountedJson<T, M = Reservation>(pub T, pub M);

/// JSON whose memory is reserved while it is written, until it was sent. The caller reserves the
/// memory of the value itself.
pub struct ReservedJson<T>(pub T, pub Reservation);

/// The bytes of an answer, with their reservation.
struct CountedBody<M> {
    body: Vec<u8>,
    _memory: M,
}

impl<M> AsRef<[u8]> for CountedBody<M> {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

impl<T: Serialize, M: Send + 'static> IntoResponse for CountedJson<T, M> {
    fn into_response(self) -> Response {
        let Self(value, memory) = self;
        response(&value, |body| Bytes::from_owner(CountedBody { body, _memory: memory }))
    }
}

/// Chunks of an answer, each with its reservation. So a large answer is never copied into a larger
/// vector, and its memory is given back while it is sent.
struct Chunks {
    memory: Reservation,
    full: Vec<Bytes>,
    last: Vec<u8>,
    /// Of the last chunk.
    last_memory: Option<Reservation>,
    refused: Option<Exhausted>,
}

impl Chunks {
    fn new(memory: Reservation) -> Self {
        let last = Vec::with_capacity(USUAL_BYTES);
        Self { memory, full: Vec::new(), last, last_memory: None, refused: None }
    }

    /// Makes room for some of the bytes, and returns how many.
    fn make_room(&mut self, wanted: usize) -> Result<usize, Exhausted> {
        if self.last.len() == CHUNK_BYTES {
            let full = self.take_last();
            self.full.push(full);
        }
        let taken = wanted.min(CHUNK_BYTES - self.last.len());
        let (needed, capacity) = (self.last.len() + taken, self.last.capacity());
        if needed > capacity {
            let larger = needed.max(2 * capacity).min(CHUNK_BYTES);
            // The smaller vector is there until its bytes have been moved.
            let memory = self.memory.beside(larger)?;
            self.last.reserve_exact(larger - self.last.len());
            self.last_memory = Some(memory);
        }
        Ok(taken)
    }

    fn take_last(&mut self) -> Bytes {
        let body = mem::take(&mut self.last);
        Bytes::from_owner(CountedBody { body, _memory: self.last_memory.take() })
    }

    /// The memory of the value itself is given back: the value was dropped.
    fn into_body(mut self) -> Body {
        let last = self.take_last();
        if self.full.is_empty() {
            return Body::from(last);
        }
        self.full.push(last);
        Body::from_stream(stream::iter(self.full.into_iter().map(Ok::<_, io::Error>)))
    }
}

impl io::Write for Chunks {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = self.make_room(bytes.len()).map_err(|exhausted| {
            self.refused = Some(exhausted);
            io::Error::other(exhausted)
        })?;
        self.last.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<T: Serialize> IntoResponse for ReservedJson<T> {
    fn into_response(self) -> Response {
        let Self(value, memory) = self;
        let mut chunks = Chunks::new(memory);
        match (serde_json::to_writer(&mut chunks, &value), chunks.refused) {
            (Ok(()), _) => ([(header::CONTENT_TYPE, JSON)], chunks.into_body()).into_response(),
            (Err(_), Some(exhausted)) => Problem::from(exhausted).into_response(),
            (Err(error), None) => unwritten(&error),
        }
    }
}

impl<T: Bounded> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        response(&self.0, Bytes::from)
    }
}

fn response(value: &impl Serialize, counted: impl FnOnce(Vec<u8>) -> Bytes) -> Response {
    let mut body = Vec::with_capacity(USUAL_BYTES);
    match serde_json::to_writer(&mut body, value) {
        Ok(()) => ([(header::CONTENT_TYPE, JSON)], counted(body)).into_response(),
        Err(error) => unwritten(&error),
    }
}

fn unwritten(error: &serde_json::Error) -> Response {
    tracing::error!(%error, "cannot write an answer as JSON");
    problem::internal().into_response()
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;

    use super::*;
    use crate::budget::{Budget, Purpose};

    const SHARE: usize = 32 << 20;

    fn reserved(bytes: usize) -> (std::sync::Arc<Budget>, Response) {
        let budget = Budget::new(8 * SHARE);
        let memory = budget.share(Purpose::Answers, 0, &budget.client_share(100, 0, 0));
        let response = ReservedJson("x".repeat(bytes), memory).into_response();
        (budget, response)
    }

    #[tokio::test]
    async fn a_large_answer_is_counted_in_chunks() {
        for bytes in [0, 10, 5_000, CHUNK_BYTES - 2, CHUNK_BYTES - 1, 1 << 20, SHARE - CHUNK_BYTES]
        {
            let (budget, response) = reserved(bytes);
            let held = budget.reserved(Purpose::Answers);
            assert!(held <= bytes + CHUNK_BYTES && held + USUAL_BYTES >= bytes, "{held}");
            assert!(budget.peak() <= bytes + 2 * CHUNK_BYTES, "{}", budget.peak());
            let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
            assert_eq!(body.len(), bytes + 2);
            drop(body);
            assert_eq!(budget.reserved(Purpose::Answers), 0);
        }
    }

    #[tokio::test]
    async fn an_answer_over_the_share_is_too_costly() {
        let (budget, response) = reserved(SHARE);
        assert_eq!(response.status(), 422);
        assert_eq!(budget.reserved(Purpose::Answers), 0);
    }
}
