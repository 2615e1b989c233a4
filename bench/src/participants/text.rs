//! From text to sketch, each with the pipeline that its users write; and from hashed shingles to
//! sketch.

use std::time::Duration;

use akin::engine::CollectionSettings;
use akin_core::simd::Level;
use akin_core::sketch::Sketcher;
use akin_core::text::Shingler;
use gaoya::minhash::{MinHasher, MinHasher32};
use gaoya::text::{shingle_tokens, whitespace_split};

use super::{Job, gaoya as peer};
use crate::corpus::{FlatSets, texts};
use crate::measured::best;
use crate::outcome::Outcome;

const ROUNDS: usize = 5;
const SLOTS: usize = 128;
const SHINGLE_WORDS: usize = 3;

/// Shingles of a long document.
const LONG: usize = 8192;

/// How long each step took.
struct Taken {
    /// From texts to sketches, by the shortest way.
    text: Duration,
    /// From texts to shingles as the pipeline goes on with them.
    shingles: Duration,
    /// From hashed shingles to sketches: of the sets, and of as many shingles in long documents.
    sketch: Duration,
    long: Duration,
}

pub fn measure(job: &Job) -> Outcome {
    let texts = texts(&job.corpus, job.documents);
    let sets = FlatSets::read(&job.corpus, job.documents);
    let megabytes = texts.iter().map(String::len).sum::<usize>() as f64 / 1e6;
    let millions = sets.elements().len() as f64 / 1e6;
    let is_akin = job.participant == "akin";
    let version = if is_akin { env!("CARGO_PKG_VERSION") } else { peer::VERSION };
    let mut outcome = job.outcome(version);
    let mut rate = |name: &str, amount: f64, taken: Duration| {
        outcome.set(name, amount / taken.as_secs_f64());
    };
    let taken = if is_akin {
        let level = level(&job.setting);
        rate("analysing_mb_per_s", megabytes, analysing(&texts, level));
        akin(&texts, &sets, level)
    } else {
        gaoya(&texts, &sets)
    };
    rate("text_mb_per_s", megabytes, taken.text);
    rate("shingling_mb_per_s", megabytes, taken.shingles);
    rate("sketching_m_per_s", millions, taken.sketch);
    rate("sketching_long_m_per_s", millions, taken.long);
    outcome
}

/// The one that the setting names, or the highest.
fn level(setting: &str) -> Level {
    let Some(name) = setting.strip_suffix(" only") else { return Level::best() };
    let named = |level: &Level| format!("{level:?}").contains(name);
    Level::available().into_iter().find(named).expect("the machine has these instructions")
}

fn made(level: Level) -> (Shingler, Sketcher) {
    let settings = CollectionSettings::default();
    let shingler = Shingler::new(settings.shingles, 0, usize::MAX).with_level(level);
    (shingler, Sketcher::new(settings.sketch).with_level(level))
}

/// All that a document which is stored needs: its set, the set's fingerprint and its sketch.
fn analysing(texts: &[String], level: Level) -> Duration {
    let (shingler, sketcher) = made(level);
    let analysed = |text: &String| {
        let set = shingler.text(text).expect("documents have words").set;
        set.fingerprint() ^ u64::from(sketcher.sketch(&set).as_bytes()[0])
    };
    best(ROUNDS, || texts.iter().map(analysed).fold(0, |all, one| all ^ one))
}

fn akin(texts: &[String], sets: &FlatSets, level: Level) -> Taken {
    let (shingler, sketcher) = made(level);
    let shingles = |text: &String| shingler.shingles(text).expect("documents have words");
    let slot = |shingles: &[u64]| usize::from(sketcher.sketch_shingles(shingles).as_bytes()[0]);
    let long = sets.elements();
    Taken {
        text: best(ROUNDS, || texts.iter().map(|text| slot(&shingles(text))).sum::<usize>()),
        shingles: best(ROUNDS, || texts.iter().map(|text| shingles(text).len()).sum::<usize>()),
        sketch: best(ROUNDS, || sets.iter().map(slot).sum::<usize>()),
        long: best(ROUNDS, || long.chunks(LONG).map(slot).sum::<usize>()),
    }
}

fn gaoya(texts: &[String], sets: &FlatSets) -> Taken {
    let hasher = MinHasher32::new(SLOTS);
    let slot = |shingles: &[u64]| u64::from(hasher.create_signature(shingles.iter())[0]);
    let text_slot = |text: &String| u64::from(hasher.create_signature(shingles(text))[0]);
    let long = sets.elements();
    Taken {
        text: best(ROUNDS, || texts.iter().map(text_slot).sum::<u64>()),
        shingles: best(ROUNDS, || texts.iter().map(|text| shingles(text).count()).sum::<usize>()),
        sketch: best(ROUNDS, || sets.iter().map(slot).sum::<u64>()),
        long: best(ROUNDS, || long.chunks(LONG).map(slot).sum::<u64>()),
    }
}

/// Its own tokeniser and its own shingles of tokens.
fn shingles(text: &str) -> impl Iterator<Item = String> + use<> {
    let text = text.to_lowercase();
    let words: Vec<&str> = whitespace_split(&text).collect();
    shingle_tokens(&words, SHINGLE_WORDS).collect::<Vec<_>>().into_iter()
}
