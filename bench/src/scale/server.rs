//! The server with a crawl: filled by `akin import`, asked, killed, and started again.

use std::process::{Command, Stdio};
use std::time::Instant;

use tempfile::TempDir;

use super::{Arguments, Corpus, outcome};
use crate::client;
use crate::corpus::made_up_id;
use crate::made::Numbers;
use crate::measured::{percentile_us, processor_s, resident_bytes};
use crate::outcome::Outcome;
use crate::participants::{Job, Server};

const LOOKUPS: usize = 20_000;

pub fn measure(arguments: &Arguments, documents: usize) -> Outcome {
    let corpus = Corpus::make(arguments, documents, "crawl.jsonl");
    let mut outcome = outcome("server", arguments, documents, &corpus);
    let folder = &corpus.folder;
    let job = Job {
        task: "server".to_owned(),
        participant: "akin".to_owned(),
        setting: outcome.setting.clone(),
        corpus: folder.path().to_owned(),
        documents,
        found: folder.path().join("found.bin"),
        akin: arguments.akin.clone(),
        python: "python3".into(),
        peers: "bench/peers".into(),
    };
    let dir = TempDir::new_in(folder.path()).expect("a directory");
    let server = Server::start(&job, &dir);
    let (before, started) = (processor_s(server.id()), Instant::now());
    let mut import = Command::new(&arguments.akin);
    import.arg("import").arg(&corpus.file).args(["--quiet", "--url"]);
    import.arg(format!("http://{}", server.address)).stdout(Stdio::null());
    assert!(import.status().expect("akin starts").success(), "all is imported");
    let took = started.elapsed().as_secs_f64();
    let each = documents as f64;
    outcome.set("imports_per_s", each / took);
    outcome.set("imports_per_core_s", each / (processor_s(server.id()) - before));
    outcome.set("resident_bytes", resident_bytes(&server.id().to_string()) as f64 / each);
    let stats = server.get("/stats");
    outcome.set("database_bytes", stats["database_bytes"].as_f64().expect("a figure") / each);
    std::fs::remove_file(&corpus.file).expect("it was imported");
    look_up(&server, documents, &mut outcome);

    server.kill();
    let started = Instant::now();
    let server = Server::start(&job, &dir);
    outcome.set("restart_s", started.elapsed().as_secs_f64());
    let stored = server.get("/stats")["documents"].as_u64();
    assert_eq!(stored, Some(documents as u64), "nothing that was answered is lost");
    outcome.set(
        "resident_after_restart_bytes",
        resident_bytes(&server.id().to_string()) as f64 / each,
    );
    outcome
}

/// By ids at random, one after the other.
fn look_up(server: &Server, documents: usize, outcome: &mut Outcome) {
    let mut random = Numbers(5);
    let path = |_| format!("/similar?id={}", made_up_id(random.below(documents)));
    let requests: Vec<Vec<u8>> = (0..LOOKUPS).map(path).map(|path| client::get(&path)).collect();
    let load = client::run(server.address, &requests, 1);
    outcome.set("lookup_p50_us", percentile_us(&load.times, 50.0));
    outcome.set("lookup_p99_us", percentile_us(&load.times, 99.0));
}
