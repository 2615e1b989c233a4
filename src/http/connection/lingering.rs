//! Heads and bodies of requests that are refused before they have arrived.
//!
//! A client that writes while the server closes the connection gets a reset, and loses the answer
//! with the reason. So the rest of a request is read and thrown away for a while.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Bytes, HttpBody};
use axum::http::{HeaderMap, header};
use http_body_util::BodyExt;
use hyper::body::{Frame, Incoming, SizeHint};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::timeout;

/// The most bytes that are read of a refused body. Larger bodies are mostly imports, and clients
/// that import read while they write.
const BYTES_MAX: usize = 64 << 20;

/// The most bytes that are read of a refused head.
const HEAD_REST_BYTES_MAX: u64 = 1 << 20;

/// The longest pause in a refused body, and the longest time for a refused head. A client that is
/// still writing makes no pauses.
const IDLE_MAX: Duration = Duration::from_secs(2);

/// The body of a request. The rest that its handler leaves is read after the handler, so that the
/// client can write the body and then read the answer.
pub struct LingeringBody {
    body: Option<Incoming>,
    /// The client waits for `100 Continue`, so it begins to write once the server reads.
    is_awaited: bool,
    patience: Duration,
}

impl LingeringBody {
    /// The rest is read for at most `patience`.
    pub fn new(body: Incoming, headers: &HeaderMap, patience: Duration) -> Self {
        let is_awaited = headers.contains_key(header::EXPECT);
        Self { body: Some(body), is_awaited, patience }
    }
}

impl HttpBody for LingeringBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        self.is_awaited = false;
        match &mut self.body {
            Some(body) => Pin::new(body).poll_frame(context),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), HttpBody::size_hint)
    }
}

impl Drop for LingeringBody {
    fn drop(&mut self) {
        let left = self.body.take().filter(|body| !body.is_end_stream() && !self.is_awaited);
        // Without a runtime the server is gone, and the connection with it.
        if let (Some(left), Ok(runtime)) = (left, tokio::runtime::Handle::try_current()) {
            runtime.spawn(timeout(self.patience, read_away(left)));
        }
    }
}

/// Reads the bytes after a refused head.
pub async fn read_rest(stream: &mut (impl AsyncRead + Unpin)) {
    let mut rest = stream.take(HEAD_REST_BYTES_MAX);
    let _ = timeout(IDLE_MAX, tokio::io::copy(&mut rest, &mut tokio::io::sink())).await;
}

async fn read_away(mut body: Incoming) {
    let mut bytes = 0;
    while let Ok(Some(Ok(frame))) = timeout(IDLE_MAX, body.frame()).await
        && bytes <= BYTES_MAX
    {
        bytes += frame.data_ref().map_or(0, Bytes::len);
    }
}
