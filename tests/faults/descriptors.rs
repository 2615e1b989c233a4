//! Connections that take all file descriptors.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::process::Command;

use akin::http::CONNECTIONS_RESERVE;

use crate::server::Server;
use crate::serving::pause;

/// akin with a limit of open files.
fn start(limit: u32, data: &std::path::Path, connections_max: &str) -> Result<Server, String> {
    let mut command = Command::new("sh");
    let akin = env!("CARGO_BIN_EXE_akin");
    let script = format!("ulimit -n {limit}; exec {akin} serve --listen 127.0.0.1:0 --data-dir $0");
    command.args(["-c", &script]).arg(data);
    command.env("AKIN__LOG__FORMAT", "json");
    command.env("AKIN__SERVER__CONNECTIONS_MAX", connections_max);
    Server::spawn(command)
}

/// Sends a document on a new connection; the status.
fn post(address: &str, id: u32) -> std::io::Result<String> {
    let mut connection = TcpStream::connect(address)?;
    let document = format!("{{\"id\": \"{id}\", \"text\": \"one two three {id}\"}}");
    let head = "POST /documents HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json";
    let length = document.len();
    write!(connection, "{head}\r\ncontent-length: {length}\r\n\r\n{document}")?;
    let mut answer = [0; 4096];
    let bytes = connection.read(&mut answer)?;
    Ok(String::from_utf8_lossy(answer[..bytes].get(9..12).unwrap_or_default()).into_owned())
}

/// Waits until the server has closed the connections beyond a client's share, half of 200, and the
/// reserve for probes. While it closes them, it refuses this client's further connections.
fn await_closing(connections: &[TcpStream]) {
    let is_open = |connection: &&TcpStream| {
        connection.set_nonblocking(true).unwrap();
        let read = connection.peek(&mut [0]);
        read.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    };
    while connections.iter().filter(is_open).count() > 100 + CONNECTIONS_RESERVE {
        pause();
    }
}

/// The first write once opened the write-ahead log. When idle connections had taken all file
/// descriptors, this write failed, and the process ended.
#[test]
fn connections_leave_descriptors_for_the_store() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = start(400, dir.path(), "4096").unwrap();
    assert!(server.log().contains("connections_max reduced"), "{}", server.log());
    let address = server.url.trim_start_matches("http://").to_owned();
    // More than the server may have open; it closes idle ones for those that come later.
    let idle: Vec<_> = (0..300).flat_map(|_| TcpStream::connect(&address)).collect();
    assert!(idle.len() > 200);
    await_closing(&idle);
    for id in 0..20 {
        let is_stored =
            |_| post(&address, id).is_ok_and(|status| status == "201" || status == "200");
        assert!((0..100).any(is_stored), "{id}: {}", server.log());
    }
    assert!(server.is_running());
    assert!(server.stop().0.success());
}

/// With a limit of open files that the stores use up, a server would start and then refuse every
/// connection without an explanation.
#[test]
fn limit_without_room_for_connections_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let refused = start(48, dir.path(), "4096").err().unwrap();
    assert!(refused.contains("open files"), "{refused}");
}
