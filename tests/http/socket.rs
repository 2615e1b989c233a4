//! What only a real connection shows.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use akin::http::{ServerSettings, router, serve};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::app::{App, text};

pub struct Server {
    pub address: SocketAddr,
    stop: oneshot::Sender<()>,
    served: JoinHandle<()>,
}

/// Longer than any test may take.
const FOR_EVER_MS: u64 = 3_600_000;

/// So long a test waits for what must come about.
pub const SOON: Duration = Duration::from_secs(30);

pub fn patient() -> ServerSettings {
    ServerSettings { shutdown_grace_ms: FOR_EVER_MS, ..ServerSettings::default() }
}

pub async fn start(app: &App) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let shutdown = async move { drop(stopped.await) };
    let state = app.state.clone();
    let served = tokio::spawn(async move {
        serve(listener, router(state.clone()), shutdown, &state.settings, None).await;
    });
    Server { address, stop, served }
}

impl Server {
    /// Tells it to stop, and waits until it has.
    pub async fn stop(self) {
        self.stop.send(()).unwrap();
        tokio::time::timeout(SOON, self.served).await.expect("it stops").unwrap();
    }
}

/// One HTTP/1.1 connection, with chunks written and read by hand. It blocks, which the tests may
/// do: the server has threads of its own.
pub struct Connection {
    stream: BufReader<TcpStream>,
    /// The `content-length` of the latest head.
    length: usize,
}

impl Connection {
    pub fn open(address: SocketAddr) -> Self {
        Self::new(TcpStream::connect(address).unwrap())
    }

