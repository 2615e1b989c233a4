//! Clients that do as little as possible: requests are made beforehand, answers are read and
//! thrown away.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// What came of a load.
pub struct Load {
    /// Of each request, sorted.
    pub times: Vec<Duration>,
    pub took: Duration,
    pub requests: usize,
}

impl Load {
    pub fn rate(&self) -> f64 {
        self.requests as f64 / self.took.as_secs_f64()
    }

    pub fn percentile(&self, percent: usize) -> Duration {
        self.times[(self.times.len() - 1) * percent / 100]
    }
}

pub fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n").into_bytes()
}

pub fn post(path: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n"
    );
    [head.as_bytes(), body.as_bytes()].concat()
}

/// Sends each request once, over so many connections, each with one request under way.
pub fn run(address: SocketAddr, requests: &[Vec<u8>], connections: usize) -> Load {
    let next = AtomicUsize::new(0);
    let started = Instant::now();
    let mut times: Vec<Duration> = thread::scope(|scope| {
        let connection = || scope.spawn(|| one_connection(address, requests, &next));
        let connections: Vec<_> = (0..connections).map(|_| connection()).collect();
        connections.into_iter().flat_map(|done| done.join().expect("a client")).collect()
    });
    let took = started.elapsed();
    times.sort_unstable();
    Load { times, took, requests: requests.len() }
}

fn one_connection(address: SocketAddr, requests: &[Vec<u8>], next: &AtomicUsize) -> Vec<Duration> {
    let mut stream = TcpStream::connect(address).expect("the server listens");
    stream.set_nodelay(true).expect("a socket");
    let (mut times, mut buffer) = (Vec::new(), Vec::new());
    while let Some(request) = requests.get(next.fetch_add(1, Ordering::Relaxed)) {
        let started = Instant::now();
        stream.write_all(request).expect("the server reads");
        read_answer(&mut stream, &mut buffer);
        times.push(started.elapsed());
    }
    times
}

/// Reads one answer that has a `content-length` and says 200 or 201.
fn read_answer(stream: &mut TcpStream, buffer: &mut Vec<u8>) {
    buffer.clear();
    loop {
        let mut piece = [0; 16 << 10];
        let read = stream.read(&mut piece).expect("the server answers");
        assert!(read > 0, "the server hung up: {}", String::from_utf8_lossy(buffer));
        buffer.extend_from_slice(&piece[..read]);
        let Some(head) = buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n") else { continue };
        if buffer.len() >= head + 4 + content_length(&buffer[..head]) {
            assert!(buffer.starts_with(b"HTTP/1.1 20"), "{}", String::from_utf8_lossy(buffer));
            return;
        }
    }
}

fn content_length(head: &[u8]) -> usize {
    let head = std::str::from_utf8(head).expect("a head is ASCII");
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    length.expect("every answer has a length").parse().expect("a number")
}

/// Sends documents in one request and counts the results, which arrive meanwhile. `query` is as in
/// `?check=false`, or nothing.
pub fn bulk(address: SocketAddr, query: &str, body: &str) -> usize {
    let mut stream = TcpStream::connect(address).expect("the server listens");
    let mut writing = stream.try_clone().expect("a socket");
    let head = format!(
        "POST /documents{query} HTTP/1.1\r\nhost: localhost\r\n\
         content-type: application/x-ndjson\r\n\
         connection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    thread::scope(|scope| {
        scope.spawn(move || {
            writing.write_all(head.as_bytes()).expect("the server reads");
            writing.write_all(body.as_bytes()).expect("the server reads");
        });
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("the server answers");
        answer.matches("\"status\":\"created\"").count()
            + answer.matches("\"status\":\"replaced\"").count()
    })
}
