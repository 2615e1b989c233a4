//! Servers as processes of their own: akin, FastAPI with a library behind it, a bare axum.

use std::fs::File;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::routing::{get, post};
use serde_json::Value;
use tempfile::TempDir;

use super::Job;

/// The longest that a start may take.
const START_MAX: Duration = Duration::from_secs(120);

pub struct Server {
    pub address: SocketAddr,
    process: Child,
}

impl Server {
    /// Starts what the job names and waits until it listens. What it says goes to a file in `dir`.
    pub fn start(job: &Job, dir: &TempDir) -> Self {
        let mut command = match job.participant.as_str() {
            "akin" => akin(job, dir.path()),
            "axum" => echoing(job),
            peer => fastapi(job, peer),
        };
        let log = dir.path().join("log");
        let file = File::create(&log).expect("a temporary file");
        let also = file.try_clone().expect("a file");
        let mut process = command.stdout(file).stderr(also).spawn().expect("the server starts");
        let address = wait_for_address(&log, &mut process);
        let server = Self { address, process };
        if job.participant == "akin" {
            server.wait_until_ready();
        }
        server
    }

    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// The answer of akin to `GET`.
    pub fn get(&self, path: &str) -> Value {
        let url = format!("http://{}{path}", self.address);
        let mut answer = ureq::get(url).call().expect("the server answers");
        let text = answer.body_mut().read_to_string().expect("an answer");
        serde_json::from_str(&text).expect("JSON")
    }

    /// As a power cut would, but for the disk.
    pub fn kill(mut self) {
        self.process.kill().expect("it was running");
        self.process.wait().expect("it was running");
    }

    /// How long it takes until `/readyz` says so.
    fn wait_until_ready(&self) {
        let url = format!("http://{}/readyz", self.address);
        let started = Instant::now();
        while ureq::get(&url).call().is_err() {
            assert!(started.elapsed() < START_MAX, "akin does not get ready");
            sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have been killed before.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn akin(job: &Job, dir: &Path) -> Command {
    let mut command = Command::new(&job.akin);
    command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(dir.join("data"));
    let sync = if job.setting.contains("interval") { "interval" } else { "always" };
    command.env("AKIN__STORAGE__SYNC", sync);
    if job.setting.contains("passages of 32 words") {
        command.env("AKIN__COLLECTION__PASSAGES__WORDS", "32");
    }
    // As the others, it does not log requests.
    command.env("AKIN__LOG__LEVEL", "warn,akin::app=info");
    command
}

fn fastapi(job: &Job, peer: &str) -> Command {
    let mut command = Command::new(&job.python);
    let library = peer.trim_start_matches("FastAPI + ");
    command.arg(job.peers.join("service.py")).arg(library);
    command
}

fn echoing(job: &Job) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
    command.args(["take", "echo", "axum", "bare", "--documents", "0", "--corpus"]);
    command.arg(&job.corpus).arg("--found").arg(&job.found);
    command
}

/// The first address of this machine that the server names.
fn wait_for_address(log: &Path, process: &mut Child) -> SocketAddr {
    let started = Instant::now();
    loop {
        let said = std::fs::read_to_string(log).expect("the file that was made");
        if let Some(address) = address(&said) {
            return address;
        }
        let ended = process.try_wait().expect("a child can be asked").is_some();
        assert!(!ended && started.elapsed() < START_MAX, "it does not listen: {said}");
        sleep(Duration::from_millis(1));
    }
}

fn address(said: &str) -> Option<SocketAddr> {
    let address = &said[said.find("127.0.0.1:")?..];
    let end = address.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ':')?;
    address[..end].parse().ok()
}

/// The least that axum can do with the same requests; says its address and never ends by itself.
pub fn echo() {
    tokio::runtime::Runtime::new().expect("a runtime").block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        println!("listening on {} ", listener.local_addr().expect("an address"));
        let router = Router::new()
            .route("/documents", post(|body: Bytes| async { body }))
            .route("/similar", get(|| async { "hello" }));
        axum::serve(listener, router).await.expect("serving");
    });
}
