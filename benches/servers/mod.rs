//! The servers that are compared, each with as many threads as there are cores.

use std::fs::File;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command};
use std::thread;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::routing::{get, post};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// The real akin with its defaults, on an empty directory; what it logs goes to a file there.
pub struct Akin {
    pub address: SocketAddr,
    process: Child,
    dir: TempDir,
}

impl Akin {
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts it with further settings, as environment variables.
    pub fn start_with(settings: &[(&str, String)]) -> Self {
        let dir = TempDir::new().expect("a directory");
        let log = dir.path().join("log");
        let built = || env!("CARGO_BIN_EXE_akin").to_owned();
        let server = std::env::var("AKIN_BENCH_SERVER").unwrap_or_else(|_| built());
        let process = Command::new(server)
            .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(dir.path().join("data"))
            .envs(settings.iter().cloned())
            .stderr(File::create(&log).expect("a file"))
            .spawn()
            .expect("akin starts");
        let address = loop {
            match address(&std::fs::read_to_string(&log).expect("the log")) {
                Some(address) => break address,
                None => thread::yield_now(),
            }
        };
        let akin = Self { address, process, dir };
        while !akin.is_ready() {
            thread::yield_now();
        }
        akin
    }

    /// The memory and the processor time that it took, and what it leaves on disk.
    pub fn footprint(&self) -> String {
        let status = std::fs::read_to_string(self.proc("status"));
        let status = status.unwrap_or_default();
        let memory = status.lines().find(|line| line.starts_with("VmRSS")).unwrap_or_default();
        let stored = bytes_below(&self.dir.path().join("data")) / 1_000_000;
        let processor = self.processor_time().as_secs_f64();
        format!("{memory}; {stored} MB on disk; {processor:.1} s of processor time")
    }

    /// What the processor has spent on it, in all its threads.
    pub fn processor_time(&self) -> Duration {
        const TICKS_EACH_SECOND: f64 = 100.0;
        let stat = std::fs::read_to_string(self.proc("stat"));
        let stat = stat.expect("it runs");
        let (_, behind_name) = stat.rsplit_once(')').expect("proc(5)");
        let ticks = behind_name.split_ascii_whitespace().skip(11).take(2);
        let ticks: f64 = ticks.map(|ticks| ticks.parse::<f64>().expect("a number")).sum();
        Duration::from_secs_f64(ticks / TICKS_EACH_SECOND)
    }

    /// A file of proc(5) about it.
    pub fn proc(&self, name: &str) -> String {
        format!("/proc/{}/{name}", self.process.id())
    }

    fn is_ready(&self) -> bool {
        ureq::get(format!("http://{}/readyz", self.address)).call().is_ok()
    }
}

impl Drop for Akin {
    fn drop(&mut self) {
        self.process.kill().expect("it was running");
        self.process.wait().expect("it was running");
    }
}

fn address(log: &str) -> Option<SocketAddr> {
    let address = &log[log.find("127.0.0.1:")?..];
    let end = address.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ':')?;
    address[..end].parse().ok()
}

/// The least that axum can do with the same bodies.
pub struct Echo {
    pub address: SocketAddr,
}

impl Echo {
    pub fn start() -> Self {
        let (listener, address) = listen();
        thread::spawn(move || {
            Runtime::new().expect("a runtime").block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
                let router = Router::new()
                    .route("/echo", post(|body: Bytes| async { body }))
                    .route("/hello", get(|| async { "hello" }));
                axum::serve(listener, router).await.expect("serving");
            });
        });
        Self { address }
    }
}

fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.set_nonblocking(true).expect("a socket");
    let address = listener.local_addr().expect("an address");
    (listener, address)
}

fn bytes_below(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).expect("a directory");
    let bytes = |path: &Path| {
        if path.is_dir() { bytes_below(path) } else { path.metadata().map_or(0, |file| file.len()) }
    };
    entries.map(|entry| bytes(&entry.expect("an entry").path())).sum()
}
