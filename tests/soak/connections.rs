//! Connections that hold memory without a key: heads without an end, and buffers that large bodies
//! leave behind. What the system gave the process is measured.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::memory::peak_bytes;
use crate::server::Server;

const MEMORY_MAX: usize = 64 << 20;

const CONNECTIONS: usize = 3_000;

/// Addresses of this machine, as one has a share of the connections.
const ATTACKERS: usize = 4;

const HEAD: &[u8] = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: ";
const BODY: &[u8] = b"POST /nowhere HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000000\r\n\r\n";

/// A head that does not end, or a body that is refused; of either so many bytes are sent.
const ATTACKS: [(&str, &[u8], usize); 2] = [("heads", HEAD, 362_000), ("bodies", BODY, 1_000_000)];

/// Longer than a connection to a server under attack may take.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn connections_cannot_take_much_memory() {
    let runtime = Runtime::new().unwrap();
    for (attack, begin, bytes) in ATTACKS {
        let dir = tempfile::tempdir().unwrap();
        let settings = [("AKIN__SERVER__MEMORY_MAX", MEMORY_MAX.to_string())];
        let server = Server::start_with(dir.path(), &settings);
        let address = server.url.trim_start_matches("http://").parse().unwrap();
        let before = peak_bytes(server.process_id());
        runtime.block_on(attacked(address, begin, bytes));
        let peak = peak_bytes(server.process_id());
        println!("{attack}: {} MiB, then {} MiB at the most", before >> 20, peak >> 20);
        assert!(peak - before < MEMORY_MAX, "{attack}: {before} bytes, then {peak} at the most");
    }
}

/// Opens the connections, and meanwhile asks as a client that does no harm.
async fn attacked(address: SocketAddr, begin: &'static [u8], bytes: usize) {
    let mut attackers = JoinSet::new();
    for number in 0..CONNECTIONS {
        attackers.spawn(attack(number, address, begin, bytes));
        if number % (CONNECTIONS / 10) == 0 {
            timeout(PATIENCE, is_served(address)).await.expect("the client is served");
        }
    }
    let held = attackers.join_all().await;
    timeout(PATIENCE, is_served(address)).await.expect("the client is served");
    drop(held);
}

/// A connection that has sent its bytes, as far as the server takes them.
async fn attack(number: usize, address: SocketAddr, begin: &[u8], bytes: usize) -> TcpStream {
    let mut stream = connect(2 + number % ATTACKERS, address).await;
    let piece = [b'a'; 10_000];
    let sending = async {
        stream.write_all(begin).await?;
        for _ in 0..bytes / piece.len() {
            stream.write_all(&piece).await?;
        }
        std::io::Result::Ok(())
    };
    // The server closes the connections that it has no room for.
    let _ = timeout(PATIENCE, sending).await;
    stream
}

/// From the address 127.0.0.`host`.
async fn connect(host: usize, address: SocketAddr) -> TcpStream {
    loop {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(format!("127.0.0.{host}:0").parse().unwrap()).unwrap();
        if let Ok(stream) = socket.connect(address).await {
            return stream;
        }
    }
}

/// As clients do, it tries again if its connection was closed before it had sent its request.
async fn is_served(address: SocketAddr) {
    let request = b"GET /documents HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    loop {
        let mut stream = connect(9, address).await;
        let mut answer = String::new();
        let _ = stream.write_all(request).await;
        let _ = stream.read_to_string(&mut answer).await;
        if !answer.is_empty() {
            return assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
        }
    }
}
