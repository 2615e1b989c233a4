//! How akin's time and memory grow with a corpus: made up on the way, as the larger ones do not fit
//! into memory beside what is measured.

use std::hint::black_box;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use akin::document::{Content, DocumentId, Ordinal};
use akin::engine::{Analyser, CollectionSettings, Mode, OfflineCorpus, OfflineGathering};
use akin::index::{Filing, Index, Search};
use akin::join::Progress;
use akin::scheme::{Bands, Key, Threshold};
use akin::simd::prefer_huge_pages;
use akin::sketch::Estimator;

use super::Job;
use crate::THRESHOLD;
use crate::corpus::{made_up, made_up_id};
use crate::made::{Random, made_up_sketch};
use crate::measured::{percentile_us, resident_bytes};
use crate::outcome::Outcome;

const LOOKUPS: usize = 100_000;

/// Bytes of a line of memory.
const LINE: usize = 64;

/// All pairs, from text, on one thread. Making the texts up is not counted.
pub fn pairs(job: &Job) -> Outcome {
    let mut outcome = job.outcome(env!("CARGO_PKG_VERSION"));
    let mode = if job.setting.starts_with("exact") { Mode::Exact } else { Mode::Verified };
    let (mut corpus, gathering) = gather(job.documents);
    let threshold = Threshold::new(THRESHOLD).expect("it is one");
    let started = Instant::now();
    let mut pairs = 0_u64;
    corpus
        .pairs(mode, threshold, &Progress::default(), |_, _| {
            pairs += 1;
            ControlFlow::Continue(())
        })
        .expect("sets can be read back");
    let joining = started.elapsed();
    outcome.set("joining_s", joining.as_secs_f64());
    outcome.set("seconds", (gathering + joining).as_secs_f64());
    outcome.set("pairs", pairs as f64);
    outcome
}

fn gather(count: usize) -> (OfflineCorpus, Duration) {
    let settings = CollectionSettings::default();
    let analyser = Analyser::new(&settings);
    let mut gathering = OfflineGathering::new(&settings).expect("a temporary file");
    let mut taken = Duration::ZERO;
    for (number, text) in made_up().take(count).enumerate() {
        let id = DocumentId::new(made_up_id(number)).expect("ids are short");
        let text = Content::Text(text);
        let started = Instant::now();
        let analysis = analyser.analyse(&text).expect("documents have words");
        gathering.push(id, &analysis).expect("the disk has room");
        taken += started.elapsed();
    }
    let started = Instant::now();
    let corpus = gathering.finish().expect("the disk has room");
    (corpus, taken + started.elapsed())
}

/// An index that was empty is filled on one thread, each insert timed alone, and then looked into.
/// Beside it, what as many lines of as much memory take to be written to at random.
pub fn filing(job: &Job) -> Outcome {
    let mut outcome = job.outcome(env!("CARGO_PKG_VERSION"));
    let settings = CollectionSettings::default();
    let bands = Bands::new(&settings.scheme, &settings.sketch);
    let estimator = Estimator::new(&settings.sketch);
    let before = resident_bytes("self");
    let mut times = vec![Duration::MAX; job.documents];
    let index = Index::new(bands.bands, settings.sketch.sketch_bytes(), estimator);
    fill(&index, &bands, &mut times);
    let each = |bytes: u64| bytes as f64 / job.documents as f64;
    let own = size_of_val(&*times) as u64;
    outcome.set("index_bytes", each(resident_bytes("self").saturating_sub(before + own)));
    let counted = index.stats().bytes;
    outcome.set("counted_bytes", each(counted));
    tell(&mut outcome, "insert", times);
    let looked_up = look_up(&index, &bands, job.documents);
    tell(&mut outcome, "lookup", looked_up);
    drop(index);
    let lines = bands.bands as usize + 1;
    outcome.set("written_us", written(counted as usize, lines).as_secs_f64() * 1e6);
    outcome
}

fn fill(index: &Index, bands: &Bands, times: &mut [Duration]) {
    for (number, time) in times.iter_mut().enumerate() {
        let sketch = made_up_sketch(number as u64);
        let keys: Vec<Key> = bands.keys(sketch.as_bytes(), bands.bands).collect();
        let fingerprint = (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let filing = Filing { fingerprint, shingles: 900, sketch: &sketch, keys: &keys, set: None };
        let started = Instant::now();
        index.insert(Ordinal(number as u32), &filing);
        *time = started.elapsed();
    }
}

/// From a sketch to candidates pruned by sketch.
fn look_up(index: &Index, bands: &Bands, documents: usize) -> Vec<Duration> {
    let plan = bands.plan(Threshold::new(THRESHOLD).expect("it is one"));
    let mut random = Random(3);
    let look_up = |_| {
        let sketch = made_up_sketch(random.below(documents) as u64);
        let started = Instant::now();
        let keys: Vec<Key> = bands.keys(sketch.as_bytes(), plan.bands).collect();
        black_box(index.candidates(&Search {
            keys: &keys,
            sketch: &sketch,
            fingerprint: 0,
            agreeing_min: plan.agreeing_min,
            postings_max: 10_000,
            found_max: 100,
            members_max: 20,
        }));
        started.elapsed()
    };
    (0..LOOKUPS).map(look_up).collect()
}

fn tell(outcome: &mut Outcome, what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let total: Duration = times.iter().sum();
    outcome.set(&format!("{what}s_per_s"), times.len() as f64 / total.as_secs_f64());
    for percent in [50.0, 99.0, 99.9, 100.0] {
        outcome.set(&format!("{what}_p{percent}_us"), percentile_us(&times, percent));
    }
}

/// None of the lines depends on another, so that the processor waits for several at a time.
fn written(bytes: usize, lines: usize) -> Duration {
    let mut memory = Vec::with_capacity(bytes / LINE);
    prefer_huge_pages(memory.spare_capacity_mut());
    memory.resize(bytes / LINE, [1_u64; LINE / 8]);
    let mut random = Random(7);
    let started = Instant::now();
    for _ in 0..LOOKUPS {
        for _ in 0..lines {
            memory[random.below(bytes / LINE)][0] += 1;
        }
    }
    black_box(&memory);
    started.elapsed() / LOOKUPS as u32
}
