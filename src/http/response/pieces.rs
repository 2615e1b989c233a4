//! Answers that are written while they are sent, so that only pieces of them are in memory.
//!
//! A task in the background writes into a bounded channel, from which the response's body is read:
//! it waits while the client does not read, and ends when the client has gone. An answer of less
//! than a piece is sent whole.

use std::pin::Pin;
use std::sync::Arc;
use std::{io, mem};

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use serde::Serialize;
use tokio::sync::mpsc;
use tracing::Instrument;

use crate::background;
use crate::budget::{Exhausted, Reservation};
use crate::engine::EngineError;
use crate::http::bulk::ndjson;
use crate::http::problem::{self, Problem};

/// A piece is sent once it has so many bytes, which are written in tens of microseconds. It has
/// more if a single value has.
const PIECE_BYTES: usize = 64 << 10;

/// Pieces that wait for the client.
const PIECES_AHEAD: usize = 2;

/// Memory of the piece that is being written, in a vector that grows by doubling, and of the pieces
/// that wait or are being sent. The writers of large values count the memory of these values.
const PIECES_BYTES: usize = PIECE_BYTES * (PIECES_AHEAD + 3);

/// Writes the pieces of an answer.
pub struct Pieces {
    sender: mpsc::Sender<SentPiece>,
    text: Vec<u8>,
    /// The memory of the values in the text.
    held: Vec<Arc<Reservation>>,
    /// The memory of the whole answer.
    memory: Reservation,
    is_streamed: bool,
}

/// A list that is written element by element.
pub struct List<'a> {
    pieces: &'a mut Pieces,
    beginning: &'static str,
    is_empty: bool,
}

impl List<'_> {
    /// Writes one element, in this memory.
    ///
    /// # Errors
    /// As for [`Pieces::flush_if_full`].
    pub async fn element(
        &mut self,
        value: &impl Serialize,
        memory: &Arc<Reservation>,
    ) -> Result<(), Broken> {
        let before = if mem::take(&mut self.is_empty) { self.beginning } else { "," };
        self.pieces.push(before.as_bytes());
        self.pieces.write(value);
        self.pieces.hold(memory);
        self.pieces.flush_if_full().await
    }

    /// Ends the list, and the answer with the fields of `answer`, in which the list is empty.
    pub fn end(self, answer: &impl Serialize) {
        let answer = serde_json::to_vec(answer).expect("replies are plain JSON");
        let (beginning, end) = answer.split_at(self.beginning.len());
        debug_assert_eq!(beginning, self.beginning.as_bytes());
        if self.is_empty {
            self.pieces.push(beginning);
        }
        self.pieces.push(end);
    }
}

enum SentPiece {
    Piece(Bytes),
    /// The answer is whole. Without it the response is aborted.
    Last(Bytes),
}

/// Why an answer is not whole.
pub enum Broken {
    /// The client has gone.
    Gone,
    Failed(Problem),
}

impl From<Problem> for Broken {
    fn from(problem: Problem) -> Self {
        Self::Failed(problem)
    }
}

