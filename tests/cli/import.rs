//! How an import goes when the server has its own mind, and what is said of it.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};

use axum::body::Body;
use axum::http::{Response, StatusCode};

use crate::server::{Server, problem};
use crate::{akin, akin_with_stdin};

const TWO: &[u8] = b"{\"id\":\"a\",\"text\":\"x\"}\n{\"id\":\"b\",\"text\":\"x\"}\n";

#[test]
fn options_are_sent_to_the_server() {
    let server = Server::start();
    let url = server.url();
    for (options, path) in [
        (vec![], "/documents"),
        (vec!["--no-check"], "/documents?check=false"),
        (
            vec!["--on-duplicate", "skip", "--threshold", "0.9"],
            "/documents?on_duplicate=skip&threshold=0.9",
        ),
        (vec!["--collection", "news"], "/collections/news/documents"),
    ] {
        let ended = akin_with_stdin(&[&["import", "-", "--url", &url], &options[..]].concat(), TWO);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert_eq!(server.received().last().unwrap().uri, path);
    }
}

#[test]
fn the_summary_counts_and_failures_are_named() {
    let server = Server::start();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("some.jsonl");
    std::fs::write(&file, [TWO, b"\n{broken\n"].concat()).unwrap();
    let file = file.to_str().unwrap();
    let ended = akin(&["import", file, "/nowhere", "--url", &server.url()]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains(&format!("failed: {file}:4: no JSON\n")), "{}", ended.stderr);
    assert!(ended.stderr.contains("failed: /nowhere: No such file"), "{}", ended.stderr);
    for line in
        ["2 accepted", "2 created", "2 failed", "1 are near-duplicates of earlier documents"]
    {
        assert!(ended.stdout.contains(line), "{line} not in {}", ended.stdout);
    }
}

#[test]
fn verbose_reports_each_failure_once() {
    let server = Server::start();
    let ended = akin(&["import", "/nowhere", "--verbose", "--url", &server.url()]);
    assert_eq!(ended.code, Some(1));
    assert_eq!(ended.stderr.matches("failed: /nowhere").count(), 1, "{}", ended.stderr);
}

#[test]
fn an_import_without_documents_fails() {
    let server = Server::start();
    let dir = tempfile::tempdir().unwrap();
    let ended = akin(&["import", dir.path().to_str().unwrap(), "--url", &server.url()]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.starts_with("error: there was nothing to import\n"), "{}", ended.stderr);
}

#[test]
fn temporary_failures_are_retried() {
    let server = Server::scripted(|before, _| match before {
        0 | 1 => Some(problem(StatusCode::SERVICE_UNAVAILABLE, "too busy", Some(0))),
        // The first document is taken, the second one not yet.
        2 => Some(Response::new(Body::from(
            "{\"line\":1,\"id\":\"a\",\"status\":\"created\",\"duplicates\":[],\"shingles\":1,\
             \"notes\":[]}\n\
             {\"line\":2,\"status\":\"error\",\"problem\":{\"status\":503,\"detail\":\"full\"}}\n",
        ))),
        _ => None,
    });
    let ended = akin_with_stdin(&["import", "-", "--url", &server.url(), "--json"], TWO);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(ended.stderr, "waiting: too busy\nwaiting: full\n");
    let report: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(report["documents"]["created"], 2);
    let bodies: Vec<Vec<u8>> = server.received().iter().map(|r| r.body.clone()).collect();
    assert_eq!(bodies, [TWO, TWO, TWO, &TWO[TWO.len() / 2..]]);
}

#[test]
fn an_incomplete_answer_is_retried() {
    let server = Server::scripted(|before, _| {
        (before == 0).then(|| {
            let cut = "{\"line\":1,\"id\":\"a\",\"status\":\"created\",\"duplicates\":[],\"shingles\":1,\
                       \"notes\":[]}\n{\"li";
            Response::new(Body::from(cut))
        })
    });
    let ended = akin_with_stdin(&["import", "-", "--url", &server.url(), "--json"], TWO);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(server.received()[1].body, TWO[TWO.len() / 2..]);
}

#[test]
fn an_import_gives_up_with_a_hint() {
    let server = Server::scripted(|_, _| {
        Some(problem(StatusCode::SERVICE_UNAVAILABLE, "too busy", Some(3)))
    });
    let arguments = ["import", "-", "--url", &server.url(), "--patience", "2"];
    let ended = akin_with_stdin(&arguments, TWO);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("error: gave up after 0 s without progress: too busy"));
    assert!(ended.stderr.contains("hint: once the server is back"), "{}", ended.stderr);
    assert_eq!(ended.stdout, "");
    assert_eq!(server.received().len(), 1, "a Retry-After of 3 s leaves no second try in 2 s");
}

#[test]
fn a_permanent_refusal_ends_the_import() {
    let server = Server::scripted(|_, _| {
        Some(problem(StatusCode::BAD_REQUEST, "threshold must be above 0", None))
    });
    let ended = akin_with_stdin(&["import", "-", "--url", &server.url()], TWO);
    assert_eq!(ended.code, Some(1));
    assert!(
        ended.stderr.contains("error: the server refuses the import: threshold must be above 0"),
        "{}",
        ended.stderr
    );
    assert_eq!(server.received().len(), 1);
}

#[test]
fn an_unreachable_server_is_reported() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://{free}");
    let ended = akin_with_stdin(&["import", "-", "--url", &url], TWO);
    assert_eq!(ended.code, Some(1));
    assert_eq!(
        ended.stderr,
        format!(
            "error: no akin server answers at {url}\n\
             hint: start a server with `akin serve`, or name its address by --url\n"
        )
    );
}

/// A server that answers at length before it reads on, as backpressure may make a real one do. A
/// client that reads nothing before all is sent would hang: neither fits in the buffers between
/// them.
#[test]
fn long_answers_are_read_while_the_body_is_sent() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let serving = std::thread::spawn(move || {
        for connection in listener.incoming() {
            if long_answer(&connection.unwrap()) {
                return;
            }
        }
    });
    let line = format!("{{\"id\":\"a\",\"text\":\"{}\"}}\n", "y".repeat(20_000_000));
    let ended = akin_with_stdin(&["import", "-", "--url", &url, "--json"], line.as_bytes());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let report: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(report["with_duplicates"], 1);
    serving.join().unwrap();
}

/// Whether it was the import itself.
fn long_answer(connection: &TcpStream) -> bool {
    let mut reader = BufReader::new(connection);
    let mut writer = connection;
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        reader.read_line(&mut head).unwrap();
    }
    if head.starts_with("GET /healthz") {
        let ok = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
        writer.write_all(ok).unwrap();
        return false;
    }
    let duplicate =
        r#"{"id":"b","resemblance":0.9,"estimated":0.9,"interval":[0.8,1],"keys_shared":1}"#;
    let duplicates = vec![duplicate; 260_000].join(",");
    let line = format!(
        r#"{{"id":"a","status":"created","shingles":1,"notes":[],"duplicates":[{duplicates}]}}"#
    );
    writer.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n").unwrap();
    writer.write_all(line.as_bytes()).unwrap();
    reader.skip_until(b'\n').unwrap();
    true
}
