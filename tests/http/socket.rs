//! What only a real connection shows.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use akin::http::{router, serve};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::app::{App, text};

struct Server {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    served: JoinHandle<std::io::Result<()>>,
}

async fn start(app: &App, grace: Duration) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let shutdown = async move { drop(stopped.await) };
    let served = tokio::spawn(serve(listener, router(app.state.clone()), shutdown, grace));
    Server { address, stop, served }
}

/// One HTTP/1.1 connection, with chunks written and read by hand. It blocks, which the tests may
/// do: the server has threads of its own.
struct Connection {
    stream: BufReader<TcpStream>,
}

impl Connection {
    fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        Self { stream: BufReader::new(stream) }
    }

    fn begin_bulk(&mut self) {
        let head = "POST /documents HTTP/1.1\r\nhost: akin\r\ntransfer-encoding: chunked\r\n\
                    content-type: application/x-ndjson\r\n\r\n";
        self.stream.get_mut().write_all(head.as_bytes()).unwrap();
    }

    fn send(&mut self, document: &Value) {
        let line = format!("{document}\n");
        let chunk = format!("{:x}\r\n{line}\r\n", line.len());
        self.stream.get_mut().write_all(chunk.as_bytes()).unwrap();
    }

    fn end(&mut self) {
        self.stream.get_mut().write_all(b"0\r\n\r\n").unwrap();
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Reads the head of a response; gives its status line.
    fn head(&mut self) -> String {
        let status = self.line();
        while !self.line().is_empty() {}
        status
    }

    /// The next chunk of the response; empty for the last.
    fn chunk(&mut self) -> Vec<u8> {
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
    let server = start(&app, Duration::from_secs(5)).await;
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_goes_away_leaves_room_for_others() {
    let settings = akin::http::ServerSettings {
        bulk_requests_max: 1,
        ..akin::http::ServerSettings::default()
    };
    let app = App::with_server(settings).await;
    let server = start(&app, Duration::from_secs(5)).await;
    let mut gone = Connection::open(server.address);
    gone.begin_bulk();
    gone.send(&json!({"id": "a", "text": text(0)}));
    gone.head();
    gone.chunk();
    app.get("/export").await.problem(503, "overloaded");
    drop(gone);
    while app.get("/export").await.status != 200 {
        tokio::task::yield_now().await;
    }
    assert_eq!(app.get("/documents").await.json()["ids"], json!(["a"]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_told_to_stop_ends_what_it_began() {
    let app = App::new().await;
    let server = start(&app, Duration::from_secs(60)).await;
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
    server.served.await.unwrap().unwrap();
    assert!(TcpStream::connect(server.address).is_err(), "it listens no more");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_does_not_end_is_ended_by_the_grace() {
    let app = App::new().await;
    let server = start(&app, Duration::from_millis(20)).await;
    let mut connection = Connection::open(server.address);
    connection.begin_bulk();
    connection.head();
    server.stop.send(()).unwrap();
    server.served.await.unwrap().unwrap();
}