impl From<EngineError> for Broken {
    fn from(error: EngineError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<Exhausted> for Broken {
    fn from(exhausted: Exhausted) -> Self {
        Self::Failed(exhausted.into())
    }
}

/// Bytes of an answer with their reservations, which end once they were sent.
struct CountedPiece {
    text: Vec<u8>,
    _held: Vec<Arc<Reservation>>,
    _memory: Option<Reservation>,
}

impl AsRef<[u8]> for CountedPiece {
    fn as_ref(&self) -> &[u8] {
        &self.text
    }
}

/// Answers with the output of `write`. The pieces are counted in `memory`.
///
/// # Errors
/// `write` failed before the first piece was whole. If it fails later, the connection is closed
/// without the end of the body, so that the answer does not look whole.
pub async fn answer<W>(
    media: &'static str,
    memory: Reservation,
    write: impl FnOnce(Pieces) -> W,
) -> Result<Response, Problem>
where
    W: Future<Output = Result<Pieces, Broken>> + Send + 'static,
{
    let (sender, mut sent) = mpsc::channel(PIECES_AHEAD);
    let pieces = Pieces {
        sender: sender.clone(),
        text: Vec::new(),
        held: Vec::new(),
        memory,
        is_streamed: false,
    };
    let mut writing = Box::pin(write(pieces));
    let body = tokio::select! {
        biased;
        written = &mut writing => match written {
            Ok(pieces) if !pieces.is_streamed => Body::from(pieces.last()),
            Ok(pieces) => {
                background::spawn(end(sender, Ok(pieces)).in_current_span());
                Body::from_stream(body(None, sent))
            }
            Err(Broken::Failed(problem)) => return Err(problem),
            Err(Broken::Gone) => return Err(problem::internal()),
        },
        Some(first) = sent.recv() => {
            background::spawn(go_on(sender, writing).in_current_span());
            Body::from_stream(body(Some(first), sent))
        }
    };
    Ok(([(header::CONTENT_TYPE, media)], body).into_response())
}

type Writing<W> = Pin<Box<W>>;

async fn go_on<W>(sender: mpsc::Sender<SentPiece>, writing: Writing<W>)
where
    W: Future<Output = Result<Pieces, Broken>>,
{
    end(sender, writing.await).await;
}

async fn end(sender: mpsc::Sender<SentPiece>, written: Result<Pieces, Broken>) {
    match written {
        // It is sent in vain if the client has gone.
        Ok(pieces) => drop(sender.send(SentPiece::Last(pieces.last())).await),
        Err(Broken::Gone) => tracing::debug!("client disconnected before the end of the response"),
        Err(Broken::Failed(problem)) => {
            let (code, ..) = problem.code.facts();
            tracing::warn!(code, detail = problem.detail, "response aborted");
        }
    }
}

fn body(
    first: Option<SentPiece>,
    sent: mpsc::Receiver<SentPiece>,
) -> impl Stream<Item = io::Result<Bytes>> {
    let pieces = stream::unfold(Some((first, sent)), |sent| async move {
        let (first, mut sent) = sent?;
        let next = match first {
            Some(first) => Some(first),
            None => sent.recv().await,
        };
        Some(match next {
            Some(SentPiece::Piece(piece)) => (Ok(piece), Some((None, sent))),
            Some(SentPiece::Last(piece)) => (Ok(piece), None),
            None => (Err(io::Error::other("the answer broke off")), None),
        })
    });
    pieces.fuse()
}

impl Pieces {
    /// The memory of the whole answer.
    pub fn memory(&self) -> &Reservation {
        &self.memory
    }

    pub fn push(&mut self, text: &[u8]) {
        self.text.extend_from_slice(text);
    }

    pub fn write(&mut self, value: &impl Serialize) {
        serde_json::to_writer(&mut self.text, value).expect("replies are plain JSON");
    }

    /// Writes a value of a line of NDJSON.
    pub fn write_on_one_line(&mut self, value: &impl Serialize) {
        ndjson::write_on_one_line(&mut self.text, value);
    }

    /// Begins an answer with a list as its first field: `beginning` is its JSON up to the first
    /// element.
    pub fn list(&mut self, beginning: &'static str) -> List<'_> {
        List { pieces: self, beginning, is_empty: true }
    }

    /// Keeps the memory of a value that was written reserved until it was sent.
    pub fn hold(&mut self, memory: &Arc<Reservation>) {
        if self.held.last().is_none_or(|last| !Arc::ptr_eq(last, memory)) {
            self.held.push(Arc::clone(memory));
        }
    }

    /// Sends the written text, once it is a piece.
    ///
    /// # Errors
    /// The client has gone, or there is no memory for pieces.
    pub async fn flush_if_full(&mut self) -> Result<(), Broken> {
        if self.text.len() < PIECE_BYTES {
            return Ok(());
        }
        if !self.is_streamed {
            self.memory.grow(PIECES_BYTES)?;
            self.is_streamed = true;
        }
        let text = mem::take(&mut self.text);
        let held = mem::take(&mut self.held);
        let piece = Bytes::from_owner(CountedPiece { text, _held: held, _memory: None });
        self.sender.send(SentPiece::Piece(piece)).await.map_err(|_| Broken::Gone)?;
        // Where the client reads fast, sending does not wait, and other requests would.
        tokio::task::yield_now().await;
        Ok(())
    }

    fn last(self) -> Bytes {
        let Self { text, held, memory, .. } = self;
        Bytes::from_owner(CountedPiece { text, _held: held, _memory: Some(memory) })
    }
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;

    use super::*;
    use crate::budget::{Budget, Purpose};

    fn reservation() -> Reservation {
        Budget::new(1 << 30).reservation(Purpose::Answers)
    }

    async fn numbers(count: u32) -> Response {
        let answered = answer("text/plain", reservation(), move |mut pieces| async move {
            for number in 0..count {
                pieces.write(&number);
                pieces.push(b"\n");
                pieces.flush_if_full().await?;
            }
            Ok(pieces)
        });
        answered.await.unwrap()
    }

    #[tokio::test]
    async fn pieces_make_up_the_whole() {
        for count in [0, 1, 12_000, 14_000, 30_000, 100_000] {
            let expected: Vec<String> = (0..count).map(|number| format!("{number}\n")).collect();
            let body = to_bytes(numbers(count).await.into_body(), usize::MAX).await.unwrap();
            assert_eq!(body, expected.concat(), "{count}");
        }
    }

    #[tokio::test]
    async fn early_failures_are_answers_and_late_failures_abort() {
        let failing = |bytes: usize| {
            answer("text/plain", reservation(), move |mut pieces| async move {
                pieces.push(&vec![0; bytes]);
                pieces.flush_if_full().await?;
                Err(Broken::from(problem::internal()))
            })
        };
        assert_eq!(failing(1).await.err(), Some(problem::internal()));
        let panicking = answer("text/plain", reservation(), |mut pieces| async move {
            pieces.push(&vec![0; PIECE_BYTES]);
            pieces.flush_if_full().await?;
            panic!("on purpose")
        });
        for response in [failing(PIECE_BYTES).await, panicking.await] {
            assert!(to_bytes(response.unwrap().into_body(), usize::MAX).await.is_err());
        }
    }

    #[tokio::test]
    async fn unread_pieces_are_few_and_counted() {
        let budget = Budget::new(1 << 30);
        let (written, mut count) = mpsc::unbounded_channel();
        let memory = budget.reservation(Purpose::Answers);
        let answered = answer("text/plain", memory, |mut pieces| async move {
            for _ in 0..100 {
                let memory = Arc::new(pieces.memory().beside(PIECE_BYTES)?);
                pieces.hold(&memory);
                pieces.push(&vec![b'x'; PIECE_BYTES]);
                written.send(()).unwrap();
                pieces.flush_if_full().await?;
            }
            Ok(pieces)
        });
        let mut body = answered.await.unwrap().into_body().into_data_stream();
        // The first piece is to be sent, some pieces are ahead, and the last piece waits for its
        // place.
        for _ in 0..PIECES_AHEAD + 2 {
            count.recv().await.unwrap();
        }
        let held = PIECES_BYTES + (PIECES_AHEAD + 2) * PIECE_BYTES;
        assert_eq!(budget.reserved(Purpose::Answers), held);
        assert_eq!(body.next().await.unwrap().unwrap().len(), PIECE_BYTES);
        assert!(budget.reserved(Purpose::Answers) < held);
        drop(body);
        while count.recv().await.is_some() {}
        assert_eq!(budget.reserved(Purpose::Answers), 0, "the client has gone");
    }
}
