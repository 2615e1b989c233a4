//! Bodies for the refusals of the HTTP library.
//!
//! hyper answers what it cannot read as a request (400, 414, 431) itself, without a body, and has
//! no means to change that. So its answer is recognised as it is written, and replaced. Every
//! answer of the router has an `x-request-id`, hyper's have none.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::http::problem::Problem;
use crate::http::problem::code::Code;
use crate::http::request_id;

/// hyper's answers are shorter.
const BYTES_MAX: usize = 256;

/// A stream to which hyper writes its answers.
pub struct Refusals<S> {
    stream: S,
    /// A refusal that is still to be written. Nothing comes after it.
    unwritten: Bytes,
}

impl<S> Refusals<S> {
    pub fn new(stream: S) -> Self {
        Self { stream, unwritten: Bytes::new() }
    }
}

impl<S: AsyncWrite + Unpin> Refusals<S> {
    fn poll_unwritten(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.unwritten.has_remaining() {
            let written = ready!(Pin::new(&mut self.stream).poll_write(cx, &self.unwritten))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.unwritten.advance(written);
        }
        Poll::Ready(Ok(()))
    }

    /// Whether the bytes were a refusal of hyper's, and another is to be written in its place.
    fn replaces(&mut self, bytes: &[u8]) -> bool {
        let Some(problem) = refusal(bytes) else { return false };
        self.unwritten = rendered(&problem);
        true
    }
}

/// The problem for which hyper writes this answer; `None` for all other bytes.
fn refusal(answer: &[u8]) -> Option<Problem> {
    let status = answer.strip_prefix(b"HTTP/1.1 ")?.get(..3)?;
    let has = |part: &[u8]| answer.windows(part.len()).any(|window| window == part);
    let is_of_hyper = answer.len() <= BYTES_MAX
        && answer.ends_with(b"\r\n\r\n")
        && has(b"\r\ncontent-length: 0\r\n")
        && !has(request_id::HEADER.as_str().as_bytes());
    if !is_of_hyper {
        return None;
    }
    let (code, detail) = match status {
        b"400" => (Code::MalformedRequest, "the request cannot be read as HTTP/1.1"),
        b"414" => (Code::UriTooLong, "the path and query have more than 65534 bytes"),
        b"431" => (Code::HeadTooLarge, "the headers have too many bytes, or are more than 100"),
        _ => return None,
    };
    Some(Problem::new(code, detail))
}

fn rendered(problem: &Problem) -> Bytes {
    let id = request_id::new();
    let (code, status, _) = problem.code.facts();
    tracing::info!(request_id = id, code, status = status.as_u16(), "not a request");
    let body = serde_json::to_string(&problem.reply(&id)).expect("a problem is plain JSON");
    let answer = format!(
        "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-type: application/problem+json\r\n\
         x-content-type-options: nosniff\r\n{}: {id}\r\ncontent-length: {}\r\n\r\n{body}",
        request_id::HEADER,
        body.len()
    );
    answer.into()
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Refusals<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_unwritten(cx))?;
        if self.replaces(bytes) {
            return Poll::Ready(Ok(bytes.len()));
        }
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_unwritten(cx))?;
        let mut full = slices.iter().filter(|slice| !slice.is_empty());
        if let (Some(only), None) = (full.next(), full.next())
            && self.replaces(only)
        {
            return Poll::Ready(Ok(only.len()));
        }
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_unwritten(cx))?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_unwritten(cx))?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Refusals<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_hyper_answers_itself_is_replaced() {
        let of = |status: &str, more: &str| {
            let head = format!("HTTP/1.1 {status}\r\n{more}content-length: 0\r\n");
            refusal(format!("{head}date: Sun, 22 Nov 2026 20:00:00 GMT\r\n\r\n").as_bytes())
        };
        let code = |status: &str| of(status, "connection: close\r\n").map(|problem| problem.code);
        assert_eq!(code("400 Bad Request"), Some(Code::MalformedRequest));
        assert_eq!(code("414 URI Too Long"), Some(Code::UriTooLong));
        assert_eq!(code("431 Request Header Fields Too Large"), Some(Code::HeadTooLarge));
        assert_eq!(code("204 No Content"), None);
        assert_eq!(of("400 Bad Request", "x-request-id: a\r\n"), None);
        assert_eq!(refusal(b"HTTP/1.1 400 Bad Request\r\n"), None);
        assert_eq!(refusal(b""), None);
    }
}
