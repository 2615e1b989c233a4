//! Settings whose effect only a whole server shows.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::process::pause;
use crate::serving::Serving;

/// So long a test waits for what must come about.
const SOON: Duration = Duration::from_secs(60);

/// A server with these settings.
struct Server {
    serving: Serving,
    dir: TempDir,
}

impl Server {
    fn with(settings: &str) -> Self {
        let dir = TempDir::new().unwrap();
        let file = dir.path().join("akin.toml");
        std::fs::write(&file, settings).unwrap();
        let options = ["--listen", "127.0.0.1:0", "--config", file.to_str().unwrap()];
        let serving = Serving::start_with(&dir.path().join("data"), &options);
        serving.wait_until_ready();
        Self { serving, dir }
    }

    fn get(&self, path: &str) -> String {
        let mut answer = ureq::get(format!("{}{path}", self.serving.url)).call().unwrap();
        answer.body_mut().read_to_string().unwrap()
    }

    fn post(&self, path: &str, body: &Value) {
        let request = ureq::post(format!("{}{path}", self.serving.url));
        let request = request.header("content-type", "application/json");
        assert!(request.send(body.to_string()).unwrap().status().is_success());
    }

    fn add(&self, id: &str) {
        self.post("/documents", &json!({"id": id, "text": "one two three four"}));
    }

    /// The sequences of the snapshots.
    fn snapshots(&self) -> Vec<u64> {
        let listed: Value = serde_json::from_str(&self.get("/snapshots")).unwrap();
        let listed = listed["snapshots"].as_array().unwrap();
        listed.iter().map(|snapshot| snapshot["sequence"].as_u64().unwrap()).collect()
    }

    fn await_snapshot_at(&self, sequence: u64) {
        soon(|| self.snapshots().contains(&sequence));
    }
}

fn soon(mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < SOON, "it never came about");
        pause();
    }
}

const ONLY_ON_REQUEST: &str = "snapshot_interval_s = 0\nsnapshot_operations = 0\n";

#[test]
fn two_snapshots_are_kept() {
    let server = Server::with(&format!("[storage]\n{ONLY_ON_REQUEST}"));
    for sequence in 1..=5 {
        server.add(&sequence.to_string());
        server.post("/snapshots", &json!(null));
        server.await_snapshot_at(sequence);
    }
    soon(|| server.snapshots().len() == 2);
    let files = std::fs::read_dir(server.dir.path().join("data/collections/default/snapshots"));
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name();
    let files = files.unwrap().map(name).filter(|name| !name.to_str().unwrap().starts_with('.'));
    assert_eq!(files.count(), 2);
    assert!(server.serving.stop().success());
}

#[test]
fn snapshot_operations() {
    let server = Server::with("[storage]\nsnapshot_interval_s = 0\nsnapshot_operations = 5\n");
    (0..4).for_each(|n| server.add(&n.to_string()));
    assert!(server.snapshots().is_empty());
    server.add("4");
    server.await_snapshot_at(5);
}

#[test]
fn snapshot_interval_s() {
    let server = Server::with("[storage]\nsnapshot_interval_s = 1\nsnapshot_operations = 0\n");
    server.add("a");
    server.await_snapshot_at(1);
    server.add("b");
    server.await_snapshot_at(2);
}

#[test]
fn recall_interval_s() {
    let server = Server::with("[storage]\nrecall_interval_s = 1\n");
    server.add("a");
    server.add("b");
    for gauge in ["akin_recall_measured", "akin_precision_measured"] {
        soon(|| server.get("/metrics").lines().any(|line| line.starts_with(gauge)));
    }
}

/// What the caches take is counted in the budget of memory from the start.
#[test]
fn page_cache_bytes() {
    let of_caches = |settings: &str| {
        let server = Server::with(&format!("[storage]\nsets_cache_bytes = 1048576\n{settings}"));
        let metrics = server.get("/metrics");
        let series = r#"akin_memory_reserved_bytes{what="caches"} "#;
        let value = metrics.lines().find_map(|line| line.strip_prefix(series));
        value.unwrap_or_else(|| panic!("{metrics}")).parse::<u64>().unwrap()
    };
    assert_eq!(of_caches(""), (1 << 20) + (64 << 20));
    assert_eq!(of_caches("page_cache_bytes = 3145728\n"), (1 << 20) + (3 << 20));
}
