//! An answer: buffered up to 64 KiB, and streamed beyond.
//!
//! [`Json`] is for values whose size settings and constants bound. Every other answer is written
//! by a [`ReplyWriter`], which counts its text in the memory of the request, until it was sent. A
//! whole value is written by [`json`]. A list is written element by element within [`stream()`]:
//! once a piece is full, a task in the background goes on, through a bounded channel from which the
//! response's body is read. It waits while the client does not read, and ends when the client has
//! gone.

mod broken;
mod list;

use std::future;
use std::io::{self, Write};
use std::mem;
use std::sync::Arc;
use std::task::Poll;

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::mpsc;
use tracing::Instrument;

use crate::background;
use crate::budget::{Exhausted, Reservation};
use crate::http::problem::{self, Problem};

pub use broken::Broken;
pub use list::List;

pub const JSON: &str = "application/json";

/// Bytes of most answers, which are not counted.
const USUAL_BYTES: usize = 1024;

/// A piece is sent once it has so many bytes, which are written in tens of microseconds.
const PIECE_BYTES: usize = 64 << 10;

/// Pieces that wait for the client.
const PIECES_AHEAD: usize = 2;

/// A reply with a size that settings and constants bound. Neither documents nor ids nor
/// parameters of a request make it grow, so its memory is not counted.
pub trait Bounded: Serialize {}

/// A bounded reply.
pub struct Json<T>(pub T);

impl<T: Bounded> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        json(&self.0, None).unwrap_or_else(IntoResponse::into_response)
    }
}

/// Answers with a value. `memory`: of the value and of its text, until that was sent; `None` if
/// it was reserved before.
///
/// # Errors
/// There is no memory for the text.
pub fn json(value: &impl Serialize, memory: Option<Arc<Reservation>>) -> Result<Response, Problem> {
    let mut writer = ReplyWriter::new(memory);
    writer.value(value)?;
    Ok(response(JSON, writer.into_body()))
}

/// Answers with a value. The memory of the value was reserved before, with the memory of its
/// text; the reservation ends once the text was sent.
pub fn reserved_json(value: &impl Serialize, memory: &Arc<Reservation>) -> Response {
    let mut writer = ReplyWriter::new(None);
    writer.hold(memory);
    let written = writer.value(value).map(|()| response(JSON, writer.into_body()));
    written.unwrap_or_else(IntoResponse::into_response)
}

fn response(media: &'static str, body: Body) -> Response {
    ([(header::CONTENT_TYPE, media)], body).into_response()
}

/// Writes an answer.
pub struct ReplyWriter {
    /// Full pieces that were not sent yet.
    full: Vec<Bytes>,
    /// The piece that is being written.
    piece: Piece,
    /// The memory of the answer; `None` if the text is not counted.
    memory: Option<Arc<Reservation>>,
    /// Values have no line breaks.
    is_lines: bool,
    refused: Option<Exhausted>,
    /// The channel of the pieces, once there is one.
    sender: Option<mpsc::Sender<SentPiece>>,
    /// Where its other end is left; `None` of an answer that is not streamed.
    sent: Option<Arc<Mutex<Option<mpsc::Receiver<SentPiece>>>>>,
}

/// Bytes of an answer with their reservations, which end once they were sent.
#[derive(Default)]
struct Piece {
    text: Vec<u8>,
    /// The memory of the text.
    memory: Option<Reservation>,
    /// The memory of the values in the text.
    held: Vec<Arc<Reservation>>,
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.text
    }
}

/// A piece of an answer, from the task that writes it to the body that is sent.
pub enum SentPiece {
    Piece(Bytes),
    /// The answer is whole. Without it the response is aborted.
    Last(Bytes),
}