    /// From another address of this machine.
    pub async fn open_from(from: &str, address: SocketAddr) -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::new(from.parse().unwrap(), 0)).unwrap();
        let stream = socket.connect(address).await.unwrap().into_std().unwrap();
        stream.set_nonblocking(false).unwrap();
        Self::new(stream)
    }

    fn new(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(SOON)).unwrap();
        Self { stream: BufReader::new(stream), length: 0 }
    }

    pub fn write(&mut self, bytes: &str) {
        self.stream.get_mut().write_all(bytes.as_bytes()).unwrap();
    }

    /// Whether the other end still takes the bytes.
    pub fn try_write(&mut self, bytes: &[u8]) -> bool {
        self.stream.get_mut().write_all(bytes).is_ok()
    }

    pub fn begin_bulk(&mut self) {
        self.write(
            "POST /documents HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\
             content-type: application/x-ndjson\r\n\r\n1\r\n \r\n",
        );
    }

    pub fn ask(&mut self, path: &str) {
        self.write(&format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n"));
    }

    /// Adds a document without text, and waits for its being stored.
    pub fn add(&mut self, id: &str) {
        let body = json!({"id": id, "tokens": [id]}).to_string();
        let length = body.len();
        self.write(&format!(
            "POST /documents HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\n\r\n{body}"
        ));
        assert_eq!(self.head(), "HTTP/1.1 201 Created");
        self.body();
    }

    pub fn send(&mut self, document: &Value) {
        let line = format!("{document}\n");
        self.write(&format!("{:x}\r\n{line}\r\n", line.len()));
    }

    pub fn end(&mut self) {
        self.write("0\r\n\r\n");
    }

    /// Sends these bytes every 10 ms until an answer ends the connection; gives what was answered.
    pub fn trickle(mut self, bytes: &[u8], for_at_most: Duration) -> Vec<u8> {
        let started = std::time::Instant::now();
        self.stream.get_mut().set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let mut answer = Vec::new();
        let mut buffer = [0; 4096];
        while started.elapsed() < for_at_most {
            match self.stream.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => answer.extend_from_slice(&buffer[..read]),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(_) => break,
            }
            if self.stream.get_mut().write_all(bytes).is_err() {
                break;
            }
        }
        answer
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Reads the head of a response; gives its status line.
    pub fn head(&mut self) -> String {
        let status = self.line();
        self.length = 0;
        loop {
            let line = self.line();
            if line.is_empty() {
                return status;
            }
            if let Some(length) = line.strip_prefix("content-length: ") {
                self.length = length.parse().unwrap();
            }
        }
    }

    /// The body of a response that said its length.
    pub fn body(&mut self) -> Vec<u8> {
        let mut body = vec![0; self.length];
        self.stream.read_exact(&mut body).unwrap();
        body
    }

    /// Reads some of what there is; nothing once the other end has closed the connection.
    pub fn part(&mut self) {
        let _ = self.stream.read(&mut [0; 4096]);
    }

    /// What comes until the other end closes the connection, or breaks it.
    pub fn rest(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        if let Err(error) = self.stream.read_to_end(&mut rest) {
            assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
        }
        rest
    }

    /// The next chunk of the response; empty for the last.
    pub fn chunk(&mut self) -> Vec<u8> {
        let size = usize::from_str_radix(&self.line(), 16).unwrap();
        let mut chunk = vec![0; size + 2];
        self.stream.read_exact(&mut chunk).unwrap();
        chunk.truncate(size);
        chunk
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_result_arrives_before_the_next_document_is_sent() {
    let app = App::new().await;
    let server = start(&app).await;
    let mut connection = Connection::open(server.address);
    connection.begin_bulk();
    assert_eq!(connection.head(), "HTTP/1.1 200 OK");

    for n in 1..=3 {
        connection.send(&json!({"id": n.to_string(), "text": text(n * 50)}));
        let result: Value = serde_json::from_slice(&connection.chunk()).unwrap();
        assert_eq!((&result["line"], &result["status"]), (&json!(n), &json!("created")));
        assert_eq!(result["duplicates"].as_array().unwrap().len(), n - 1);
    }
    connection.end();
    assert_eq!(connection.chunk(), b"");
}

/// curl waits for a second before it goes on without.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn expect_100_continue_is_answered() {
    let app = App::new().await;
    let server = start(&app).await;
    let mut connection = Connection::open(server.address);
    connection.write(
        "POST /documents HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\
         content-type: application/x-ndjson\r\nexpect: 100-continue\r\n\r\n",
    );
    assert_eq!(connection.head(), "HTTP/1.1 100 Continue");
    connection.send(&json!({"id": "a", "text": text(0)}));
    assert_eq!(connection.head(), "HTTP/1.1 200 OK");
    let result: Value = serde_json::from_slice(&connection.chunk()).unwrap();
    assert_eq!((&result["line"], &result["status"]), (&json!(1), &json!("created")));
    connection.end();
    assert_eq!(connection.chunk(), b"");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disconnected_client_releases_its_permit() {
    let app = App::with_server(ServerSettings { bulk_requests_max: 1, ..patient() }).await;
    let server = start(&app).await;
    let mut gone = Connection::open(server.address);
    gone.begin_bulk();
    gone.send(&json!({"id": "a", "text": text(0)}));
    gone.head();
    gone.chunk();
    app.get("/export").await.problem(503, "overloaded");
    drop(gone);
    while !app.lets_in("/export").await {
        tokio::task::yield_now().await;
    }
    assert_eq!(app.get("/documents").await.json()["ids"], json!(["a"]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shutdown_completes_running_requests() {
    let app = App::with_server(patient()).await;
    let server = start(&app).await;
    let mut connection = Connection::open(server.address);
    connection.begin_bulk();
    connection.send(&json!({"id": "a", "text": text(0)}));
    connection.head();
    connection.chunk();

    server.stop.send(()).unwrap();
    connection.send(&json!({"id": "b", "text": text(100)}));
    let result: Value = serde_json::from_slice(&connection.chunk()).unwrap();
    assert_eq!(result["status"], "created");
    connection.end();
    assert_eq!(connection.chunk(), b"");
    tokio::time::timeout(SOON, server.served).await.expect("it stops").unwrap();
    assert!(TcpStream::connect(server.address).is_err(), "it listens no more");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shutdown_ends_after_the_grace_period() {
    let settings = ServerSettings { shutdown_grace_ms: 20, ..ServerSettings::default() };
    let app = App::with_server(settings).await;
    let server = start(&app).await;
    let mut connection = Connection::open(server.address);
    connection.begin_bulk();
    connection.head();
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_connections_do_not_delay_a_shutdown() {
    let app = App::with_server(patient()).await;
    let server = start(&app).await;
    let mut idle = Connection::open(server.address);
    idle.add("a");
    let mut silent = Connection::open(server.address);
    // Let in after the silent one, so both are in.
    let mut last = Connection::open(server.address);
    last.add("b");
    server.stop().await;
    for connection in [&mut idle, &mut silent, &mut last] {
        assert_eq!(connection.rest(), b"");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_incomplete_head_times_out() {
    let app = App::with_server(ServerSettings { header_timeout_ms: 50, ..patient() }).await;
    let server = start(&app).await;
    for beginning in ["", "GET /healthz HTTP/1.1\r\nhost: ak"] {
        let mut slow = Connection::open(server.address);
        slow.write(beginning);
        let rest = slow.rest();
        assert!(rest.is_empty() || rest.starts_with(b"HTTP/1.1 408 "), "{rest:?}");
    }
    let mut idle = Connection::open(server.address);
    idle.add("a");
    assert_eq!(idle.rest(), b"", "between requests, too");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_export_that_nobody_reads_times_out() {
    let settings = ServerSettings {
        body_idle_timeout_ms: 50,
        bulk_requests_max: 1,
        ..ServerSettings::default()
    };
    let app = App::with_server(settings).await;
    // More than the two ends of a connection keep for each other.
    let long = "x".repeat(4 << 20);
    for id in 0..5 {
        app.add(&[json!({"id": id.to_string(), "text": long})]).await;
    }
    let server = start(&app).await;
    let mut connection = Connection::open(server.address);
    connection.ask("/export");
    assert_eq!(connection.head(), "HTTP/1.1 200 OK");
    let let_in = async {
        while !app.lets_in("/export").await {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(SOON, let_in).await.expect("the place comes free");
    assert!(!connection.rest().ends_with(b"0\r\n\r\n"), "it would look whole");
}
