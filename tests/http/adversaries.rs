//! What hostile clients send, byte by byte: each is answered as the table says, or its connection
//! is closed, and the server goes on.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use akin::http::ServerSettings;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::app::App;
use crate::socket::{Connection, SOON, patient, start};

/// The name of what is tried, its bytes, and the status of every response to them, in order.
type Row = (&'static str, Vec<u8>, &'static [u16]);

/// What came back, until the server closed the connection.
struct Heard {
    statuses: Vec<u16>,
    /// The server closed it before it had read everything, by which responses can be lost.
    reset: bool,
    bytes: Vec<u8>,
}

fn exchange(address: SocketAddr, sent: &[u8]) -> Heard {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    let mut reset = stream.write_all(sent).is_err();
    let mut bytes = Vec::new();
    if let Err(error) = stream.read_to_end(&mut bytes) {
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "it is not closed");
        reset = true;
    }
    let heads = String::from_utf8_lossy(&bytes).into_owned();
    let statuses = heads.split("HTTP/1.1 ").skip(1).filter_map(|head| head.get(..3)?.parse().ok());
    Heard { statuses: statuses.collect(), reset, bytes }
}

fn hold(address: SocketAddr, rows: &[Row]) {
    let mut differing = Vec::new();
    for (name, sent, expected) in rows {
        let heard = exchange(address, sent);
        let as_expected = if heard.reset {
            expected.starts_with(&heard.statuses)
        } else {
            *expected == heard.statuses
        };
        if !as_expected {
            let start = String::from_utf8_lossy(&heard.bytes[..heard.bytes.len().min(800)]);
            differing.push(format!("{name}: {:?}, not {expected:?}\n{start}", heard.statuses));
        }
        let after = exchange(address, &closing("GET /healthz", ""));
        assert_eq!(after.statuses, [200], "after {name}");
    }
    assert!(differing.is_empty(), "{}", differing.join("\n\n"));
}

/// A request without a body, and with these further lines in its head, after which the server
/// closes the connection.
fn closing(line: &str, head: &str) -> Vec<u8> {
    let head = format!("{line} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{head}\r\n");
    head.into_bytes()
}

/// A request to add a document as JSON, with these lines in its head and these bytes behind it.
fn adding(head: &str, body: &str) -> Vec<u8> {
    let head = format!("content-type: application/json\r\n{head}");
    [closing("POST /documents", &head), body.as_bytes().to_vec()].concat()
}

/// The same without `connection: close`: what comes behind is the next request.
fn lasting(head: &str, body: &str) -> Vec<u8> {
    let head = format!(
        "POST /documents HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         {head}\r\n{body}"
    );
    head.into_bytes()
}

/// A request that must never be seen as one.
const SMUGGLED: &str = "DELETE /nowhere HTTP/1.1\r\nhost: localhost\r\n\r\n";