/// Answers with the output of `write`.
///
/// # Errors
/// `write` failed before the first piece was sent. If it fails later, the connection is closed
/// without the end of the body, so that the answer does not look whole.
pub async fn stream<W>(
    media: &'static str,
    memory: Reservation,
    write: impl FnOnce(ReplyWriter) -> W,
) -> Result<Response, Problem>
where
    W: Future<Output = Result<ReplyWriter, Broken>> + Send + 'static,
{
    let sent = Arc::new(Mutex::new(None));
    let writer =
        ReplyWriter { sent: Some(Arc::clone(&sent)), ..ReplyWriter::new(Some(Arc::new(memory))) };
    let mut writing = Box::pin(write(writer));
    let take_sent = || sent.lock().take();
    let begun = future::poll_fn(|context| match writing.as_mut().poll(context) {
        Poll::Ready(written) => Poll::Ready((Some(written), take_sent())),
        // The first piece was sent.
        Poll::Pending => take_sent().map_or(Poll::Pending, |sent| Poll::Ready((None, Some(sent)))),
    });
    let body = match begun.await {
        (Some(Err(Broken::Failed(problem))), _) => return Err(problem),
        (Some(Err(Broken::Gone)), _) => return Err(problem::internal()),
        (Some(Ok(writer)), None) => writer.into_body(),
        (Some(Ok(writer)), Some(sent)) => {
            background::spawn(end(future::ready(Ok(writer))).in_current_span());
            received(sent)
        }
        (None, sent) => {
            background::spawn(end(writing).in_current_span());
            received(sent.expect("a piece was sent"))
        }
    };
    Ok(response(media, body))
}

async fn end(writing: impl Future<Output = Result<ReplyWriter, Broken>>) {
    let written = match writing.await {
        Ok(mut writer) => writer.send().await.map(|()| writer),
        Err(broken) => Err(broken),
    };
    match written {
        // It is sent in vain if the client has gone.
        Ok(mut writer) => {
            if let Some(sender) = writer.sender.take() {
                drop(sender.send(SentPiece::Last(writer.last())).await);
            }
        }
        Err(Broken::Gone) => tracing::debug!("client disconnected before the end of the response"),
        Err(Broken::Failed(problem)) => {
            let (code, ..) = problem.code.facts();
            tracing::warn!(code, detail = problem.detail, "response aborted");
        }
    }
}

/// The body of the pieces that a task sends.
pub fn received(sent: mpsc::Receiver<SentPiece>) -> Body {
    let pieces = stream::unfold(Some(sent), |sent| async move {
        let mut sent = sent?;
        match sent.recv().await {
            Some(SentPiece::Piece(piece)) => Some((Ok(piece), Some(sent))),
            Some(SentPiece::Last(piece)) => (!piece.is_empty()).then(|| (Ok(piece), None)),
            None => Some((Err(io::Error::other("the answer broke off")), None)),
        }
    });
    Body::from_stream(pieces.fuse())
}

impl ReplyWriter {
    fn new(memory: Option<Arc<Reservation>>) -> Self {
        let text = Vec::with_capacity(USUAL_BYTES);
        Self {
            full: Vec::new(),
            piece: Piece { text, ..Piece::default() },
            memory,
            is_lines: false,
            refused: None,
            sender: None,
            sent: None,
        }
    }

    /// Values are written without line breaks. These can only occur between the tokens of metadata,
    /// which is returned as it was formatted: in strings they are escaped.
    pub fn lines(mut self) -> Self {
        self.is_lines = true;
        self
    }

    /// Another reservation of the same request.
    ///
    /// # Errors
    /// [`Exhausted`]
    pub fn another(&self, bytes: usize) -> Result<Reservation, Exhausted> {
        self.memory.as_ref().expect("a streamed answer is counted").another(bytes)
    }

    /// Writes a value.
    ///
    /// # Errors
    /// There is no memory for its text.
    pub fn value(&mut self, value: &impl Serialize) -> Result<(), Problem> {
        let written = serde_json::to_writer(&mut *self, value);
        self.checked(written)
    }

