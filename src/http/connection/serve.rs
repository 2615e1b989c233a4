//! From a listener to the router: accepting connections, their limits, and the shutdown.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_io_timeout::TimeoutWriter;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;
use tower::ServiceExt;

use crate::http::access::{ConnectionRoom, Peer, quotas, rates};
use crate::http::connection::holding;
use crate::http::connection::lingering::{self, LingeringBody};
use crate::http::connection::open::{OpenConnections, Opened};
use crate::http::connection::tls::Tls;
use crate::http::settings::{CONNECTIONS_RESERVE, HEAD_BYTES_MAX, ServerSettings};

/// The pause after an accept that failed for lack of resources, such as file descriptors.
const PAUSE: Duration = Duration::from_millis(500);

/// How long an idle connection may take to close, and how often idle connections are looked for
/// while there is no room.
const CLOSING: Duration = Duration::from_millis(50);

/// The limit of time for a TLS handshake, and for the head of a request, on a connection of the
/// reserve.
const RESERVE_HEADER_TIMEOUT: Duration = Duration::from_secs(1);

/// A connection as bytes: plain, or TLS.
type Transport = Either<TcpStream, Box<TlsStream<TcpStream>>>;

/// Serves until `shutdown`, then accepts no more connections, closes idle connections and waits for
/// running requests for at most `shutdown_grace_ms`.
///
/// At most `connections_max` connections are open. For a further connection the server closes the
/// longest idle connection; if no connection is idle, the new connection is of the
/// [reserve](CONNECTIONS_RESERVE) and answers probes. Beyond these, connections wait in the
/// listener's queue. A head of more than [`HEAD_BYTES_MAX`] is answered 431. A connection that does
/// not complete a TLS handshake or a request head within `header_timeout_ms` each is closed, and so
/// is a connection with a client that reads nothing of an answer for `body_idle_timeout_ms`. An
/// address has a share of the connections; for a further connection its own longest idle connection
/// is closed.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    shutdown: impl Future<Output = ()>,
    settings: &ServerSettings,
    tls: Option<Arc<Tls>>,
) {
    let connections = Arc::new(Connections::new(router, settings, tls));
    let mut shutdown = pin!(shutdown);
    loop {
        tokio::select! {
            (stream, from, permit) = connections.accept(&listener) => {
                connections.open(stream, from, permit);
            }
            () = &mut shutdown => break,
        }
    }
    drop(listener);
    connections.close(Duration::from_millis(settings.shutdown_grace_ms)).await;
}

struct Connections {
    router: Router,
    http: http1::Builder,
    /// For connections of the reserve.
    http_of_reserve: http1::Builder,
    tls: Option<Arc<Tls>>,
    header_timeout: Duration,
    write_timeout: Duration,
    /// A permit for each connection that may be open, the reserve included.
    permits: Arc<Semaphore>,
    permits_max: u32,
    all: Arc<OpenConnections>,
    /// Changes when the server stops.
    stopping: watch::Sender<()>,
}

impl Connections {
    fn new(router: Router, settings: &ServerSettings, tls: Option<Arc<Tls>>) -> Self {
        let mut http = http1::Builder::new();
        let header_timeout = Duration::from_millis(settings.header_timeout_ms);
        http.timer(TokioTimer::new()).header_read_timeout(header_timeout);
        http.max_buf_size(HEAD_BYTES_MAX).max_header_size(HEAD_BYTES_MAX);
        let mut http_of_reserve = http.clone();
        let of_reserve = header_timeout.min(RESERVE_HEADER_TIMEOUT);
        http_of_reserve.keep_alive(false).header_read_timeout(of_reserve);
        let permits_max = (settings.connections_max + CONNECTIONS_RESERVE) as u32;
        let share = match settings.client_share_percent {
            100 => usize::MAX,
            percent => quotas::share(settings.connections_max, percent),
        };
        Self {
            router,
            http,
            http_of_reserve,
            tls,
            header_timeout,
            write_timeout: Duration::from_millis(settings.body_idle_timeout_ms),
            permits: Arc::new(Semaphore::new(permits_max as usize)),
            permits_max,
            all: OpenConnections::new(share, CONNECTIONS_RESERVE),
            stopping: watch::Sender::new(()),
        }
    }

