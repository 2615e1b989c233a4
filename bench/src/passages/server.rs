//! A server with the index of passages and without: the same posts, then searches.

use std::path::PathBuf;
use std::time::Instant;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::Arguments;
use crate::client::{self, Load};
use crate::made::{Numbers, each_document};
use crate::measured::{processor_s, resident_bytes};
use crate::participants::{Job, Server};
use crate::report::{short, thousands};

const DOCUMENT_BYTES: usize = 1_000;
/// Documents posted one at a time.
const POSTS: usize = 20_000;
const CONNECTIONS: usize = 32;
/// Runs without and with passages, in turns. The best run of each counts.
const ROUNDS: usize = 3;
const SETTINGS: [&str; 2] = ["without passages", "passages of 32 words"];
/// Documents in a request of an import.
const PER_REQUEST: usize = 10_000;
const PROBE_WORDS: [usize; 3] = [50, 200, 1_000];
const PROBES: usize = 500;

pub fn measure(arguments: &Arguments) -> String {
    posts(arguments) + "\n" + &searches(arguments)
}

struct Posted {
    load: Load,
    processor_s: f64,
}

fn posts(arguments: &Arguments) -> String {
    let bodies = (0..).zip(each_document(DOCUMENT_BYTES)).take(POSTS);
    let requests: Vec<Vec<u8>> =
        bodies.map(|(id, text)| client::post("/documents", &document(id, &text))).collect();
    let mut best = [None, None];
    for _ in 0..ROUNDS {
        for (setting, best) in SETTINGS.into_iter().zip(&mut best) {
            let posted = post_all(arguments, setting, &requests);
            let rate = |posted: &Posted| posted.load.rate();
            if best.as_ref().is_none_or(|best| rate(best) < rate(&posted)) {
                *best = Some(posted);
            }
        }
    }
    let mut table = format!(
        "| {} posts over {CONNECTIONS} connections | posts/s | p50 µs | p99 µs | CPU µs a post \
         |\n|---|--:|--:|--:|--:|\n",
        thousands(POSTS as u64)
    );
    for (setting, posted) in SETTINGS.into_iter().zip(best.into_iter().flatten()) {
        let us = |percent| short(posted.load.percentile(percent).as_secs_f64() * 1e6);
        let rate = short(posted.load.rate());
        let processor_us = short(posted.processor_s * 1e6 / POSTS as f64);
        table += &format!("| {setting} | {rate} | {} | {} | {processor_us} |\n", us(50), us(99));
    }
    table
}

fn document(id: usize, text: &str) -> String {
    json!({ "id": id.to_string(), "text": text }).to_string()
}

fn post_all(arguments: &Arguments, setting: &str, requests: &[Vec<u8>]) -> Posted {
    let dir = TempDir::new_in(&arguments.work).expect("a directory");
    let server = start(arguments, setting, &dir);
    let before = processor_s(server.id());
    let load = client::run(server.address, requests, CONNECTIONS);
    Posted { load, processor_s: processor_s(server.id()) - before }
}

fn start(arguments: &Arguments, setting: &str, dir: &TempDir) -> Server {
    let job = Job {
        task: "passages".to_owned(),
        participant: "akin".to_owned(),
        setting: setting.to_owned(),
        corpus: PathBuf::new(),
        documents: 0,
        found: PathBuf::new(),
        akin: arguments.akin.clone(),
        python: PathBuf::new(),
        peers: PathBuf::new(),
    };
    Server::start(&job, dir)
}

/// Imports the documents, and searches for runs of their words.
fn searches(arguments: &Arguments) -> String {
    let dir = TempDir::new_in(&arguments.work).expect("a directory");
    let server = start(arguments, SETTINGS[1], &dir);
    let words = import(&server, arguments.documents);
    let stats = server.get("/stats");
    let documents = arguments.documents as f64;
    let bytes = stats["passages"]["bytes"].as_f64().expect("a figure") / documents;
    let resident = resident_bytes(&server.id().to_string()) as f64 / documents;
    let mut table = format!(
        "{} documents of {} words: {} B each in the index of passages, {} B resident.\n\n\
         | a search for | p50 µs | p99 µs | truncated |\n|---|--:|--:|--:|\n",
        thousands(arguments.documents as u64),
        short(words.len() as f64 / (documents / 100.0).ceil()),
        short(bytes),
        short(resident)
    );
    for length in PROBE_WORDS {
        table += &search(&server, &words, length);
    }
    table
}

/// Returns the words of every hundredth document.
fn import(server: &Server, documents: usize) -> Vec<String> {
    let (mut body, mut words) = (String::new(), Vec::new());
    let began = Instant::now();
    for (id, text) in (0..documents).zip(each_document(DOCUMENT_BYTES)) {
        body += &(document(id, &text) + "\n");
        if id % 100 == 0 {
            words.extend(text.split_whitespace().map(str::to_owned));
        }
        if (id + 1) % PER_REQUEST == 0 || id + 1 == documents {
            client::bulk(server.address, "", &std::mem::take(&mut body));
        }
    }
    println!("{documents} documents imported in {:.0} s", began.elapsed().as_secs_f64());
    words
}

/// A row of the table: searches over one connection.
fn search(server: &Server, words: &[String], length: usize) -> String {
    let mut random = Numbers(5);
    let bodies: Vec<String> = (0..PROBES)
        .map(|_| {
            let from = random.below(words.len() - length);
            json!({ "text": words[from..from + length].join(" ") }).to_string()
        })
        .collect();
    let requests: Vec<_> = bodies.iter().map(|body| client::post("/passages", body)).collect();
    let load = client::run(server.address, &requests, 1);
    let truncated = bodies.iter().filter(|body| is_truncated(server, body)).count();
    let us = |percent| short(load.percentile(percent).as_secs_f64() * 1e6);
    let share = short(truncated as f64 * 100.0 / PROBES as f64);
    format!("| {length} words | {} | {} | {share} % |\n", us(50), us(99))
}

fn is_truncated(server: &Server, body: &str) -> bool {
    let request = ureq::post(format!("http://{}/passages", server.address));
    let request = request.header("content-type", "application/json");
    let mut answer = request.send(body).expect("the server answers");
    let text = answer.body_mut().read_to_string().expect("an answer");
    let answer: Value = serde_json::from_str(&text).expect("JSON");
    answer["truncated"].as_bool().expect("a search says it")
}
