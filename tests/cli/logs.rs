//! The log of a server that nobody reads.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use crate::command;

/// More than the log lines that wait (16,384), and that the pipe takes.
const REQUESTS: usize = 20_000;

/// Requests on one connection, as many at a time as the server may answer without being read.
fn request_all(address: &str) {
    const AT_ONCE: usize = 100;
    let mut connection = TcpStream::connect(address).unwrap();
    let mut answers = BufReader::new(connection.try_clone().unwrap()).lines();
    for _ in 0..REQUESTS / AT_ONCE {
        let request = format!("GET /stats?no HTTP/1.1\r\nHost: {address}\r\n\r\n");
        connection.write_all(request.repeat(AT_ONCE).as_bytes()).unwrap();
        for _ in 0..AT_ONCE {
            answers.by_ref().find(|line| line.as_ref().unwrap().starts_with("x-request-id"));
        }
    }
}

/// A server that has answered all requests, each of which is a line of the log, and the log, read as
/// far as the address.
fn serve_unread(dir: &Path) -> (Child, BufReader<ChildStderr>) {
    let mut child = command(&["serve", "--listen", "127.0.0.1:0", "--data-dir"])
        .arg(dir)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap());
    let address = log.by_ref().lines().find_map(|line| {
        let line: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
        line["address"].as_str().map(str::to_owned)
    });
    request_all(&address.unwrap());
    (child, log)
}

fn terminate(child: &Child) {
    let pid = child.id().to_string();
    assert!(Command::new("sh").args(["-c", "kill -TERM \"$0\"", &pid]).status().unwrap().success());
}

#[test]
fn an_unread_log_blocks_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (mut child, log) = serve_unread(dir.path());
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
    let (mut child, log) = serve_unread(dir.path());
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
