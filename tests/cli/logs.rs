//! The log of a server that nobody reads.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::command;

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

#[test]
fn an_unread_log_blocks_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = command(&["serve", "--listen", "127.0.0.1:0", "--data-dir"])
        .arg(dir.path())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap());
    let address = log.by_ref().lines().find_map(|line| {
        let line: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
        line["address"].as_str().map(str::to_owned)
    });
    // More lines than wait, and than the pipe takes.
    request_all(&address.unwrap(), 20_000);
    let pid = child.id().to_string();
    assert!(Command::new("sh").args(["-c", "kill -TERM \"$0\"", &pid]).status().unwrap().success());
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