    /// Accepts the next connection, once there is room for it.
    async fn accept(
        &self,
        listener: &TcpListener,
    ) -> (TcpStream, SocketAddr, OwnedSemaphorePermit) {
        let permit = self.permit().await;
        loop {
            match listener.accept().await {
                Ok((stream, from)) => return (stream, from, permit),
                Err(error) if is_of_one_connection(&error) => {}
                Err(error) => {
                    tracing::error!(%error, "cannot accept connections");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    async fn permit(&self) -> OwnedSemaphorePermit {
        loop {
            let permit = Arc::clone(&self.permits).acquire_owned();
            match tokio::time::timeout(CLOSING, permit).await {
                Ok(permit) => return permit.expect("the semaphore is never closed"),
                Err(_) => drop(self.all.close_idle()),
            }
        }
    }

    /// Serves a connection in a task.
    fn open(self: &Arc<Self>, stream: TcpStream, from: SocketAddr, permit: OwnedSemaphorePermit) {
        // Clients wait for small result lines, so lines must not be held back to fill a packet.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "set_nodelay failed");
        }
        let is_full = self.permits.available_permits() < CONNECTIONS_RESERVE;
        let Some(opened) = self.all.accept(rates::network(from.ip()), is_full) else { return };
        let (this, stopping) = (Arc::clone(self), self.stopping.subscribe());
        tokio::spawn(async move {
            this.serve(stream, from.ip(), &opened, stopping).await;
            drop((opened, permit));
        });
    }

    /// Serves a connection to its end, or until it is to make room for another connection. Once the
    /// server stops, the running request is the last one.
    async fn serve(
        &self,
        stream: TcpStream,
        address: IpAddr,
        opened: &Opened,
        mut stopping: watch::Receiver<()>,
    ) {
        let peer = Peer { address, room: opened.room() };
        // `lingering`: how long the body of a request is read that nobody wants.
        let (http, header_timeout, lingering) = match peer.room {
            ConnectionRoom::Open => (&self.http, self.header_timeout, self.write_timeout),
            ConnectionRoom::AllAreBusy | ConnectionRoom::ShareIsTaken => {
                let header_timeout = self.header_timeout.min(RESERVE_HEADER_TIMEOUT);
                (&self.http_of_reserve, header_timeout, RESERVE_HEADER_TIMEOUT)
            }
        };
        let stream = match &self.tls {
            None => Transport::Left(stream),
            Some(tls) => tokio::select! {
                shaken = handshake(stream, tls.acceptor(), header_timeout) => {
                    let Some(stream) = shaken else { return };
                    Transport::Right(Box::new(stream))
                }
                () = opened.closing() => return,
                _ = stopping.changed() => return,
            },
        };
        let mut stream = TokioIo::new(with_write_timeout(stream, self.write_timeout));
        let service = service_fn(move |request: Request<Incoming>| {
            let busy = opened.request();
            let (mut parts, body) = request.into_parts();
            parts.extensions.insert(peer);
            let body = LingeringBody::new(body, &parts.headers, lingering);
            let request = Request::from_parts(parts, Body::new(body));
            let answered = self.router.clone().oneshot(request);
            async move {
                let response = answered.await?;
                Ok::<_, std::convert::Infallible>(response.map(|body| holding(body, busy)))
            }
        });
        let served = {
            let mut connection = pin!(http.serve_connection(&mut stream, service));
            let (mut is_closing, mut is_stopping) = (false, false);
            loop {
                tokio::select! {
                    served = &mut connection => break served,
                    () = opened.closing(), if !is_closing => is_closing = true,
                    // An answer may still have to be written, and a request may just have come.
                    () = tokio::time::sleep(CLOSING), if is_closing => {
                        if opened.is_idle() { return }
                    }
                    _ = stopping.changed(), if !is_stopping => {
                        is_stopping = true;
                        connection.as_mut().graceful_shutdown();
                    }
                }
            }
        };
        let Err(error) = served else { return };
        tracing::debug!(%error, "connection failed");
        if error.is_parse() {
            tokio::select! {
                () = lingering::read_rest(stream.inner_mut()) => {}
                () = opened.closing() => {}
            }
        }
    }

    async fn close(&self, grace: Duration) {
        self.stopping.send_replace(());
        let all_ended = self.permits.acquire_many(self.permits_max);
        if tokio::time::timeout(grace, all_ended).await.is_err() {
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

/// `None` if it fails, or takes too long.
async fn handshake(
    stream: TcpStream,
    tls: TlsAcceptor,
    limit: Duration,
) -> Option<TlsStream<TcpStream>> {
    let shaken = tokio::time::timeout(limit, tls.accept(stream)).await;
    let shaken = shaken.map_err(io::Error::from).flatten();
    shaken
        .inspect_err(|error| {
            tracing::debug!(%error, "TLS handshake failed");
            metrics::counter!("akin_tls_handshake_failures_total").increment(1);
        })
        .ok()
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
