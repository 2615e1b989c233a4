//! Limits of connections, and what is answered to those that are not served.

use akin::http::{CONNECTIONS_RESERVE, HEAD_BYTES_MAX, ServerSettings};
use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};

use tower::ServiceExt;

use crate::access::app_with_keys;
use crate::app::App;
use crate::socket::{Connection, SOON, patient, start};

/// With room for so many connections, all of which one address may have.
fn room(connections_max: usize) -> ServerSettings {
    let all = ServerSettings { client_share_percent: 100, ..patient() };
    ServerSettings { connections_max, ..all }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_connection_that_is_idle_for_longest_makes_room() {
    let app = App::with_server(room(2)).await;
    let server = start(&app).await;
    let mut first = Connection::open(server.address);
    first.add("a");
    let mut second = Connection::open(server.address);
    second.add("b");
    first.add("c");
    let mut third = Connection::open(server.address);
    third.add("d");
    assert_eq!(second.rest(), b"", "it was idle for longest");
    first.add("e");
    third.add("f");
    assert_eq!(app.get("/documents").await.json()["ids"], json!(["a", "b", "c", "d", "e", "f"]));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_connections_do_not_keep_others_out() {
    let app = App::with_server(room(4)).await;
    let server = start(&app).await;
    let silent: Vec<_> = (0..40)
        .map(|n| {
            let mut connection = Connection::open(server.address);
            // Some have begun a request.
            connection.write(if n % 2 == 0 { "" } else { "GET /healthz HTTP/1.1\r\nhost: loc" });
            connection
        })
        .collect();
    for n in 0..8 {
        let mut served = Connection::open(server.address);
        served.add(&n.to_string());
    }
    drop(silent);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn probes_are_answered_while_every_connection_is_busy() {
    let app = App::with_server(room(2)).await;
    let server = start(&app).await;
    let mut busy = [(); 2].map(|()| {
        let mut connection = Connection::open(server.address);
        connection.begin_bulk();
        assert_eq!(connection.head(), "HTTP/1.1 200 OK");
        connection
    });
    // More than the reserve holds at once: each is closed once it is answered.
    for path in ["/healthz", "/readyz", "/metrics"].repeat(CONNECTIONS_RESERVE / 2) {
        let mut probe = Connection::open(server.address);
        probe.ask(path);
        assert_eq!(probe.head(), "HTTP/1.1 200 OK", "{path}");
        probe.rest();
    }
    let mut other = Connection::open(server.address);
    other.ask("/documents");
    assert_eq!(other.head(), "HTTP/1.1 503 Service Unavailable");
    let problem: Value = serde_json::from_slice(&other.body()).unwrap();
    assert_eq!(problem["code"], "overloaded");
    assert_eq!(other.rest(), b"", "it leaves room for the next");

    // The reserve has silent connections as well: they make room for probes.
    let silent = [(); CONNECTIONS_RESERVE].map(|()| Connection::open(server.address));
    let mut probe = Connection::open(server.address);
    probe.ask("/healthz");
    assert_eq!(probe.head(), "HTTP/1.1 200 OK");
    drop(silent);
    for connection in &mut busy {
        connection.send(&json!({"id": "a", "text": "still served"}));
        connection.chunk();
        connection.end();
        assert_eq!(connection.chunk(), b"");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn malformed_requests_are_refused() {
    let app = App::with_server(patient()).await;
    let server = start(&app).await;
    let long = format!("GET /{} HTTP/1.1\r\nhost: localhost\r\n\r\n", "x".repeat(70_000));
    let many = "x: y\r\n".repeat(120);
    let many = format!("GET /healthz HTTP/1.1\r\nhost: localhost\r\n{many}\r\n");
    // The HTTP library refuses with a status alone.
    let by_library = [
        ("NOT HTTP\r\n\r\n", 400),
        ("GET /healthz HTTP/1.1\r\nhost\r\n\r\n", 400),
        ("GET /healthz HTTP/3.0\r\nhost: localhost\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n", 400),
        (&*long, 431),
        (&*many, 431),
    ];
    for (request, status) in by_library {
        let mut connection = Connection::open(server.address);
        connection.write(request);
        let start = &request[..request.len().min(60)];
        let head = connection.head();
        assert_eq!(head.split(' ').nth(1), Some(&*status.to_string()), "{start}: {head}");
        assert_eq!(connection.rest(), b"", "{start}: the connection is closed");
    }
    let by_host = [
        "GET /healthz HTTP/1.1\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nhost: a\r\nhost: localhost\r\n\r\n",
        "GET /healthz HTTP/1.0\r\n\r\n",
    ];
    for request in by_host {
        let mut connection = Connection::open(server.address);
        connection.write(request);
        assert_eq!(connection.head().split(' ').nth(1), Some("400"), "{request}");
        let problem: Value = serde_json::from_slice(&connection.body()).unwrap();
        assert_eq!(problem["code"], "invalid_host");
    }
    let mut connection = Connection::open(server.address);
    connection.add("a");
    connection.write("NOT HTTP\r\n\r\n");
    assert_eq!(connection.head(), "HTTP/1.1 400 Bad Request", "after a request, too");
    server.stop().await;
}

/// The client writes all of a head before it reads, so the answer must not be lost in a reset.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_head_has_a_limit_and_its_refusal_arrives() {
    let app = App::with_server(patient()).await;
    let server = start(&app).await;
    let head = |bytes: usize| {
        let padding = "a".repeat(bytes);
        format!("GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-padding: {padding}\r\n\r\n")
    };
    let mut served = Connection::open(server.address);
    served.write(&head(HEAD_BYTES_MAX - 1_000));
    assert_eq!(served.head(), "HTTP/1.1 200 OK");
    for bytes in [HEAD_BYTES_MAX, 300_000] {
        let mut refused = Connection::open(server.address);
        refused.write(&head(bytes));
        assert_eq!(refused.head(), "HTTP/1.1 431 Request Header Fields Too Large", "{bytes}");
        assert_eq!(refused.rest(), b"", "{bytes}: the connection is closed");
    }
    // A head without an end is refused, too, and read away for a while only.
    let mut endless = Connection::open(server.address);
    endless.write("GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-padding: ");
    while endless.try_write(&[b'a'; 10_000]) {}
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_that_trickle_leave_room_for_others() {
    let settings = ServerSettings {
        bulk_requests_max: 2,
        client_share_percent: 100,
        body_idle_timeout_ms: 1_000,
        ..patient()
    };
    let app = App::with_server(settings).await;
    let server = start(&app).await;
    let mut slow = [(); 2].map(|()| {
        let mut connection = Connection::open(server.address);
        connection.begin_bulk();
        connection
    });
    for connection in &mut slow {
        assert_eq!(connection.head(), "HTTP/1.1 200 OK");
    }
    app.get("/export").await.problem(503, "overloaded");
    let trickling =
        slow.map(|connection| std::thread::spawn(move || connection.trickle(b"1\r\n \r\n", SOON)));
    let let_in = async {
        while !app.lets_in("/export").await {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(SOON, let_in).await.expect("they are given up");
    for thread in trickling {
        let answer = thread.join().unwrap();
        let answer = String::from_utf8(answer).unwrap();
        assert!(answer.contains("\"code\":\"body_timeout\""), "{answer}");
    }
    server.stop().await;
}

/// Two of three, and one for others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_holds_half_of_the_bulk_requests() {
    let app = App::with_server(ServerSettings { bulk_requests_max: 3, ..patient() }).await;
    let server = start(&app).await;
    let begun = |mut connection: Connection| {
        connection.begin_bulk();
        let status = connection.head();
        (connection, status)
    };
    let slow = [(); 2].map(|()| begun(Connection::open(server.address)));
    assert!(slow.iter().all(|(_, status)| status == "HTTP/1.1 200 OK"));
    let (mut third, status) = begun(Connection::open(server.address));
    assert_eq!(status, "HTTP/1.1 429 Too Many Requests");
    let problem: Value = serde_json::from_slice(&third.body()).unwrap();
    assert_eq!(problem["code"], "too_many_requests");

    let (mut other, status) = begun(Connection::open_from("127.0.0.2", server.address).await);
    assert_eq!(status, "HTTP/1.1 200 OK", "while the slow ones go on");
    other.send(&json!({"id": "a", "tokens": ["a"]}));
    let result: Value = serde_json::from_slice(&other.chunk()).unwrap();
    assert_eq!(result["status"], "created");
    let (mut more, status) = begun(Connection::open_from("127.0.0.3", server.address).await);
    assert_eq!(status, "HTTP/1.1 503 Service Unavailable");
    let problem: Value = serde_json::from_slice(&more.body()).unwrap();
    assert_eq!(problem["code"], "overloaded");
    drop((slow, other));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_has_half_of_the_connections() {
    let app = App::with_server(ServerSettings { connections_max: 4, ..patient() }).await;
    let server = start(&app).await;
    let mut idle = Connection::open(server.address);
    idle.add("a");
    let mut busy = [(); 2].map(|()| {
        let mut connection = Connection::open(server.address);
        connection.begin_bulk();
        assert_eq!(connection.head(), "HTTP/1.1 200 OK");
        connection
    });
    assert_eq!(idle.rest(), b"", "its own idle connection makes room first");
    let mut more = Connection::open(server.address);
    more.ask("/documents");
    assert_eq!(more.head(), "HTTP/1.1 429 Too Many Requests");
    let problem: Value = serde_json::from_slice(&more.body()).unwrap();
    assert!(problem["detail"].as_str().unwrap().contains("client_share_percent"), "{problem}");
    for path in ["/healthz", "/readyz", "/metrics"] {
        let mut probe = Connection::open(server.address);
        probe.ask(path);
        assert_eq!(probe.head(), "HTTP/1.1 200 OK", "{path}");
        probe.rest();
    }
    let mut other = Connection::open_from("127.0.0.2", server.address).await;
    other.add("b");
    for connection in &mut busy {
        connection.end();
        assert_eq!(connection.chunk(), b"");
    }
    server.stop().await;
}

/// Clients that write all of a body before they read would otherwise get a broken pipe.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_still_writes_gets_the_refusal() {
    const BYTES: usize = 16 << 20;
    let settings = ServerSettings { requests_in_flight_max: 1, ..patient() };
    let (app, _dir) = app_with_keys(settings).await;
    let server = start(&app).await;
    let body = "x".repeat(BYTES);
    let refused = |path: &str, host: &str, more: &str, status: &str| {
        let mut client = Connection::open(server.address);
        client.write(&format!(
            "PUT {path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n{more}\
             content-length: {BYTES}\r\n\r\n"
        ));
        client.write(&body);
        assert_eq!(client.head(), format!("HTTP/1.1 {status}"), "{path}");
        client.body();
        client.ask("/healthz");
        assert_eq!(client.head(), "HTTP/1.1 200 OK", "the connection stays");
    };
    let key = |name: &str| format!("authorization: Bearer akin_{name}\r\n");
    let (document, local) = ("/documents/a", "localhost");
    refused(document, local, "", "401 Unauthorized");
    refused(document, local, &key("read"), "403 Forbidden");
    refused("/no/such/path", local, &key("write"), "404 Not Found");
    refused(document, local, &key("write"), "413 Payload Too Large");
    refused(document, "evil.example", &key("write"), "421 Misdirected Request");
    let held = app.router.clone().oneshot(
        Request::get("/export")
            .header("authorization", "Bearer akin_read")
            .body(Body::empty())
            .unwrap(),
    );
    let held = held.await.unwrap();
    assert_eq!(held.status(), 200);
    refused(document, local, &key("write"), "503 Service Unavailable");
    drop(held);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_body_of_a_refused_request_has_a_limit() {
    const MIB: usize = 1 << 20;
    let app = App::with_server(ServerSettings { body_idle_timeout_ms: 50, ..patient() }).await;
    let server = start(&app).await;
    let head = "PUT /no/such HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000000000\r\n\r\n";
    let mut silent = Connection::open(server.address);
    silent.write(head);
    assert_eq!(silent.head(), "HTTP/1.1 404 Not Found");
    silent.body();
    assert_eq!(silent.rest(), b"", "it is waited for no longer than for other bodies");
    server.stop().await;

    let app = App::with_server(patient()).await;
    let server = start(&app).await;
    let mut endless = Connection::open(server.address);
    endless.write(head);
    let mib = vec![b'x'; MIB];
    let written = (0..200).take_while(|_| endless.try_write(&mib)).count();
    assert!((64..200).contains(&written), "{written} MiB");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_has_a_rate_without_probes() {
    let settings = ServerSettings { rate_per_address: 1, ..patient() };
    let app = App::with_server(settings).await;
    let server = start(&app).await;
    let mut connection = Connection::open(server.address);
    let mut statuses = Vec::new();
    for _ in 0..30 {
        connection.ask("/documents");
        statuses.push(connection.head());
        connection.body();
    }
    assert!(statuses[..5].iter().all(|status| status == "HTTP/1.1 200 OK"), "{statuses:?}");
    let refused = statuses.iter().filter(|s| *s == "HTTP/1.1 429 Too Many Requests").count();
    assert!(refused > 0, "{statuses:?}");
    for path in ["/healthz", "/readyz", "/metrics"].repeat(10) {
        connection.ask(path);
        assert_eq!(connection.head(), "HTTP/1.1 200 OK", "{path}");
        connection.body();
    }
    for path in ["/openapi.yaml", "/openapi.json", "/docs", "/", "/console/app.js", "/no/such"] {
        let mut is_refused = || {
            connection.ask(path);
            let status = connection.head();
            connection.body();
            status == "HTTP/1.1 429 Too Many Requests"
        };
        assert!((0..30).any(|_| is_refused()), "{path}");
    }
    server.stop().await;
}

/// A server with documents for an export that no buffers hold; it waits for its reader for so long
/// in all.
async fn with_much_to_export(patience_ms: u64) -> App {
    let settings = ServerSettings {
        bulk_requests_max: 1,
        body_idle_timeout_ms: patience_ms,
        export_bytes_per_s_min: 1 << 40,
        ..patient()
    };
    let app = App::with_server(settings).await;
    let lines: String = (0..150).map(|n| padded(n, n).to_string() + "\n").collect();
    let added = app.post("/documents?check=false", "application/x-ndjson", lines).await;
    assert!(!added.has_failed_lines());
    app
}

/// A document of 60,000 bytes.
fn padded(id: u64, version: u64) -> Value {
    let metadata = json!({"version": version, "padding": "x".repeat(60_000)});
    json!({"id": id.to_string(), "tokens": ["a"], "metadata": metadata})
}

async fn replace(app: &App, version: u64) {
    let replaced = app.post_json("/documents?check=false", padded(0, version)).await;
    assert_eq!(replaced.json()["status"], "replaced");
}

async fn write_mib(app: &App, mib: u64) {
    for version in 1..=mib * 1_048_576 / 60_000 {
        replace(app, version).await;
    }
}

fn log_mib(app: &App) -> u64 {
    app.dir.path().join("default/store.sqlite-wal").metadata().unwrap().len() >> 20
}

/// Its view keeps the log from being used again from the start, so that every write makes it
/// longer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_export_is_aborted_and_frees_the_log() {
    const GROWN_MIB: u64 = 4;
    // What is written to the log before it is used again.
    const AT_ONCE_MIB: u64 = 8;
    let app = with_much_to_export(patient().shutdown_grace_ms).await;
    let server = start(&app).await;
    let mut slow = Connection::open(server.address);
    slow.ask("/export");
    assert_eq!(slow.head(), "HTTP/1.1 200 OK");
    let at_first = log_mib(&app);
    write_mib(&app, at_first + GROWN_MIB + 1).await;
    assert!(log_mib(&app) >= at_first + GROWN_MIB, "a reader that is waited for holds the log");
    drop(slow);
    server.stop().await;

    let app = with_much_to_export(500).await;
    let server = start(&app).await;
    let mut slow = Connection::open(server.address);
    slow.ask("/export");
    assert_eq!(slow.head(), "HTTP/1.1 200 OK");
    let cut_off = async {
        let mut version = 0;
        while !app.lets_in("/export").await {
            slow.part();
            version += 1;
            replace(&app, version).await;
        }
    };
    tokio::time::timeout(SOON, cut_off).await.expect("it is cut off");
    let held = log_mib(&app);
    write_mib(&app, held + AT_ONCE_MIB + GROWN_MIB).await;
    let after = log_mib(&app);
    assert!(after <= held + AT_ONCE_MIB, "{held} to {after} MiB");
    server.stop().await;
}
