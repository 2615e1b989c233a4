//! What the server does a second, beside a bare axum that only echoes the same bodies:
//! `cargo bench --bench http -- [DOCUMENTS]`.
//!
//! Servers and clients share the machine's cores, so the figures are for comparing:
//! each row names its share of the bare server's rate, measured with the same clients. Documents
//! are made up, 5.8 kB and 1 kB; one in five is a near-copy of the one before it.

mod client;
#[path = "../crates/akin-core/benches/corpus/mod.rs"]
mod corpus;
mod servers;

use std::time::{Duration, Instant};

use client::Load;
use corpus::Numbers;
use servers::{Akin, Echo};

const DOCUMENTS: usize = 20_000;
const CONNECTIONS: usize = 64;
const POSTING: [usize; 3] = [64, 256, 1_024];

fn main() {
    let mut arguments = std::env::args().skip(1);
    let documents = arguments.find_map(|count| count.parse().ok()).unwrap_or(DOCUMENTS);
    let (akin, echo) = (Akin::start(), Echo::start());
    println!("{:<34} {:>10} {:>8} {:>8} {:>8}", "", "a second", "p50 us", "p99 us", "share");

    let bodies = bodies(documents, 5_800);
    let posts: Vec<Vec<u8>> = bodies.iter().map(|body| client::post("/documents", body)).collect();
    let echoed: Vec<Vec<u8>> = bodies.iter().map(|body| client::post("/echo", body)).collect();
    // More connections are larger groups: each sync of the disk is for more documents.
    let shares = posts.len() / POSTING.len();
    for (connections, posts) in POSTING.into_iter().zip(posts.chunks(shares.max(1))) {
        let bare = client::run(echo.address, &echoed[..posts.len()], connections);
        print(&format!("echo of 5.8 kB, {connections} connections"), &bare, None);
        let stored = client::run(akin.address, posts, connections);
        print(&format!("POST /documents, {connections} connections"), &stored, Some(&bare));
    }
    drop((posts, echoed, bodies));

    let hello = vec![client::get("/hello"); documents];
    let lookups: Vec<Vec<u8>> =
        (0..documents).map(|n| client::get(&format!("/similar?id=d{n}"))).collect();
    for (title, connections) in [("64 connections", CONNECTIONS), ("one connection", 1)] {
        let bare = client::run(echo.address, &hello, connections);
        print(&format!("hello, bare axum, {title}"), &bare, None);
        let found = client::run(akin.address, &lookups, connections);
        print(&format!("GET /similar?id=, {title}"), &found, Some(&bare));
    }
    collapse(&akin, documents);
    bulk(&akin, documents * 5);
    println!("{}", akin.footprint());
    drop(akin);
    versions(documents);
}

/// Lists of 100 ids, whose sets were used just before.
fn collapse(akin: &Akin, documents: usize) {
    let list = |start: usize| {
        let ids: Vec<String> =
            (0..100).map(|n| format!("d{}", (start * 20 + n) % documents)).collect();
        client::post("/collapse", &serde_json::json!({ "ids": ids }).to_string())
    };
    let lists: Vec<Vec<u8>> = (0..documents / 20).map(list).collect();
    client::run(akin.address, &lists, CONNECTIONS);
    for (title, connections) in [("64 connections", CONNECTIONS), ("one connection", 1)] {
        let collapsed = client::run(akin.address, &lists, connections);
        print(&format!("POST /collapse, {title}"), &collapsed, None);
    }
}

/// Documents as JSON, `d0`, `d1`…
fn bodies(count: usize, bytes: usize) -> Vec<String> {
    let mut random = Numbers(7);
    let mut texts = corpus::each_document(bytes).take(count).collect::<Vec<_>>();
    for number in (1..count).filter(|number| number % 5 == 0) {
        let copy = texts[number - 1].clone();
        let place = random.below(copy.len() - 100);
        texts[number] = copy.chars().filter(char::is_ascii).collect();
        texts[number].insert_str(place, " something else altogether ");
    }
    let body = |(number, text): (usize, String)| {
        serde_json::json!({ "id": format!("d{number}"), "text": text }).to_string()
    };
    texts.into_iter().enumerate().map(body).collect()
}

fn bulk(akin: &Akin, documents: usize) {
    let body = bodies(documents, 1_000).join("\n");
    let started = Instant::now();
    let results = client::bulk(akin.address, "", &body);
    assert_eq!(results, documents, "every document has a result");
    let load = Load { times: vec![Duration::ZERO], took: started.elapsed(), requests: documents };
    print("NDJSON documents of 1 kB", &load, None);
}

/// The processor time of documents that replace documents, which the answer compares with the
/// replaced versions, beside that of new documents.
fn versions(documents: usize) {
    let akin = Akin::start();
    let bodies = bodies(documents, 5_800);
    let changed = |old: &str, new: &str| -> Vec<String> {
        bodies.iter().map(|body| body.replacen(old, new, 1)).collect()
    };
    let (text, metadata) = ("\"text\":\"", "\"metadata\":{\"n\":1},\"text\":\"");
    for (title, lines) in [
        ("new documents", bodies.clone()),
        ("changed metadata", changed(text, metadata)),
        ("changed texts", changed(text, "\"text\":\"Another beginning. ")),
        ("new documents again", changed("\"id\":\"", "\"id\":\"again/")),
    ] {
        let before = akin.processor_time();
        assert_eq!(client::bulk(akin.address, "", &lines.join("\n")), documents);
        let spent = akin.processor_time().saturating_sub(before);
        println!(
            "{title:<34} {:>7.0} us of processor time",
            spent.as_secs_f64() * 1e6 / documents as f64
        );
    }
}

fn print(title: &str, load: &Load, bare: Option<&Load>) {
    let share = bare.map_or(String::new(), |bare| format!("{:.2}", load.rate() / bare.rate()));
    println!(
        "{title:<34} {:>10.0} {:>8} {:>8} {share:>8}",
        load.rate(),
        load.percentile(50).as_micros(),
        load.percentile(99).as_micros(),
    );
}
