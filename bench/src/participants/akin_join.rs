//! All pairs by akin, from texts, on one thread.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use akin::document::{Content, DocumentId};
use akin::engine::{Analyser, CollectionSettings, Mode};
use akin_core::join::JoinProgress;
use akin_core::scheme::Threshold;
use akin_files::offline::{OfflineCorpus, OfflineGathering, Room, SetPair};

use super::Job;
use crate::THRESHOLD;
use crate::corpus::documents;
use crate::found::Found;
use crate::measured::{peak_bytes, resident_bytes};
use crate::outcome::Outcome;

/// The setting names the mode: `verified` (by keys) or `exact` (by rarest elements).
pub fn measure(job: &Job) -> Outcome {
    let mode = mode(job);
    let mut outcome = job.outcome(env!("CARGO_PKG_VERSION"));
    let documents: Vec<(DocumentId, Content)> = documents(&job.corpus, job.documents)
        .map(|document| {
            let id = DocumentId::new(document.id).expect("ids are short");
            (id, Content::Text(document.text))
        })
        .collect();
    let before = resident_bytes("self");

    let (mut corpus, sketching) = gather(documents.iter().cloned());
    let started = Instant::now();
    let pairs = pairs(&mut corpus, mode);
    let joining = started.elapsed();

    outcome.set("sketching_s", sketching.as_secs_f64());
    outcome.set("joining_s", joining.as_secs_f64());
    outcome.set("seconds", (sketching + joining).as_secs_f64());
    outcome.set("peak_bytes", peak_bytes("self").saturating_sub(before) as f64);
    found(&corpus, &pairs).write(&job.found);
    outcome
}

pub fn mode(job: &Job) -> Mode {
    if job.setting.starts_with("exact") { Mode::Exact } else { Mode::Verified }
}

/// The documents as sets and sketches, and what making these took, without what the documents
/// take to come.
pub fn gather(documents: impl Iterator<Item = (DocumentId, Content)>) -> (OfflineCorpus, Duration) {
    let settings = CollectionSettings::default();
    let analyser = Analyser::new(&settings);
    let mut builder =
        OfflineGathering::within(&settings, Room::default()).expect("a temporary file");
    let mut taken = Duration::ZERO;
    for (id, text) in documents {
        let started = Instant::now();
        let analysis = analyser.analyse(&text).expect("documents have words");
        builder.push(&id, &analysis, None, 0).expect("the disk has room");
        taken += started.elapsed();
    }
    let started = Instant::now();
    let corpus = builder.finish(&[]).expect("the disk has room");
    (corpus, taken + started.elapsed())
}

fn pairs(corpus: &mut OfflineCorpus, mode: Mode) -> Vec<SetPair> {
    let mut pairs = Vec::new();
    let threshold = Threshold::new(THRESHOLD).expect("it is one");
    corpus
        .pairs(mode, threshold, &JoinProgress::default(), |_, pair| {
            pairs.push(pair);
            ControlFlow::Continue(())
        })
        .expect("sets can be read back");
    pairs
}

/// Pairs of documents: those of two sets, and those of one.
fn found(corpus: &OfflineCorpus, pairs: &[SetPair]) -> Found {
    let mut found = Found::default();
    let documents = corpus.documents();
    let equal = (0..corpus.sets()).map(|set| (set, set));
    for (a, b) in pairs.iter().map(|pair| (pair.a, pair.b)).chain(equal) {
        for left in documents.of(a) {
            documents.of(b).iter().for_each(|right| found.push(*left, *right));
        }
    }
    found
}
