//! From a listener to the router: accepting connections, their limits, and the shutdown.

use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_io_timeout::TimeoutWriter;

use crate::http::ServerSettings;

/// The pause after an accept that failed for lack of resources, such as file descriptors.
const PAUSE: Duration = Duration::from_millis(500);

/// Serves until `shutdown`, then accepts no more connections, closes idle ones and waits for
/// running requests for at most `shutdown_grace_ms`.
///
/// At most `connections_max` connections are open; further ones wait in the listener's queue. A
/// connection that does not complete a request head within `header_timeout_ms` is closed, and so is
/// one whose client reads nothing of an answer for `body_idle_timeout_ms`.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    shutdown: impl Future<Output = ()>,
    settings: &ServerSettings,
) {
    let connections = Connections::new(router, settings);
    let mut shutdown = pin!(shutdown);
    loop {
        tokio::select! {
            (stream, permit) = connections.accept(&listener) => connections.open(stream, permit),
            () = &mut shutdown => break,
        }
    }
    drop(listener);
    connections.close(Duration::from_millis(settings.shutdown_grace_ms)).await;
}

struct Connections {
    router: Router,
    http: http1::Builder,
    write_timeout: Duration,
    /// A permit for each connection that may be open.
    permits: Arc<Semaphore>,
    graceful: GracefulShutdown,
}

impl Connections {
    fn new(router: Router, settings: &ServerSettings) -> Self {
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new())
            .header_read_timeout(Duration::from_millis(settings.header_timeout_ms));
        Self {
            router,
            http,
            write_timeout: Duration::from_millis(settings.body_idle_timeout_ms),
            permits: Arc::new(Semaphore::new(settings.connections_max)),
            graceful: GracefulShutdown::new(),
        }
    }

    /// Accepts the next connection, once a permit is free.
    async fn accept(&self, listener: &TcpListener) -> (TcpStream, OwnedSemaphorePermit) {
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        let permit = permit.expect("the semaphore is never closed");
        loop {
            match listener.accept().await {
                Ok((stream, _)) => return (stream, permit),
                Err(error) if is_of_one_connection(&error) => {}
                Err(error) => {
                    tracing::error!(%error, "cannot accept connections");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    /// Serves a connection in a task.
    fn open(&self, stream: TcpStream, permit: OwnedSemaphorePermit) {
        // Clients wait for small result lines, so lines must not be held back to fill a packet.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "set_nodelay failed");
        }
        let stream = TokioIo::new(with_write_timeout(stream, self.write_timeout));
        let service = TowerToHyperService::new(self.router.clone());
        let connection = self.graceful.watch(self.http.serve_connection(stream, service));
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection broke");
            }
            drop(permit);
        });
    }

    async fn close(self, grace: Duration) {
        if tokio::time::timeout(grace, self.graceful.shutdown()).await.is_err() {
            tracing::warn!(?grace, "requests were still running at the end of the grace period");
        }
    }
}

/// Writes fail once they have waited for `timeout` without progress: an answer that nobody reads
/// would hold memory, and perhaps a read transaction and a permit, for ever. The connection is then
/// closed without the end of the body, so that a part never looks whole.
fn with_write_timeout<S: AsyncRead + AsyncWrite>(
    stream: S,
    timeout: Duration,
) -> Pin<Box<TimeoutWriter<S>>> {
    let mut stream = TimeoutWriter::new(stream);
    stream.set_timeout(Some(timeout));
    Box::pin(stream)
}

/// Whether the client disconnected before it was accepted, so that the next can be accepted at
/// once.
fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::Interrupted
    )
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_reader_may_be_slow_but_not_stop() {
        let (near, mut far) = tokio::io::duplex(1);
        let second = Duration::from_secs(1);
        let mut stream = with_write_timeout(near, second * 2);
        let reading = async {
            let mut byte = [0];
            while byte != *b"!" {
                tokio::time::sleep(second).await;
                far.read_exact(&mut byte).await.unwrap();
            }
        };
        let (written, ()) = tokio::join!(stream.write_all(b"many bytes!"), reading);
        written.unwrap();
        assert_eq!(stream.write(b"a").await.unwrap(), 1, "there is room for it");
        let error = stream.write(b"b").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
