//! akin's index as a library: sets → sketches → index, then every document looked up.

use std::hint::black_box;
use std::time::{Duration, Instant};

use akin::document::{Content, Ordinal};
use akin::engine::{Analyser, CollectionSettings};
use akin_core::index::{Candidates, Index, NewSet, Search, SearchLimits};
use akin_core::measure::Overlap;
use akin_core::scheme::{Bands, Curve, Key, ProbePlan, Threshold};
use akin_core::sketch::{Estimator, Sketch, Sketcher};
use akin_core::text::ShingleSet;

use super::Job;
use super::lookups::time_each;
use crate::THRESHOLD;
use crate::corpus::{FlatSets, texts};
use crate::found::Found;
use crate::measured::resident_bytes;
use crate::outcome::Outcome;

/// Sketched at a time, so that no more sketches than these are in memory beside the index.
const CHUNK: usize = 4096;

/// Texts that are looked up as a service would, from text to candidates.
const TEXTS: usize = 20_000;

/// With the setting `checked` each candidate is held against the exact resemblance; with `keys for`
/// the index has only the keys that lookups at this threshold use.
pub fn measure(job: &Job) -> Outcome {
    let mut outcome = job.outcome(env!("CARGO_PKG_VERSION"));
    let sets = read(job);
    let made = Made::new(job);
    let before = resident_bytes("self");
    let index = made.fill(&sets, &mut outcome);
    let grown = resident_bytes("self").saturating_sub(before);
    outcome.set("index_bytes", grown as f64 / sets.len() as f64);
    let counted = index.stats().bytes as f64 / sets.len() as f64;
    outcome.set("index_counted_bytes", counted);

    made.look_up_sets(&index, &sets, job, &mut outcome);
    if job.setting.starts_with("sketch") {
        made.look_up_texts(&index, job, &mut outcome);
        outcome.lines.insert("promised".to_owned(), made.promised());
    }
    outcome
}

fn read(job: &Job) -> Vec<ShingleSet> {
    let sets = FlatSets::read(&job.corpus, job.documents);
    (0..sets.len()).map(|number| sets.shingle_set(number)).collect()
}

struct Made {
    sketcher: Sketcher,
    bands: Bands,
    plan: ProbePlan,
    settings: CollectionSettings,
}

impl Made {
    fn new(job: &Job) -> Self {
        let threshold = Threshold::new(THRESHOLD).expect("it is one");
        let mut settings = CollectionSettings::default();
        let mut bands = Bands::new(&settings.scheme, &settings.sketch);
        if job.setting.starts_with("keys for") {
            settings.scheme.bands = Some(bands.plan(threshold).bands);
            settings.scheme.rows = Some(bands.rows);
            bands = Bands::new(&settings.scheme, &settings.sketch);
        }
        let plan = bands.plan(threshold);
        Self { sketcher: Sketcher::new(settings.sketch.clone()), bands, plan, settings }
    }

    fn fill(&self, sets: &[ShingleSet], outcome: &mut Outcome) -> Index {
        let settings = &self.settings.sketch;
        let index = Index::new(self.bands.bands, settings.sketch_bytes(), Estimator::new(settings));
        let (mut sketching, mut inserting) = (Duration::ZERO, Duration::ZERO);
        let mut ordinals = (0..).map(Ordinal::from);
        for chunk in sets.chunks(CHUNK) {
            let started = Instant::now();
            let made: Vec<(u64, Sketch)> = chunk.iter().map(|set| self.sketch(set)).collect();
            sketching += started.elapsed();
            let started = Instant::now();
            for ((set, (fingerprint, sketch)), ordinal) in
                chunk.iter().zip(&made).zip(&mut ordinals)
            {
                let keys: Vec<Key> = self.bands.keys(sketch.as_bytes(), u32::MAX).collect();
                let (fingerprint, shingles) = (*fingerprint, set.count() as u32);
                let new = NewSet { fingerprint, shingles, sketch, keys: &keys, set: None };
                index.insert(ordinal, &new);
            }
            inserting += started.elapsed();
        }
        outcome.set("bands", self.bands.bands.into());
        outcome.set("rows", self.bands.rows.into());
        outcome.set("sketches_per_s", sets.len() as f64 / sketching.as_secs_f64());
        outcome.set("inserts_per_s", sets.len() as f64 / inserting.as_secs_f64());
        index
    }

    fn sketch(&self, set: &ShingleSet) -> (u64, Sketch) {
        (set.fingerprint(), self.sketcher.sketch(set))
    }

    /// Nothing is cut off: peers give all that they find.
    fn candidates(&self, index: &Index, fingerprint: u64, sketch: &Sketch) -> Candidates {
        let keys: Vec<Key> = self.bands.keys(sketch.as_bytes(), self.plan.bands).collect();
        index.candidates(&Search {
            keys: &keys,
            sketch,
            fingerprint,
            agreeing_min: self.plan.agreeing_min,
            threshold: self.settings.scheme.threshold,
            start: 0,
            limits: SearchLimits::NONE,
        })
    }

    fn look_up_sets(&self, index: &Index, sets: &[ShingleSet], job: &Job, outcome: &mut Outcome) {
        let checked = job.setting.starts_with("checked");
        let mut found = Found::default();
        let probes = (0..).zip(sets).map(|(number, set)| (number, set, self.sketch(set)));
        time_each(
            outcome,
            "lookup",
            probes,
            |(_, set, (fingerprint, sketch))| {
                let mut candidates = self.candidates(index, *fingerprint, sketch).found;
                if checked {
                    candidates.retain(|candidate| {
                        let other = &sets[candidate.members[0].get() as usize];
                        Overlap::reaching(set, other, THRESHOLD).is_some()
                    });
                }
                candidates
            },
            |(number, ..), candidates| {
                for other in candidates.iter().flat_map(|candidate| &candidate.members) {
                    found.push(number, other.get() as u32);
                }
            },
        );
        found.write(&job.found);
    }

    fn look_up_texts(&self, index: &Index, job: &Job, outcome: &mut Outcome) {
        let analyser = Analyser::new(&self.settings);
        let texts = texts(&job.corpus, job.documents.min(TEXTS));
        let look_up = |text: &Content| {
            let analysis = analyser.analyse(text).expect("documents have words");
            black_box(self.candidates(index, analysis.fingerprint, &analysis.sketch));
        };
        let probes = texts.into_iter().map(Content::Text);
        time_each(outcome, "text_lookup", probes, look_up, |_, ()| ());
    }

    /// The S-curve that akin itself computes for these lookups.
    fn promised(&self) -> Vec<[f64; 2]> {
        let threshold = self.settings.scheme.threshold;
        let curve = Curve::of(&self.bands, threshold, &self.plan, Index::usual_bytes());
        let points = curve.points.iter().filter(|point| point.similarity >= crate::truth::FLOOR);
        points.map(|point| [point.similarity, point.found]).collect()
    }
}
