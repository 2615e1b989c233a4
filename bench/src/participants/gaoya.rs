//! gaoya, on the same sets: its own settings, and with an exact check behind it.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use gaoya::minhash::{MinHashIndex, MinHasher, MinHasher32, calculate_minhash_params};

use super::Job;
use super::lookups::time_each;
use crate::THRESHOLD;
use crate::corpus::FlatSets;
use crate::found::Found;
use crate::measured::resident_bytes;
use crate::outcome::Outcome;
use crate::truth::resemblance;

pub const VERSION: &str = "0.2.2";

const SLOTS: usize = 128;
const CHUNK: usize = 4096;

/// Below the threshold by three standard errors, so that its estimate hardly drops what the exact
/// check would keep.
const CHECKED_FROM: f64 = 0.7;

type Filled = MinHashIndex<u32, u32>;

pub fn index(job: &Job) -> Outcome {
    let mut outcome = job.outcome(VERSION);
    let sets = FlatSets::read(&job.corpus, job.documents);
    let before = resident_bytes("self");
    let index = fill(&sets, is_checked(job), &mut outcome);
    let grown = resident_bytes("self").saturating_sub(before);
    outcome.set("index_bytes", grown as f64 / sets.len() as f64);
    look_up(&index, &sets, job, &mut outcome);
    outcome
}

/// All pairs as one makes them with an index: everything in, then everything looked up.
pub fn join(job: &Job) -> Outcome {
    let mut outcome = job.outcome(VERSION);
    let sets = FlatSets::read(&job.corpus, job.documents);
    let before = resident_bytes("self");
    let started = Instant::now();
    let index = fill(&sets, is_checked(job), &mut outcome);
    look_up(&index, &sets, job, &mut outcome);
    outcome.set("seconds", started.elapsed().as_secs_f64());
    let peak = crate::measured::peak_bytes("self").saturating_sub(before);
    outcome.set("peak_bytes", peak as f64);
    outcome
}

fn is_checked(job: &Job) -> bool {
    job.setting.contains("checked")
}

fn fill(sets: &FlatSets, checked: bool, outcome: &mut Outcome) -> Filled {
    let (bands, rows) = calculate_minhash_params(THRESHOLD, SLOTS);
    outcome.set("bands", bands as f64);
    outcome.set("rows", rows as f64);
    let hasher = MinHasher32::new(bands * rows);
    let mut index = Filled::new(bands, rows, if checked { CHECKED_FROM } else { THRESHOLD });
    let (mut sketching, mut inserting) = (Duration::ZERO, Duration::ZERO);
    let all: Vec<u32> = (0..sets.len() as u32).collect();
    for chunk in all.chunks(CHUNK) {
        let started = Instant::now();
        let signature = |number: &u32| hasher.create_signature(sets.get(*number as usize).iter());
        let signatures: Vec<Vec<u32>> = chunk.iter().map(signature).collect();
        sketching += started.elapsed();
        let started = Instant::now();
        for (number, signature) in chunk.iter().zip(signatures) {
            index.insert(*number, signature);
        }
        inserting += started.elapsed();
    }
    outcome.set("sketches_per_s", sets.len() as f64 / sketching.as_secs_f64());
    outcome.set("inserts_per_s", sets.len() as f64 / inserting.as_secs_f64());
    index
}

fn look_up(index: &Filled, sets: &FlatSets, job: &Job, outcome: &mut Outcome) {
    let checked = is_checked(job);
    let mut found = Found::default();
    let signature = |number| index.get_signature(&number).expect("it was inserted").clone();
    let probes = (0..sets.len() as u32).map(|number| (number, signature(number)));
    time_each(
        outcome,
        "lookup",
        probes,
        |(number, signature)| {
            let mut near: HashSet<u32> = index.query_owned(signature).into_iter().collect();
            if checked {
                let set = sets.get(*number as usize);
                near.retain(|other| resemblance(set, sets.get(*other as usize)) >= THRESHOLD);
            }
            near
        },
        |(number, _), near| near.into_iter().for_each(|other| found.push(number, other)),
    );
    found.write(&job.found);
}