const CHUNKED: &str = "transfer-encoding: chunked\r\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn floods_of_headers() {
    let app = App::with_server(patient()).await;
    let server = start(&app).await;
    let trailers = |n: usize| format!("0\r\n{}\r\n", "x: y\r\n".repeat(n));
    let rows: Vec<Row> = vec![
        (
            "a value of 1 MB",
            closing("GET /healthz", &format!("x: {}\r\n", "y".repeat(1 << 20))),
            &[431],
        ),
        (
            "a name of 1 MB",
            closing("GET /healthz", &format!("{}: y\r\n", "x".repeat(1 << 20))),
            &[431],
        ),
        ("100,000 headers", closing("GET /healthz", &"x: y\r\n".repeat(100_000)), &[431]),
        ("a method of 1 MB", closing(&format!("{} /healthz", "G".repeat(1 << 20)), ""), &[431]),
        ("90 headers", closing("GET /healthz", &"x: y\r\n".repeat(90)), &[200]),
        ("50,000 trailers", adding(CHUNKED, &format!("2\r\n{{}}\r\n{}", trailers(50_000))), &[400]),
        (
            "a chunk's extension of 1 MB",
            adding(CHUNKED, &format!("2;{}\r\n{{}}\r\n0\r\n\r\n", "x".repeat(1 << 20))),
            &[400],
        ),
        (
            "1 MB of empty lines",
            [b"\r\n".repeat(1 << 19), closing("GET /healthz", "")].concat(),
            &[431],
        ),
    ];
    hold(server.address, &rows);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_within_requests() {
    let app = App::with_server(ServerSettings { document_bytes_max: 1_000, ..patient() }).await;
    let server = start(&app).await;
    let length = |length: &str| format!("content-length: {length}\r\n");
    let both = |first: &str, second: &str| {
        lasting(&format!("{first}{second}"), &format!("0\r\n\r\n{SMUGGLED}"))
    };
    let inside = format!(
        "GET /healthz HTTP/1.1\r\nhost: localhost\r\n{}\r\n{SMUGGLED}",
        length(&SMUGGLED.len().to_string())
    );
    let rows: Vec<Row> = vec![
        ("Content-Length, Transfer-Encoding", both(&length("5"), CHUNKED), &[400]),
        ("Transfer-Encoding, Content-Length", both(CHUNKED, &length("5")), &[400]),
        ("two Transfer-Encodings", both("transfer-encoding: identity\r\n", CHUNKED), &[400]),
        (
            "chunked, identity",
            lasting("transfer-encoding: chunked, identity\r\n", SMUGGLED),
            &[400],
        ),
        (
            "an unknown Transfer-Encoding",
            lasting("transfer-encoding: xchunked\r\n", SMUGGLED),
            &[400],
        ),
        ("Content-Length of +2", lasting(&length("+2"), &format!("{{}}{SMUGGLED}")), &[400]),
        ("Content-Length of -1", lasting(&length("-1"), SMUGGLED), &[400]),
        ("Content-Length of 0x2", lasting(&length("0x2"), SMUGGLED), &[400]),
        ("Content-Length of 2^64", lasting(&length("18446744073709551616"), SMUGGLED), &[400]),
        ("Content-Length of 2 3", lasting(&length("2 3"), SMUGGLED), &[400]),
        (
            "a body that is a request",
            [inside.into_bytes(), closing("GET /readyz", "")].concat(),
            &[200, 200],
        ),
        (
            "bare LF",
            b"GET /healthz HTTP/1.1\nhost: localhost\nconnection: close\n\n".to_vec(),
            &[200],
        ),
        ("bare CR in a value", closing("GET /healthz", "x: a\rcontent-length: 5\r\n"), &[400]),
        ("NUL in a value", closing("GET /healthz", "x: a\0b\r\n"), &[400]),
        ("obs-fold", closing("GET /healthz", "x: a\r\n b\r\n"), &[400]),
        ("a space before the colon", lasting("content-length : 5\r\n", SMUGGLED), &[400]),
        (
            "a space before the first name",
            b"GET /healthz HTTP/1.1\r\n host: localhost\r\n\r\n".to_vec(),
            &[400],
        ),
        ("a header without a name", closing("GET /healthz", ": a\r\n"), &[400]),
        (
            "chunks under HTTP/1.0",
            format!("POST /documents HTTP/1.0\r\nhost: localhost\r\n{CHUNKED}\r\n0\r\n\r\n")
                .into_bytes(),
            &[400],
        ),
        (
            "a chunk of 2^64 bytes",
            lasting(CHUNKED, &format!("10000000000000000\r\n{{}}\r\n{SMUGGLED}")),
            &[400],
        ),
        (
            "a chunk of 2^64 - 1 bytes",
            adding(CHUNKED, &format!("ffffffffffffffff\r\n{}", "x".repeat(2_000))),
            &[413],
        ),
        ("a chunk of -1 bytes", lasting(CHUNKED, &format!("-1\r\n{{}}\r\n{SMUGGLED}")), &[400]),
        ("a chunk of 0x2 bytes", lasting(CHUNKED, &format!("0x2\r\n{{}}\r\n{SMUGGLED}")), &[400]),
        (
            "a chunk longer than it says",
            lasting(CHUNKED, &format!("2\r\n{{}}x\r\n0\r\n\r\n{SMUGGLED}")),
            &[400],
        ),
    ];
    hold(server.address, &rows);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tricks_with_paths() {
    let app = App::with_server(patient()).await;
    let server = start(&app).await;
    let get = |target: &str| closing(&format!("GET {target}"), "");
    let put = |target: &str| {
        let head = "content-type: application/json\r\ncontent-length: 2\r\n";
        [closing(&format!("PUT {target}"), head), b"{}".to_vec()].concat()
    };
    let rows: Vec<Row> = vec![
        ("..", get("/documents/../metrics"), &[404]),
        ("%2e%2e", get("/%2e%2e/%2e%2e/etc/passwd"), &[404]),
        ("an id of ..", get("/documents/%2e%2e"), &[404]),
        ("an id with slashes", get("/documents/..%2f..%2fetc%2fpasswd"), &[404]),
        ("an id of NUL", get("/documents/%00"), &[400]),
        ("a damaged escape", get("/documents/%zz"), &[404]),
        ("a collection of ..", put("/collections/%2e%2e"), &[400]),
        ("a collection above", put("/collections/..%2fabove"), &[400]),
        ("a collection with NUL", put("/collections/a%00b"), &[400]),
        ("two slashes", get("//healthz"), &[404]),
        ("a slash behind", get("/healthz/"), &[404]),
        ("a dot", get("/./healthz"), &[404]),
        ("capitals", get("/HEALTHZ"), &[404]),
        ("NUL behind", get("/healthz%00"), &[404]),
        ("absolute form", get("http://localhost/healthz"), &[200]),
        ("absolute form of another name", get("http://attacker.example/documents"), &[421]),
        ("asterisk form", closing("OPTIONS *", ""), &[404]),
        ("authority form", closing("CONNECT localhost:22", ""), &[404]),
        ("no slash, the name of a host then", get("healthz"), &[421]),
        (
            "a byte that is no ASCII",
            [b"GET /documents/\xff HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
                .as_slice()]
            .concat(),
            &[400],
        ),
        ("a path of 24 KB", get(&format!("/{}", "x/".repeat(12_000))), &[404]),
        ("a query of 24 KB", get(&format!("/documents?{}", "limit=1&".repeat(3_000))), &[400]),
        ("a path of 60 KB", get(&format!("/{}", "x/".repeat(30_000))), &[431]),
        ("a query of 60 KB", get(&format!("/documents?{}", "limit=1&".repeat(7_500))), &[431]),
    ];
    hold(server.address, &rows);
    let collections = app.collections().list().len();
    assert_eq!(collections, 1);
    server.stop().await;
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn compressed(encoding: &str, media: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "content-type: {media}\r\ncontent-encoding: {encoding}\r\ncontent-length: {}\r\n",
        body.len()
    );
    [closing("POST /documents", &head), body.to_vec()].concat()
}

/// A frame that declares a window of 2^`log` bytes and has one block, of long repeated.
fn zstd_window(log: u8) -> Vec<u8> {
    [&[0x28, 0xb5, 0x2f, 0xfd, 0, (log - 10) << 3][..], &[0xfb, 0xff, 0x0f, b' ']].concat()
}

/// A frame that declares this length of its content and has a few bytes of it.
fn zstd_declared(length: u64) -> Vec<u8> {
    [&[0x28, 0xb5, 0x2f, 0xfd, 0xc0, 0][..], &length.to_le_bytes(), &[0x11, 0, 0, b'{', b'}']]
        .concat()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bombs() {
    let settings = ServerSettings { document_bytes_max: 1 << 20, ..patient() };
    let app = App::with_server(settings).await;
    let server = start(&app).await;
    let json = "application/json";
    let long = [b"{\"text\": \"", &vec![b'x'; 32 << 20][..]].concat();
    let nameless = [&[0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 3][..], &vec![b'x'; 1 << 19]].concat();
    let mut wrong_size = gzip(b"{\"tokens\": []}");
    let end = wrong_size.len();
    wrong_size[end - 4..].fill(0xff);
    let plain = |body: String| compressed("identity", json, body.as_bytes());
    let rows: Vec<Row> = vec![
        ("32 MB in 200 KB of gzip", compressed("gzip", json, &gzip(&long)), &[413]),
        (
            "32 MB in 3 KB of zstd",
            compressed("zstd", json, &zstd::encode_all(&long[..], 3).unwrap()),
            &[413],
        ),
        ("gzip within gzip", compressed("gzip", json, &gzip(&gzip(&long))), &[400]),
        ("a name in gzip without an end", compressed("gzip", json, &nameless), &[400]),
        ("gzip with a wrong size", compressed("gzip", json, &wrong_size), &[400]),
        ("zstd with a window of 2 GB", compressed("zstd", json, &zstd_window(31)), &[400]),
        ("zstd with a window of 2 TB", compressed("zstd", json, &zstd_window(41)), &[400]),
        (
            "zstd that declares 2^60 bytes",
            compressed("zstd", json, &zstd_declared(1 << 60)),
            &[400],
        ),
        (
            "zstd that declares 2^64 - 1 bytes, the code for not declaring any",
            compressed("zstd", json, &zstd_declared(u64::MAX)),
            &[422],
        ),
        ("1,000,000 arrays in each other", plain("[".repeat(1_000_000)), &[200]),
        ("80,000 objects in each other", plain("{\"metadata\":".repeat(80_000)), &[400]),
        ("a number of 1 MB", plain(format!("{{\"text\": {}}}", "9".repeat(1_000_000))), &[400]),
    ];
    hold(server.address, &rows);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_are_slow() {
    let settings =
        ServerSettings { header_timeout_ms: 100, body_idle_timeout_ms: 100, ..patient() };
    let app = App::with_server(settings).await;
    let server = start(&app).await;
    let begun: [(&str, &str, &[u8], &[u16]); 5] = [
        ("a head", "GET /healthz HTTP/1.1\r\nhost: localhost\r\n", b"x: y\r\n", &[]),
        ("a line", "GET /", b"x", &[]),
        ("empty lines", "", b"\r\n", &[]),
        (
            "a body",
            "POST /similar HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n",
            b" ",
            &[408],
        ),
        (
            "chunks",
            "POST /documents HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n",
            b"1\r\n \r\n",
            &[408],
        ),
    ];
    for (name, first, then, expected) in begun {
        let mut slow = Connection::open(server.address);
        slow.write(first);
        let answer = String::from_utf8(slow.trickle(then, Duration::from_secs(20))).unwrap();
        let statuses: Vec<u16> =
            answer.split("HTTP/1.1 ").skip(1).map(|it| it[..3].parse().unwrap()).collect();
        assert_eq!(statuses, expected, "{name}: {answer}");
    }
    assert_eq!(exchange(server.address, &closing("GET /healthz", "")).statuses, [200]);
    server.stop().await;
}
