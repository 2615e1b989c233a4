//! Services under one and the same load: documents posted one at a time, then looked up by id.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use super::Job;
use super::servers::Server;
use crate::client::{self, Load};
use crate::corpus::{documents, lines};
use crate::found::Found;
use crate::made::Numbers;
use crate::measured::{peak_bytes, percentiles_us, processor_s};
use crate::outcome::Outcome;

const CONNECTIONS: usize = 32;

/// Lookups over one connection, for the time that one takes.
const ALONE: usize = 2_000;

/// Documents whose matches are held against the truth.
const SCORED: usize = 2_000;

/// Fast servers are through with all documents in a second, so they are run as often as this and
/// the best run counts.
const ROUNDS: usize = 3;

pub fn measure(job: &Job) -> Outcome {
    let rounds = if job.participant.starts_with("FastAPI") { 1 } else { ROUNDS };
    let load = Requests::of(job);
    let done = (0..rounds).map(|_| round(job, &load));
    let better = |a: Outcome, b: Outcome| if rate(&b) > rate(&a) { b } else { a };
    done.reduce(better).expect("there is a round")
}

fn rate(outcome: &Outcome) -> f64 {
    outcome.get("posts_per_s").unwrap_or_default()
}

/// Made beforehand.
struct Requests {
    posts: Vec<Vec<u8>>,
    lookups: Vec<Vec<u8>>,
    ids: Vec<String>,
}

impl Requests {
    fn of(job: &Job) -> Self {
        let posts = lines(&job.corpus, job.documents);
        let posts = posts.map(|body| client::post("/documents", &body)).collect();
        let ids: Vec<String> =
            documents(&job.corpus, job.documents).map(|document| document.id).collect();
        let mut random = Numbers(3);
        let lookup = |_| client::get(&look_up(&ids[random.below(ids.len())]));
        let lookups = (0..ids.len()).map(lookup).collect();
        Self { posts, lookups, ids }
    }
}

fn look_up(id: &str) -> String {
    format!("/similar?id={}", encoded(id))
}

/// Percent-encoding for a query.
fn encoded(id: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
            char::from(byte).to_string()
        }
        other => format!("%{other:02X}"),
    };
    id.bytes().map(byte).collect()
}

fn round(job: &Job, requests: &Requests) -> Outcome {
    let dir = TempDir::new_in(&job.corpus).expect("a directory");
    let server = Server::start(job, &dir);
    let mut outcome = job.outcome("");
    let before = processor_s(server.id());
    let posted = client::run(server.address, &requests.posts, CONNECTIONS);
    let between = processor_s(server.id());
    let found = client::run(server.address, &requests.lookups, CONNECTIONS);
    let after = processor_s(server.id());
    let alone = &requests.lookups[..requests.lookups.len().min(ALONE)];
    let alone = client::run(server.address, alone, 1);

    tell(&mut outcome, "post", &posted, between - before);
    tell(&mut outcome, "get", &found, after - between);
    outcome.set("get_alone_p50_us", alone.percentile(50).as_secs_f64() * 1e6);
    outcome.set("peak_bytes", peak_bytes(&server.id().to_string()) as f64);
    if job.participant != "axum" {
        write_found(job, &server, &requests.ids);
    }
    outcome
}

/// `processor_s`: what the server had of the processors meanwhile. Clients have the rest, so the
/// rate by that is what a core could do.
fn tell(outcome: &mut Outcome, name: &str, load: &Load, processor_s: f64) {
    outcome.set(&format!("{name}s_per_s"), load.rate());
    outcome.set(&format!("{name}s_per_core_s"), load.requests as f64 / processor_s);
    outcome.set(&format!("{name}_p50_us"), load.percentile(50).as_secs_f64() * 1e6);
    outcome.set(&format!("{name}_p99_us"), load.percentile(99).as_secs_f64() * 1e6);
    outcome.lines.insert(format!("{name}_percentiles_us"), percentiles_us(&load.times));
}

/// What is found of some documents, after all have been posted.
fn write_found(job: &Job, server: &Server, ids: &[String]) {
    let numbers: HashMap<&str, u32> = ids.iter().map(String::as_str).zip(0..).collect();
    let agent = ureq::Agent::config_builder().timeout_global(Some(Duration::from_secs(60)));
    let agent = ureq::Agent::new_with_config(agent.build());
    let mut found = Found::default();
    for (number, id) in (0..).zip(ids).take(SCORED) {
        let url = format!("http://{}{}&limit=10000", server.address, look_up(id));
        let mut answer = agent.get(url).call().expect("the server answers");
        let text = answer.body_mut().with_config().limit(u64::MAX).read_to_string();
        let answer: Value = serde_json::from_str(&text.expect("an answer")).expect("JSON");
        for found_match in answer["matches"].as_array().expect("matches") {
            found.push(number, numbers[found_match["id"].as_str().expect("an id")]);
        }
    }
    found.write(&job.found);
}

/// The documents that [`measure`] held against the truth.
pub fn is_scored(number: u32) -> bool {
    (number as usize) < SCORED
}
