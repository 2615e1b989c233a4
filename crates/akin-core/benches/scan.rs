//! The time of a scan of all sketches: `cargo bench -p akin-core --bench scan -- [DOCUMENTS …]`,
//! without arguments a million documents.
//!
//! Prints the milliseconds of a probe for each million sketches, alone and with other probes in the
//! same pass, at each level of instructions; and, as limits of the same run, reading as many
//! contiguous bytes, and copying them. Each figure is the least of some passes: other programs take
//! time from the rest.

#[path = "corpus/numbers.rs"]
mod numbers;
#[path = "corpus/sketches.rs"]
#[allow(dead_code, reason = "each benchmark uses a part of it")]
mod sketches;

use std::hint::black_box;
use std::time::Instant;

use akin_core::document::Ordinal;
use akin_core::index::{Index, ScanLimits, SketchScan};
use akin_core::simd::Level;
use akin_core::sketch::{Estimator, SketchSettings};
use sketches::{made_up, new_set};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const PASSES: usize = 15;

fn main() {
    let numbers = std::env::args().skip(1).filter_map(|argument| argument.parse().ok());
    let mut counts: Vec<usize> = numbers.collect();
    if counts.is_empty() {
        counts.push(1_000_000);
    }
    counts.into_iter().for_each(measure);
}

fn measure(documents: usize) {
    let settings = SketchSettings::default();
    let index = Index::new(0, settings.sketch_bytes(), Estimator::new(&settings));
    for number in 0..documents {
        index.insert(Ordinal::from(number as u32), &new_set(number, &made_up(number as u64), &[]));
    }
    println!("{documents} documents: ms of a probe for each million sketches");
    let bytes: Vec<u64> = (0..documents as u64 * 16).collect();
    let mut copy = bytes.clone();
    print("limit: reading the bytes", 1, documents, || {
        bytes.iter().fold(0, |all, eight| all ^ eight)
    });
    print("limit: copying the bytes", 1, documents, || copy.copy_from_slice(black_box(&bytes)));
    for level in Level::available() {
        for probes in [1, 2, 4, 8, 16] {
            print(&format!("{level:?}, {probes} probes"), probes, documents, || {
                scan(&index, level, documents, probes);
            });
        }
    }
}

fn scan(index: &Index, level: Level, documents: usize, probes: usize) {
    let limits = ScanLimits { near_min: 8, near_max: 1_000, kept_max: 1_000 };
    // Every fifth is a copy of a document, the others resemble some.
    let probe = |probe: usize| made_up((probe * documents / 16 + probe) as u64);
    let mut scans: Vec<_> = (0..probes).map(|n| SketchScan::new(probe(n), limits)).collect();
    let mut from = Some(0);
    while let Some(position) = from {
        from = index.scan_some(level, position, &mut scans);
    }
    for scan in scans {
        black_box(index.scanned(scan, 11, 10_000));
    }
}

fn print<T>(what: &str, probes: usize, documents: usize, mut pass: impl FnMut() -> T) {
    let mut times: Vec<f64> = (0..PASSES)
        .map(|_| {
            let started = Instant::now();
            black_box(pass());
            started.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    let each = times[0] / probes as f64 / (documents as f64 / 1e6);
    println!("  {what}: {each:.2}");
}
