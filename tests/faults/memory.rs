//! A limit of the address space, beyond which allocations fail.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

use crate::server::Server;

/// The limit of the processes below, in KiB.
const LIMIT_KIB: u64 = 1 << 20;

fn start(data: &Path, settings: &[(&str, &str)]) -> Server {
    let mut command = Command::new("sh");
    let akin = env!("CARGO_BIN_EXE_akin");
    let serve = format!("exec {akin} serve --listen 127.0.0.1:0 --data-dir $0");
    command.args(["-c", &format!("ulimit -v {LIMIT_KIB}; {serve}")]).arg(data);
    command.env("AKIN__LOG__FORMAT", "json").envs(settings.iter().copied());
    Server::spawn(command).unwrap()
}

/// JSON with a text of so many equal letters, compressed.
fn body(letters: usize) -> Vec<u8> {
    let mut body = GzEncoder::new(Vec::new(), Compression::fast());
    let megabyte = vec![b'a'; 1 << 20];
    body.write_all(b"{\"text\": \"").unwrap();
    for _ in 0..letters >> 20 {
        body.write_all(&megabyte).unwrap();
    }
    body.write_all(b"\"}").unwrap();
    body.finish().unwrap()
}

/// The head and the body of the answer.
fn post(address: &str, body: &[u8]) -> String {
    let mut connection = TcpStream::connect(address).unwrap();
    let head = "POST /similar HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
                content-encoding: gzip\r\nconnection: close";
    write!(connection, "{head}\r\ncontent-length: {}\r\n\r\n", body.len()).unwrap();
    connection.write_all(body).unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    answer
}

/// Rust ends the process if an allocation fails, so under `ulimit -v` a single compressed request
/// could end the server for all clients.
#[test]
fn failed_allocation_refuses_a_single_request() {
    let dir = tempfile::tempdir().unwrap();
    // The budget and the limits of bodies allow more than the process may allocate.
    let settings = [
        ("AKIN__SERVER__MEMORY_MAX", "1099511627776"),
        ("AKIN__SERVER__BODY_BYTES_MAX", "1073741824"),
        ("AKIN__SERVER__REQUEST_TIMEOUT_MS", "600000"),
    ];
    let mut server = start(dir.path(), &settings);
    let address = server.url.trim_start_matches("http://").to_owned();
    let (large, little) = (body(128 << 20), body(1 << 20));
    for _ in 0..2 {
        let refused = post(&address, &large);
        assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
        assert!(refused.contains("memory_budget_exhausted"), "{refused}");
        assert!(refused.contains("ulimit -v"), "{refused}");
        let small = post(&address, &little);
        assert!(small.starts_with("HTTP/1.1 200"), "{small}");
    }
    assert!(server.is_running());
    assert!(server.stop().0.success());
}

/// By default the budget is a part of the machine's memory. Where the address space is smaller,
/// requests within the budget would exhaust it and end the process.
#[test]
fn default_memory_budget_fits_the_address_space() {
    let dir = tempfile::tempdir().unwrap();
    let server = start(dir.path(), &[]);
    let log = server.log();
    let line = log.lines().find(|line| line.contains("memory budget of requests")).unwrap();
    let line: Value = serde_json::from_str(line).unwrap();
    assert!(line["memory_max"].as_u64().unwrap() <= LIMIT_KIB * 1024 / 4, "{line}");
    assert!(server.stop().0.success());
}
