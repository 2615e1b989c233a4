//! A connection as bytes: plain, or TLS.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;
use tokio_rustls::{Accept, TlsAcceptor};

/// The handshake happens with the first read or write, so the limits of a connection hold for it.
pub enum Transport {
    Plain(TcpStream),
    Handshake(Box<Accept<TcpStream>>),
    Tls(Box<TlsStream<TcpStream>>),
    /// The handshake has failed, which hyper may ask about again while it closes the connection.
    Failed,
}

impl Transport {
    pub fn new(stream: TcpStream, tls: Option<&TlsAcceptor>) -> Self {
        match tls {
            None => Self::Plain(stream),
            Some(acceptor) => Self::Handshake(Box::new(acceptor.accept(stream))),
        }
    }

    fn poll_handshake(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Self::Handshake(accept) = self {
            match ready!(Pin::new(accept.as_mut()).poll(cx)) {
                Ok(stream) => *self = Self::Tls(Box::new(stream)),
                Err(error) => {
                    tracing::debug!(%error, "TLS handshake failed");
                    metrics::counter!("akin_tls_handshake_failures_total").increment(1);
                    *self = Self::Failed;
                    return Poll::Ready(Err(error));
                }
            }
        }
        match self {
            Self::Failed => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
            _ => Poll::Ready(Ok(())),
        }
    }
}

/// Calls a method of the stream, after the handshake.
macro_rules! after_handshake {
    ($this:ident, $cx:ident, $stream:ident => $call:expr) => {{
        ready!($this.poll_handshake($cx))?;
        match &mut *$this {
            Transport::Plain($stream) => {
                let $stream = Pin::new($stream);
                $call
            }
            Transport::Tls($stream) => {
                let $stream = Pin::new($stream.as_mut());
                $call
            }
            Transport::Handshake(_) | Transport::Failed => {
                Poll::Ready(Err(io::ErrorKind::NotConnected.into()))
            }
        }
    }};
}

impl AsyncRead for Transport {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        after_handshake!(self, cx, stream => stream.poll_read(cx, buffer))
    }
}

impl AsyncWrite for Transport {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        after_handshake!(self, cx, stream => stream.poll_write(cx, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        after_handshake!(self, cx, stream => stream.poll_write_vectored(cx, slices))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        after_handshake!(self, cx, stream => stream.poll_flush(cx))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if matches!(&*self, Self::Handshake(_) | Self::Failed) {
            // There is no one to say goodbye to.
            return Poll::Ready(Ok(()));
        }
        after_handshake!(self, cx, stream => stream.poll_shutdown(cx))
    }
}
