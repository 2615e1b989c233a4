//! A connection as bytes: plain, or TLS.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;
use tokio_rustls::{Accept, TlsAcceptor};
use tokio_util::either::Either;

type Stream = Either<TcpStream, Box<TlsStream<TcpStream>>>;

/// The handshake happens with the first read or write, so the limits of a connection hold for it.
pub enum Transport {
    Open(Stream),
    Handshake(Box<Accept<TcpStream>>),
    /// The handshake has failed, which hyper may ask about again while it closes the connection.
    Failed,
}

impl Transport {
    pub fn new(stream: TcpStream, tls: Option<&TlsAcceptor>) -> Self {
        match tls {
            None => Self::Open(Either::Left(stream)),
            Some(acceptor) => Self::Handshake(Box::new(acceptor.accept(stream))),
        }
    }

    /// The stream, after the handshake.
    fn poll_open(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Pin<&mut Stream>>> {
        if let Self::Handshake(accept) = self {
            match ready!(Pin::new(accept.as_mut()).poll(cx)) {
                Ok(stream) => *self = Self::Open(Either::Right(Box::new(stream))),
                Err(error) => {
                    tracing::debug!(%error, "TLS handshake failed");
                    metrics::counter!("akin_tls_handshake_failures_total").increment(1);
                    *self = Self::Failed;
                    return Poll::Ready(Err(error));
                }
            }
        }
        Poll::Ready(match self {
            Self::Open(stream) => Ok(Pin::new(stream)),
            Self::Handshake(_) | Self::Failed => Err(io::ErrorKind::NotConnected.into()),
        })
    }
}

impl AsyncRead for Transport {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.poll_open(cx))?.poll_read(cx, buffer)
    }
}

impl AsyncWrite for Transport {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_open(cx))?.poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_open(cx))?.poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_open(cx))?.poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Self::Open(stream) => Pin::new(stream).poll_shutdown(cx),
            // There is no one to say goodbye to.
            Self::Handshake(_) | Self::Failed => Poll::Ready(Ok(())),
        }
    }
}
