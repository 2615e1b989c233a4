//! What the index costs in time and memory: `cargo bench --bench index -- [FILE | DOCUMENTS …]`.
//!
//! Sketches are those of a file's documents (JSONL with `text`), or made up: families of five, of
//! which each agrees with the family's first in four slots of five. Memory is counted by the index
//! itself and, beside it, by the operating system.

#[path = "corpus/random.rs"]
mod random;

use std::hint::black_box;
use std::time::{Duration, Instant};

use akin::document::{Content, Ordinal};
use akin::engine::{Analyser, CollectionSettings};
use akin::index::{Filing, Index, Search};
use akin::scheme::{Bands, Key, SchemeSettings, Threshold};
use akin::sketch::{Estimator, Sketch, SketchSettings};
use random::Random;

const FAMILY: usize = 5;
const LOOKUPS: usize = 100_000;

fn main() {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    println!(
        "{:>10} {:>12} {:>12} {:>10} {:>10} {:>12} {:>12}",
        "documents", "insert ns", "lookup ns", "p50 ns", "p99 ns", "counted B", "resident B"
    );
    if arguments.is_empty() {
        for documents in [44_000, 1_000_000] {
            measure(&made_up(documents));
        }
    }
    for argument in arguments {
        match argument.parse() {
            Ok(documents) => measure(&made_up(documents)),
            Err(_) => measure(&read(&argument)),
        }
    }
}

fn read(path: &str) -> Vec<Sketch> {
    let analyser = Analyser::new(&CollectionSettings::default());
    let sketch = |line: &str| {
        let document: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let text = Content::Text(document["text"].as_str().expect("a text").to_owned());
        Some(analyser.analyse(&text).ok()?.sketch)
    };
    let file = std::fs::read_to_string(path).expect("the corpus can be read");
    file.lines().filter_map(sketch).collect()
}

fn measure(sketches: &[Sketch]) {
    let documents = sketches.len();
    let settings = SketchSettings::default();
    let bands = Bands::new(&SchemeSettings::default(), &settings);
    let before = resident_bytes();
    let index = Index::new(bands.bands, settings.sketch_bytes(), Estimator::new(&settings), 0);

    let started = Instant::now();
    for (number, sketch) in sketches.iter().enumerate() {
        let keys: Vec<Key> = bands.keys(sketch.as_bytes(), bands.bands).collect();
        let fingerprint = (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let filing = Filing { fingerprint, shingles: 900, sketch, keys: &keys, set: None };
        index.insert(Ordinal(number as u32), &filing);
    }
    let insert = started.elapsed();
    let resident = resident_bytes().saturating_sub(before);

    let times = look_up(&index, &bands, sketches);
    let total: Duration = times.iter().sum();
    println!(
        "{documents:>10} {:>12.0} {:>12.0} {:>10} {:>10} {:>12.0} {:>12.0}",
        nanoseconds(insert, documents),
        nanoseconds(total, times.len()),
        times[times.len() / 2].as_nanos(),
        times[times.len() * 99 / 100].as_nanos(),
        index.stats().bytes as f64 / documents as f64,
        resident as f64 / documents as f64,
    );
}

/// The time of each lookup at 0.8, from a sketch to candidates pruned by sketch; sorted.
fn look_up(index: &Index, bands: &Bands, sketches: &[Sketch]) -> Vec<Duration> {
    let plan = bands.plan(Threshold::new(0.8).expect("0.8 is a threshold"));
    let mut random = Random(3);
    let mut times: Vec<Duration> = (0..LOOKUPS)
        .map(|_| {
            let sketch = &sketches[random.below(sketches.len())];
            let started = Instant::now();
            let keys: Vec<Key> = bands.keys(sketch.as_bytes(), plan.bands).collect();
            black_box(index.candidates(&Search {
                keys: &keys,
                sketch,
                fingerprint: 0,
                agreeing_min: plan.agreeing_min,
                postings_max: 10_000,
                found_max: 100,
                members_max: 20,
            }));
            started.elapsed()
        })
        .collect();
    times.sort_unstable();
    times
}

fn made_up(count: usize) -> Vec<Sketch> {
    let bytes = SketchSettings::default().sketch_bytes();
    let mut random = Random(2);
    let mut first = Vec::new();
    let sketch = |number: usize| {
        if number.is_multiple_of(FAMILY) {
            first = (0..bytes).map(|_| random.next() as u8).collect::<Vec<u8>>();
        }
        let mut slot = |slot: &u8| if random.below(5) == 0 { random.next() as u8 } else { *slot };
        Sketch::from_bytes(first.iter().map(&mut slot).collect())
    };
    (0..count).map(sketch).collect()
}

fn nanoseconds(time: Duration, operations: usize) -> f64 {
    time.as_nanos() as f64 / operations as f64
}

/// Resident memory of this process, as Linux tells it; 0 elsewhere.
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}
