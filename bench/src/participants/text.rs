//! From text to sketch, each with the pipeline that its users write; and from hashed shingles to
//! sketch.

use akin::document::Content;
use akin::engine::{Analyser, CollectionSettings};
use akin::sketch::Sketcher;
use akin::text::ShingleSet;
use gaoya::minhash::{MinHasher, MinHasher32};
use gaoya::text::{shingle_tokens, whitespace_split};

use super::{Job, gaoya as peer};
use crate::corpus::{FlatSets, texts};
use crate::measured::best;
use crate::outcome::Outcome;

const ROUNDS: usize = 5;
const SLOTS: usize = 128;
const SHINGLE_WORDS: usize = 3;

pub fn measure(job: &Job) -> Outcome {
    let texts = texts(&job.corpus, job.documents);
    let sets = FlatSets::read(&job.corpus, job.documents);
    let bytes: usize = texts.iter().map(String::len).sum();
    let [text, sketch, shingles_only] = match job.participant.as_str() {
        "akin" => akin(texts, &sets),
        _ => gaoya(&texts, &sets),
    };
    let version = if job.participant == "akin" { env!("CARGO_PKG_VERSION") } else { peer::VERSION };
    let mut outcome = job.outcome(version);
    outcome.set("text_mb_per_s", bytes as f64 / 1e6 / text);
    outcome.set("shingling_mb_per_s", bytes as f64 / 1e6 / shingles_only);
    outcome.set("sketching_m_per_s", sets.elements().len() as f64 / 1e6 / sketch);
    outcome
}

/// Seconds from texts to sketches, from sets to sketches, from texts to sets.
fn akin(texts: Vec<String>, sets: &FlatSets) -> [f64; 3] {
    let settings = CollectionSettings::default();
    let (analyser, sketcher) = (Analyser::new(&settings), Sketcher::new(settings.sketch.clone()));
    let shingler = akin::text::Shingler::new(settings.shingles, 0, usize::MAX);
    let sets: Vec<ShingleSet> = (0..sets.len()).map(|number| sets.shingle_set(number)).collect();
    let shingling = best(ROUNDS, || {
        texts.iter().map(|text| shingler.text(text).map_or(0, |it| it.set.count())).sum::<usize>()
    });
    let contents: Vec<Content> = texts.into_iter().map(Content::Text).collect();
    let slot =
        |content| analyser.analyse(content).map_or(0, |it| usize::from(it.sketch.as_bytes()[0]));
    let text = best(ROUNDS, || contents.iter().map(slot).sum::<usize>());
    let slot = |set| usize::from(sketcher.sketch(set).as_bytes()[0]);
    let sketch = best(ROUNDS, || sets.iter().map(slot).sum::<usize>());
    [text, sketch, shingling].map(|time| time.as_secs_f64())
}

fn gaoya(texts: &[String], sets: &FlatSets) -> [f64; 3] {
    let hasher = MinHasher32::new(SLOTS);
    let text = best(ROUNDS, || {
        let sketch = |text: &String| hasher.create_signature(shingles(&text.to_lowercase()))[0];
        texts.iter().map(sketch).map(u64::from).sum::<u64>()
    });
    let sketch = best(ROUNDS, || {
        sets.iter().map(|set| u64::from(hasher.create_signature(set.iter())[0])).sum::<u64>()
    });
    let shingling = best(ROUNDS, || {
        texts.iter().map(|text| shingles(&text.to_lowercase()).count()).sum::<usize>()
    });
    [text, sketch, shingling].map(|time| time.as_secs_f64())
}

/// Its own tokeniser and its own shingles of tokens.
fn shingles(text: &str) -> impl Iterator<Item = String> {
    let words: Vec<&str> = whitespace_split(text).collect();
    shingle_tokens(&words, SHINGLE_WORDS).collect::<Vec<_>>().into_iter()
}
