//! The log of a server that nobody reads.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::command;
use crate::process::Process;

/// More than the log lines that wait (16,384), and that the pipe takes.
const REQUESTS: usize = 20_000;

/// More than the pipe takes.
const REQUESTS_OF_A_PIPE: usize = 2_000;

/// Requests on one connection, as many at a time as the server may answer without being read.
fn request_all(address: &str, requests: usize) {
    const AT_ONCE: usize = 100;
    let mut connection = TcpStream::connect(address).unwrap();
    let mut answers = BufReader::new(connection.try_clone().unwrap()).lines();
    for _ in 0..requests / AT_ONCE {
        let request = format!("GET /stats?no HTTP/1.1\r\nHost: {address}\r\n\r\n");
        connection.write_all(request.repeat(AT_ONCE).as_bytes()).unwrap();
        for _ in 0..AT_ONCE {
            answers.by_ref().find(|line| line.as_ref().unwrap().starts_with("x-request-id"));
        }
    }
}

/// A server that has answered all requests, each of which is a line of the log, and the log, read
/// as far as the address.
fn serve_unread(dir: &Path, requests: usize) -> (Child, BufReader<ChildStderr>) {
    let mut child = command(&["serve", "--listen", "127.0.0.1:0", "--data-dir"])
        .arg(dir)
        .env("AKIN__LOG__REQUESTS", "all")
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap());
    let address = log.by_ref().lines().find_map(|line| {
        let line: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
        line["address"].as_str().map(str::to_owned)
    });
    request_all(&address.unwrap(), requests);
    (child, log)
}

fn terminate(child: &Child) {
    let pid = child.id().to_string();
    assert!(Command::new("sh").args(["-c", "kill -TERM \"$0\"", &pid]).status().unwrap().success());
}

#[test]
fn an_unread_log_blocks_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (mut child, log) = serve_unread(dir.path(), REQUESTS_OF_A_PIPE);
    terminate(&child);
    // Longer than the requests under way and the last words may take together.
    let ended = Instant::now() + Duration::from_secs(60);
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > ended {
            child.kill().unwrap();
            panic!("it waits for the reader of its log");
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    assert_eq!(status.code(), Some(0));
    drop(log);
}

#[test]
fn lines_beyond_the_limit_are_lost_and_counted() {
    let dir = tempfile::tempdir().unwrap();
    let (mut child, log) = serve_unread(dir.path(), REQUESTS);
    let mut lines = log.lines().map(Result::unwrap);
    let is_request = |line: &String| line.contains("/stats");
    let waited = lines.by_ref().filter(is_request).take(16_384).count();
    terminate(&child);
    let rest: Vec<String> = lines.collect();
    assert!(child.wait().unwrap().success());
    let read = waited + rest.iter().filter(|line| is_request(line)).count();
    let lost = rest
        .iter()
        .find_map(|line| line.strip_suffix(" log lines were lost: stderr was read too slowly"));
    let lost: usize = lost.expect("lines were lost").parse().unwrap();
    assert!(read + lost >= REQUESTS, "{read} read, {lost} lost");
}

/// The lines of requests of a server with these settings that has answered all of these.
fn logged(settings: &[(&str, &str)], requests: &[&str]) -> Vec<Value> {
    let dir = tempfile::tempdir().unwrap();
    let mut serve = command(&["serve", "--listen", "127.0.0.1:0", "--data-dir"]);
    serve.arg(dir.path()).envs(settings.iter().copied());
    let mut process = Process::spawn(serve).unwrap();
    process.await_ready().unwrap();
    for request in requests {
        let mut connection = TcpStream::connect(&process.address).unwrap();
        write!(connection, "{request}\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
        connection.read_to_end(&mut Vec::new()).unwrap();
    }
    process.signal("TERM");
    let (status, log) = process.end();
    assert!(status.success(), "{log}");
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["route"].is_string()).collect()
}

const ORDINARY: &str = "GET /stats HTTP/1.1";
const ABSENT: &str = "GET /documents/a HTTP/1.1";
const WRONG: &str = "GET /stats?no HTTP/1.1";

#[test]
fn a_line_has_the_trace_of_its_request() {
    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
    let of = |trace: &str| format!("{ORDINARY}\r\ntraceparent: 00-{trace}-b7ad6b7169203331-01");
    let requests = [of(TRACE), of("no-hexadecimal-digits"), ORDINARY.to_owned()];
    let lines = logged(&[("AKIN__LOG__REQUESTS", "all")], &requests.each_ref().map(String::as_str));
    let traces: Vec<&Value> = lines.iter().map(|line| &line["trace_id"]).collect();
    assert_eq!(traces, [&Value::from(TRACE), &Value::Null, &Value::Null]);
}

#[test]
fn by_default_a_line_is_written_for_errors_alone() {
    let all = [ORDINARY, ABSENT, WRONG];
    for (requests, statuses) in
        [("all", &[200, 404, 400][..]), ("slow", &[400]), ("errors", &[400])]
    {
        let lines = logged(&[("AKIN__LOG__REQUESTS", requests)], &all);
        let found: Vec<_> = lines.iter().map(|line| line["status"].as_u64().unwrap()).collect();
        assert_eq!(found, statuses, "{requests}");
    }
    let lines = logged(&[], &all);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(lines[0]["code"], "invalid_parameter");
    // It quotes the request.
    assert_eq!(lines[0].get("detail"), None, "{lines:?}");
}

#[test]
fn refusals_of_web_pages_are_logged_with_their_reason() {
    let preflight = "OPTIONS /documents HTTP/1.1\r\naccess-control-request-method: POST\r\norigin:";
    let listed = format!("{preflight} https://shop.example");
    let requests = [
        "GET /stats HTTP/1.1\r\norigin: https://evil.example",
        "GET /stats HTTP/1.1\r\nsec-fetch-site: cross-site",
        &format!("{preflight} https://evil.example"),
        &format!("{listed}\r\naccess-control-request-headers: content-type,x-trace"),
        &listed,
    ];
    let reasons = [
        "a web page of https://evil.example sent the request; server.cors_origins lists",
        "a web page of another site sent the request",
        "a web page of https://evil.example sent the request; server.cors_origins lists",
        "a web page wants to send the header 'x-trace'",
    ];
    let origins = [("AKIN__SERVER__CORS_ORIGINS", r#"["https://shop.example"]"#)];
    let lines = logged(&origins, &requests);
    assert_eq!(lines.len(), reasons.len(), "{lines:?}");
    for (line, reason) in lines.iter().zip(reasons) {
        assert_eq!((&line["status"], &line["code"]), (&403.into(), &"foreign_origin".into()));
        assert!(line["detail"].as_str().unwrap().contains(reason), "{reason}: {line}");
    }
    // Without any origin there is no layer for preflights.
    let lines = logged(&[], &[&listed]);
    assert!(lines[0]["detail"].as_str().unwrap().contains("https://shop.example"), "{lines:?}");
}
