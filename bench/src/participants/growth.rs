//! How akin's time and memory grow with a corpus: made up on the way, as the larger ones do not fit
//! into memory beside what is measured.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use akin::document::{Content, DocumentId, Ordinal};
use akin::engine::CollectionSettings;
use akin_core::index::Index;
use akin_core::join::JoinProgress;
use akin_core::scheme::{Bands, Key, Threshold};
use akin_core::sketch::Estimator;

use super::Job;
use super::akin_join::{gather, mode};
use super::lookups::tell;
use crate::THRESHOLD;
use crate::corpus::{made_up, made_up_id};
use crate::made::lines::at_random;
use crate::made::{Numbers, sketches};
use crate::measured::resident_bytes;
use crate::outcome::Outcome;

const LOOKUPS: usize = 100_000;

/// Of single inserts and lookups; the last is the longest.
const PERCENTS: [f64; 4] = [50.0, 99.0, 99.9, 100.0];

/// All pairs, from text, on one thread. Making the texts up is not counted.
pub fn pairs(job: &Job) -> Outcome {
    let mut outcome = job.outcome(env!("CARGO_PKG_VERSION"));
    let documents = made_up().take(job.documents).enumerate().map(|(number, text)| {
        (DocumentId::new(made_up_id(number)).expect("ids are short"), Content::Text(text))
    });
    let (mut corpus, builder) = gather(documents);
    let threshold = Threshold::new(THRESHOLD).expect("it is one");
    let started = Instant::now();
    let mut pairs = 0_u64;
    corpus
        .pairs(mode(job), threshold, &JoinProgress::default(), |_, _| {
            pairs += 1;
            ControlFlow::Continue(())
        })
        .expect("sets can be read back");
    let joining = started.elapsed();
    outcome.set("joining_s", joining.as_secs_f64());
    outcome.set("seconds", (builder + joining).as_secs_f64());
    outcome.set("pairs", pairs as f64);
    outcome
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
    tell(&mut outcome, "insert", times, &PERCENTS);
    let looked_up = look_up(&index, &bands, job.documents);
    tell(&mut outcome, "lookup", looked_up, &PERCENTS);
    drop(index);
    let lines = bands.bands as usize + 1;
    let written = at_random(counted as usize, lines, |word| *word += 1);
    outcome.set("written_us", written.as_secs_f64() * 1e6);
    outcome
}

fn fill(index: &Index, bands: &Bands, times: &mut [Duration]) {
    for (number, time) in times.iter_mut().enumerate() {
        let sketch = sketches::made_up(number as u64);
        let keys: Vec<Key> = bands.keys(sketch.as_bytes(), bands.bands).collect();
        let new = sketches::new_set(number, &sketch, &keys);
        let started = Instant::now();
        index.insert(Ordinal::from(number as u32), &new);
        *time = started.elapsed();
    }
}

fn look_up(index: &Index, bands: &Bands, documents: usize) -> Vec<Duration> {
    let plan = bands.plan(Threshold::new(THRESHOLD).expect("it is one"));
    let mut random = Numbers(3);
    let look_up = |_| {
        let sketch = sketches::made_up(random.below(documents) as u64);
        let started = Instant::now();
        sketches::look_up(index, &sketch, bands, &plan);
        started.elapsed()
    };
    (0..LOOKUPS).map(look_up).collect()
}