    /// Writes text between values.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn text(&mut self, text: &str) -> Result<(), Problem> {
        let is_lines = mem::take(&mut self.is_lines);
        let written = self.write_all(text.as_bytes()).map_err(serde_json::Error::io);
        self.is_lines = is_lines;
        self.checked(written)
    }

    fn checked(&self, written: Result<(), serde_json::Error>) -> Result<(), Problem> {
        written.map_err(|error| match self.refused {
            Some(exhausted) => exhausted.into(),
            None => {
                tracing::error!(%error, "cannot write an answer as JSON");
                problem::internal()
            }
        })
    }

    /// Begins an object with a list as its first field.
    ///
    /// # Errors
    /// There is no memory for its text.
    pub fn list(&mut self, name: &'static str) -> Result<List<'_>, Problem> {
        self.text("{\"")?;
        self.text(name)?;
        self.text("\":[")?;
        Ok(List { writer: self, is_empty: true })
    }

    /// Keeps the memory of a value that was written reserved until it was sent.
    pub fn hold(&mut self, memory: &Arc<Reservation>) {
        if self.piece.held.last().is_none_or(|last| !Arc::ptr_eq(last, memory)) {
            self.piece.held.push(Arc::clone(memory));
        }
    }

    /// Sends the written text, once it is a piece.
    ///
    /// # Errors
    /// The client has gone.
    pub async fn send_if_full(&mut self) -> Result<(), Broken> {
        if self.piece.text.len() >= PIECE_BYTES {
            self.begin_piece();
        }
        match self.full.is_empty() {
            true => Ok(()),
            false => self.send().await,
        }
    }

    async fn send(&mut self) -> Result<(), Broken> {
        if self.sender.is_none() && !self.full.is_empty() {
            let (sender, receiver) = mpsc::channel(PIECES_AHEAD);
            let sent = self.sent.as_ref().expect("the answer is streamed");
            *sent.lock() = Some(receiver);
            self.sender = Some(sender);
        }
        for piece in mem::take(&mut self.full) {
            let sender = self.sender.as_ref().expect("there is a channel");
            sender.send(SentPiece::Piece(piece)).await.map_err(|_| Broken::Gone)?;
        }
        // Where the client reads fast, sending does not wait, and other requests would.
        tokio::task::yield_now().await;
        Ok(())
    }

    fn begin_piece(&mut self) {
        let piece = mem::take(&mut self.piece);
        self.full.push(Bytes::from_owner(piece));
    }

    /// Makes room for some of the bytes, and returns how many.
    fn make_room(&mut self, wanted: usize) -> Result<usize, Exhausted> {
        if self.piece.text.len() >= PIECE_BYTES {
            self.begin_piece();
        }
        let text = &mut self.piece.text;
        let taken = wanted.min(PIECE_BYTES - text.len());
        let (needed, capacity) = (text.len() + taken, text.capacity());
        if needed <= capacity {
            return Ok(taken);
        }
        let is_first = self.full.is_empty() && self.sender.is_none();
        let larger = if is_first { needed.max(2 * capacity).min(PIECE_BYTES) } else { PIECE_BYTES };
        match &self.memory {
            // It is within the allowance of a small answer.
            Some(memory) if is_first => memory.grow(larger - capacity)?,
            Some(memory) => self.piece.memory = Some(memory.another(larger)?),
            None => {}
        }
        text.reserve_exact(larger - text.len());
        Ok(taken)
    }

    /// The memory of the answer is given back with the last piece.
    fn last(mut self) -> Bytes {
        let own = self.memory.take();
        self.piece.held.extend(own);
        Bytes::from_owner(self.piece)
    }

    fn into_body(mut self) -> Body {
        let full = mem::take(&mut self.full);
        let last = self.last();
        if full.is_empty() {
            return Body::from(last);
        }
        let pieces = full.into_iter().chain([last]);
        Body::from_stream(stream::iter(pieces.map(Ok::<_, io::Error>)))
    }
}

impl Write for ReplyWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = self.make_room(bytes.len()).map_err(|exhausted| {
            self.refused = Some(exhausted);
            io::Error::other(exhausted)
        })?;
        let start = self.piece.text.len();
        self.piece.text.extend_from_slice(&bytes[..taken]);
        if self.is_lines {
            let breaks = |byte: &&mut u8| matches!(**byte, b'\n' | b'\r');
            self.piece.text[start..].iter_mut().filter(breaks).for_each(|byte| *byte = b' ');
        }
        Ok(taken)
    }

    /// Most texts that serde_json writes are a few bytes long.
    #[inline]
    fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let text = &mut self.piece.text;
        let end = text.len() + bytes.len();
        if end <= text.capacity().min(PIECE_BYTES) && !self.is_lines {
            text.extend_from_slice(bytes);
            return Ok(());
        }
        while !bytes.is_empty() {
            let written = self.write(bytes)?;
            bytes = &bytes[written..];
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
