//! All pairs and clusters of a corpus: `cargo bench --bench join -- [DOCUMENTS …]`.
//!
//! Documents of about 1 kB in families of five: four of each have some words of the first
//! exchanged. Beside each figure stands the time that it took to make sets and sketches of the
//! texts, which no discovery is without.

#[path = "corpus/mod.rs"]
mod corpus;

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::time::Instant;

use akin::document::{Content, DocumentId};
use akin::engine::{Analyser, CollectionSettings};
use akin::join::{Corpus, Gathering, Join, Keys, Linkage, Progress, Scoring, Sets};
use akin::scheme::{Bands, SchemeSettings, Threshold};
use akin::sketch::{Estimator, SketchSettings};
use akin::text::ShingleSet;
use corpus::{Random, documents};

const DOCUMENT_BYTES: usize = 1_000;
const FAMILY: usize = 5;

fn main() {
    let arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let mut counts: Vec<usize> =
        arguments.map(|argument| argument.parse().expect("a number of documents")).collect();
    if counts.is_empty() {
        counts.push(100_000);
    }
    println!(
        "{:>10} {:>10} {:>10} {:>12} {:>10} {:>12} {:>10}",
        "documents", "threshold", "mode", "of", "s", "found", "sketching"
    );
    for documents in counts {
        let made = Made::of(documents);
        for threshold in [0.8, 0.6] {
            let threshold = Threshold::new(threshold).expect("a threshold");
            for mode in [Mode::Verified, Mode::Estimated, Mode::Exact] {
                made.measure(mode, threshold);
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Mode {
    Verified,
    Estimated,
    Exact,
}

/// A corpus with its sets in memory.
struct Made {
    corpus: Corpus,
    sets: Vec<ShingleSet>,
    sketching_s: f64,
}

struct InMemory<'s>(&'s [ShingleSet]);

impl Sets for InMemory<'_> {
    type Error = Infallible;

    fn set(&mut self, number: u32) -> Result<ShingleSet, Infallible> {
        Ok(self.0[number as usize].clone())
    }
}

impl Made {
    fn of(count: usize) -> Self {
        let analyser = Analyser::new(&CollectionSettings::default());
        let mut gathering = Gathering::new(SketchSettings::default().sketch_bytes());
        let mut random = Random(2);
        let mut sketching_s = 0.0;
        let mut sets = Vec::with_capacity(count);
        for (family, original) in documents(count / FAMILY, DOCUMENT_BYTES).iter().enumerate() {
            for member in 0..FAMILY {
                let text = Content::Text(edited(original, member * 2, &mut random));
                let started = Instant::now();
                let analysis = analyser.analyse(&text).expect("a text");
                sketching_s += started.elapsed().as_secs_f64();
                let id = DocumentId::new(format!("{family:08}/{member}")).expect("an id");
                let (set, sketch) = (analysis.set, analysis.sketch);
                let tag = sets.len() as u32;
                let size = set.count() as u32;
                gathering.push((id, tag), set.fingerprint(), size, sketch.as_bytes());
                sets.push(set);
            }
        }
        let (corpus, documents) = gathering.finish();
        let set = |number| sets[documents.of(number)[0].1 as usize].clone();
        let sets = (0..corpus.count()).map(set).collect();
        Self { corpus, sets, sketching_s }
    }

    fn measure(&self, mode: Mode, threshold: Threshold) {
        let started = Instant::now();
        let mut pairs = 0;
        let counted = |_| {
            pairs += 1;
            ControlFlow::Continue(())
        };
        let mut sets = InMemory(&self.sets);
        let progress = Progress::default();
        self.join(mode, threshold).pairs(&mut sets, &progress, counted).expect("it is not stopped");
        self.print(mode, threshold, "pairs", started, pairs);
        for linkage in [Linkage::Single, Linkage::Representative] {
            let started = Instant::now();
            let clusters = self
                .join(mode, threshold)
                .clusters(linkage, &mut sets, &progress)
                .expect("it is not stopped");
            let count = (0..).zip(&clusters).filter(|(number, first)| number == *first).count();
            self.print(mode, threshold, &format!("{linkage:?}"), started, count);
        }
    }

    fn join(&self, mode: Mode, threshold: Threshold) -> Join<'_> {
        let settings = SketchSettings::default();
        let judged = (Estimator::new(&settings), threshold);
        let progress = Progress::default();
        let scoring = match mode {
            Mode::Verified => Scoring::Verified,
            Mode::Estimated => Scoring::Estimated,
            Mode::Exact => {
                let mut sets = InMemory(&self.sets);
                return Join::exact(&self.corpus, judged, &mut sets, &progress)
                    .expect("it is not stopped");
            }
        };
        let bands = Bands::new(&SchemeSettings::default(), &settings);
        let plan = bands.plan(threshold);
        let value = |sketch: &[u8], table| Some(bands.value(sketch, table));
        let keys = Keys { tables: plan.bands, value, agreeing_min: plan.agreeing_min };
        Join::by_keys(&self.corpus, &keys, judged, scoring, &progress).expect("it is not stopped")
    }

    fn print(&self, mode: Mode, threshold: Threshold, of: &str, started: Instant, found: usize) {
        println!(
            "{:>10} {:>10} {:>10} {:>12} {:>10.2} {:>12} {:>10.2}",
            self.sets.len(),
            threshold.get(),
            format!("{mode:?}").to_lowercase(),
            of.to_lowercase(),
            started.elapsed().as_secs_f64(),
            found,
            self.sketching_s,
        );
    }
}

/// The text with so many words exchanged, or fewer.
fn edited(text: &str, words: usize, random: &mut Random) -> String {
    let mut split: Vec<String> = text.split(' ').map(str::to_owned).collect();
    for _ in 0..words {
        let at = random.below(split.len());
        split[at] = format!("edit{}", random.below(1_000_000));
    }
    split.join(" ")
}
