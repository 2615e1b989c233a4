//! Lookups while another client imports: `cargo bench --bench lookups_during_import --
//! [DOCUMENTS]`.
//!
//! First the rate of an import alone, then the times of lookups on four connections alone, then
//! both at once, with the ratio of the two p99 of the lookups. `AKIN_BENCH_SERVER` names another
//! build of akin.

#[allow(dead_code, reason = "the other benches use the rest")]
mod client;
#[allow(dead_code, reason = "the other benches use the rest")]
#[allow(unused_imports, reason = "the other benches use the rest")]
#[path = "../crates/akin-core/benches/corpus/mod.rs"]
mod corpus;
#[allow(dead_code, reason = "the other benches use the rest")]
mod servers;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use client::Load;
use servers::Akin;

const DOCUMENTS: usize = 300_000;
const BODY_DOCUMENTS: usize = 50_000;
const CONNECTIONS: usize = 4;
const LOOKUPS: usize = 100_000;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let documents: usize = arguments.find_map(|count| count.parse().ok()).unwrap_or(DOCUMENTS);
    let akin = Akin::start_with(&[]);
    let mut texts = corpus::each_document(1_000);
    let mut number = 0;
    let mut body = |count: usize| {
        let lines = texts.by_ref().take(count).map(|text| {
            number += 1;
            serde_json::json!({ "id": format!("d{number}"), "text": text }).to_string()
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    let mut took = 0.0;
    for _ in 0..documents / BODY_DOCUMENTS {
        took += import(&akin, &body(BODY_DOCUMENTS));
    }
    let stored = documents / BODY_DOCUMENTS * BODY_DOCUMENTS;
    println!("import alone: {:.0} documents a second", stored as f64 / took);

    let lookups: Vec<Vec<u8>> = (0..LOOKUPS)
        .map(|at| client::get(&format!("/similar?id=d{}", at * 7_919 % stored + 1)))
        .collect();
    client::run(akin.address, &lookups[..LOOKUPS / 10], CONNECTIONS);
    let alone = client::run(akin.address, &lookups, CONNECTIONS);
    print("lookups alone", &alone);

    let bodies: Vec<String> = (0..8).map(|_| body(BODY_DOCUMENTS)).collect();
    let (over, imported) = (AtomicBool::new(false), AtomicUsize::new(0));
    let started = Instant::now();
    thread::scope(|scope| {
        scope.spawn(|| {
            for body in bodies.iter().take_while(|_| !over.load(Ordering::Relaxed)) {
                import(&akin, body);
                imported.fetch_add(BODY_DOCUMENTS, Ordering::Relaxed);
            }
        });
        let beside = client::run(akin.address, &lookups, CONNECTIONS);
        over.store(true, Ordering::Relaxed);
        print("lookups during an import", &beside);
        let [during, alone] = [&beside, &alone].map(|load| load.percentile(99).as_secs_f64());
        println!("p99 during an import / alone: {:.2}", during / alone);
    });
    let rate = imported.load(Ordering::Relaxed) as f64 / started.elapsed().as_secs_f64();
    println!("import during lookups, with the rest of its last body: {rate:.0} a second");
}

/// Seconds that the import of a body took.
fn import(akin: &Akin, body: &str) -> f64 {
    let started = Instant::now();
    let results = client::bulk(akin.address, "", body);
    assert_eq!(results, BODY_DOCUMENTS, "every document has a result");
    started.elapsed().as_secs_f64()
}

fn print(title: &str, load: &Load) {
    println!(
        "{title}: {:.0} a second, p50 {} us, p99 {} us, p99.9 {} us",
        load.rate(),
        load.percentile(50).as_micros(),
        load.percentile(99).as_micros(),
        load.times[load.times.len() * 999 / 1_000].as_micros(),
    );
}
