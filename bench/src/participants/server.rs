//! What a server has to do besides: take everything in bulk, hold it, and come back after a crash.

use std::thread::sleep;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::Value;
use tempfile::TempDir;

use super::Job;
use super::servers::Server;
use crate::client;
use crate::corpus::lines;
use crate::measured::{processor_s, resident_bytes};
use crate::outcome::Outcome;

/// An allocator gives memory back a while after it was freed.
const SETTLING: Duration = Duration::from_secs(20);

pub fn measure(job: &Job) -> Outcome {
    let dir = TempDir::new_in(&job.corpus).expect("a directory");
    let mut outcome = job.outcome("");
    let server = Server::start(job, &dir);
    let began = Timestamp::now();
    import(&server, job, &mut outcome);
    let took = Timestamp::now().duration_since(began);
    let stats = server.get("/stats");
    let documents = job.documents as f64;
    let figure = |name: &str| stats[name].as_f64().expect("a figure");
    outcome.set("index_bytes", (figure("index_bytes") - figure("ids_bytes")) / documents);
    outcome.set("ids_bytes", figure("ids_bytes") / documents);
    outcome.set("resident_bytes", resident_bytes(&server.id().to_string()) as f64 / documents);

    let unchecked = TempDir::new_in(&job.corpus).expect("a directory");
    import_unchecked(&Server::start(job, &unchecked), job, &mut outcome);
    drop(unchecked);

    server.kill();
    restart(job, &dir, &mut outcome, "restart_s").kill();
    let snapshots = dir.path().join("data/collections/default/snapshots");
    std::fs::remove_dir_all(snapshots).expect("there is a folder for snapshots");
    let server = restart(job, &dir, &mut outcome, "restart_without_snapshot_s");
    let resident = resident_bytes(&server.id().to_string()) as f64;
    outcome.set("resident_after_restart_bytes", resident / documents);
    remove(&server, began + took * 9 / 10, documents, &mut outcome);
    outcome
}

/// Removes what was stored before a time, which is about nine documents of ten; memory is told
/// for each of all that there were.
fn remove(server: &Server, before: Timestamp, documents: f64, outcome: &mut Outcome) {
    let url = format!("http://{}/documents?stored_before={before}", server.address);
    let started = Instant::now();
    let mut answer = ureq::delete(url).call().expect("the server answers");
    let took = started.elapsed().as_secs_f64();
    let text = answer.body_mut().read_to_string().expect("an answer");
    let answer: Value = serde_json::from_str(&text).expect("JSON");
    let removed = answer["removed"].as_f64().expect("a figure");
    outcome.set("removed_per_s", removed / took);
    outcome.set("removed_share", removed / documents);
    sleep(SETTLING);
    let stats = server.get("/stats");
    let figure = |name: &str| stats[name].as_f64().expect("a figure");
    outcome.set("index_after_removal_bytes", figure("index_bytes") / documents);
    let resident = resident_bytes(&server.id().to_string()) as f64;
    outcome.set("resident_after_removal_bytes", resident / documents);
}

fn import(server: &Server, job: &Job, outcome: &mut Outcome) {
    let body = lines(&job.corpus, job.documents).collect::<Vec<_>>().join("\n");
    let before = processor_s(server.id());
    let started = Instant::now();
    let results = client::bulk(server.address, "", &body);
    let took = started.elapsed().as_secs_f64();
    assert_eq!(results, job.documents, "every document is stored");
    outcome.set("bulk_per_s", results as f64 / took);
    outcome.set("bulk_mb_per_s", body.len() as f64 / 1e6 / took);
    outcome.set("bulk_per_core_s", results as f64 / (processor_s(server.id()) - before));
}

/// The same without looking anything up: what is left is reading, sketching and the store.
fn import_unchecked(server: &Server, job: &Job, outcome: &mut Outcome) {
    let body = lines(&job.corpus, job.documents).collect::<Vec<_>>().join("\n");
    let started = Instant::now();
    let created = client::bulk(server.address, "?check=false", &body);
    let took = started.elapsed().as_secs_f64();
    assert_eq!(created, job.documents, "every document is stored");
    outcome.set("bulk_unchecked_per_s", created as f64 / took);
}

fn restart(job: &Job, dir: &TempDir, outcome: &mut Outcome, figure: &str) -> Server {
    let started = Instant::now();
    let server = Server::start(job, dir);
    let took = started.elapsed().as_secs_f64();
    let stored = server.get("/stats")["documents"].as_u64().expect("a figure");
    assert_eq!(stored, job.documents as u64, "nothing that was answered is lost");
    outcome.set(figure, took);
    outcome.set(&format!("{figure}_per_million"), took * 1e6 / job.documents as f64);
    server
}
