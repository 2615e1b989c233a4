//! Limits of connections, and what is answered to those that are not served.

use akin::http::ServerSettings;
use serde_json::{Value, json};

use crate::app::App;
use crate::backends;
use crate::socket::{Connection, SOON, patient, start};

/// With room for so many connections.
fn room(connections_max: usize, connections_reserve: usize) -> ServerSettings {
    ServerSettings { connections_max, connections_reserve, ..patient() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_connection_that_is_idle_for_longest_makes_room() {
    let app = App::with_server(room(2, 1)).await;
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
    let app = App::with_server(room(4, 1)).await;
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
    let app = App::with_server(room(2, 2)).await;
    let server = start(&app).await;
    let mut busy = [(); 2].map(|()| {
        let mut connection = Connection::open(server.address);
        connection.begin_bulk();
        assert_eq!(connection.head(), "HTTP/1.1 200 OK");
        connection
    });
    // More than the reserve holds at once: each is closed once it is answered.
    for path in ["/healthz", "/readyz", "/metrics", "/healthz", "/healthz"] {
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
    let silent = [(); 2].map(|()| Connection::open(server.address));
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
async fn what_is_no_request_is_answered_with_a_problem() {
    let app = App::with_server(patient()).await;
    let server = start(&app).await;
    let long = format!("GET /{} HTTP/1.1\r\nhost: localhost\r\n\r\n", "x".repeat(70_000));
    let many = "x: y\r\n".repeat(120);
    let many = format!("GET /healthz HTTP/1.1\r\nhost: localhost\r\n{many}\r\n");
    let refused = [
        ("NOT HTTP\r\n\r\n", 400, "malformed_request"),
        ("GET /healthz HTTP/1.1\r\nhost\r\n\r\n", 400, "malformed_request"),
        ("GET /healthz HTTP/3.0\r\nhost: localhost\r\n\r\n", 400, "malformed_request"),
        (
            "POST / HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
            400,
            "malformed_request",
        ),
        (&*long, 414, "uri_too_long"),
        (&*many, 431, "head_too_large"),
        ("GET /healthz HTTP/1.1\r\n\r\n", 400, "invalid_host"),
        ("GET /healthz HTTP/1.1\r\nhost: a\r\nhost: localhost\r\n\r\n", 400, "invalid_host"),
        ("GET /healthz HTTP/1.0\r\n\r\n", 400, "invalid_host"),
    ];
    for (request, status, code) in refused {
        let mut connection = Connection::open(server.address);
        connection.write(request);
        let start = &request[..request.len().min(60)];
        let head = connection.head();
        assert_eq!(head.split(' ').nth(1), Some(&*status.to_string()), "{start}: {head}");
        let problem: Value = serde_json::from_slice(&connection.body()).unwrap();
        assert_eq!((&problem["code"], &problem["status"]), (&json!(code), &json!(status)));
        assert!(problem["request_id"].as_str().is_some_and(|id| !id.is_empty()));
    }
    let mut connection = Connection::open(server.address);
    connection.add("a");
    connection.write("NOT HTTP\r\n\r\n");
    assert_eq!(connection.head(), "HTTP/1.1 400 Bad Request", "after a request, too");
    assert!(connection.rest().starts_with(b"{\"type\":\"/docs/problems#malformed_request\""));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_that_trickle_leave_room_for_others() {
    let settings = ServerSettings {
        bulk_requests_max: 2,
        bulk_requests_per_client_max: 2,
        body_idle_timeout_ms: 1_000,
        body_bytes_per_s_min: 10_000,
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
async fn an_address_holds_half_of_the_bulk_requests_and_others_the_rest() {
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
async fn an_address_has_a_rate_and_probes_have_none() {
    let settings = ServerSettings { rate_per_address: 1, rate_burst_s: 3, ..patient() };
    let app = App::with_server(settings).await;
    let server = start(&app).await;
    let mut connection = Connection::open(server.address);
    let mut statuses = Vec::new();
    for _ in 0..30 {
        connection.ask("/documents");
        statuses.push(connection.head());
        connection.body();
    }
    assert!(statuses[..3].iter().all(|status| status == "HTTP/1.1 200 OK"), "{statuses:?}");
    let refused = statuses.iter().filter(|s| *s == "HTTP/1.1 429 Too Many Requests").count();
    assert!(refused > 0, "{statuses:?}");
    for _ in 0..30 {
        connection.ask("/healthz");
        assert_eq!(connection.head(), "HTTP/1.1 200 OK");
        connection.body();
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

/// Its view keeps the log from being used again from the start, so that every write makes it longer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_reader_of_an_export_is_cut_off_and_the_log_grows_no_longer() {
    const GROWN_MIB: u64 = 4;
    // What is written to the log before it is used again.
    const AT_ONCE_MIB: u64 = 8;
    if backends::is_left_out("the log of a store") {
        return;
    }
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
