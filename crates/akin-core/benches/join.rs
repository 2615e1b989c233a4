//! All pairs of a corpus, from text, on one thread: `cargo bench -p akin-core --bench join --
//! [verified|estimated|exact|single|representative …] [DOCUMENTS …]`.
//! Up to three million documents have their sets in memory, more in a temporary file.
//!
//! Documents of about 1 kB in families of five: four of each have up to 16 words of the first
//! exchanged, so that pairs resemble each other in every degree. The time of a join stands next to
//! the time of making sets and sketches of the texts, which every discovery needs; making up the
//! texts is not counted. Each join is also a line `name,documents,seconds,pairs,peak_bytes`, where
//! the seconds are all of the row before it, and the peak that of the process so far. From the
//! second number of documents on, the exponent says how the time grows with them.

#[path = "corpus/numbers.rs"]
mod numbers;
#[path = "corpus/texts.rs"]
mod texts;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::time::Instant;

use akin_core::document::DocumentId;
use akin_core::join::{
    Corpus, CorpusBuilder, Join, JoinProgress, Keys, Linkage, PairScoring, Sets,
};
use akin_core::scheme::{Bands, SchemeSettings, Threshold};
use akin_core::sketch::{Estimator, SketchSettings, Sketcher};
use akin_core::text::{ShingleSet, ShingleSettings, Shingler};
use numbers::Numbers;
use texts::each_document;

const DOCUMENT_BYTES: usize = 1_000;
const FAMILY: usize = 5;
const WORDS_EXCHANGED_MAX: usize = 17;
const THRESHOLD: f64 = 0.8;
const DOCUMENTS_USUAL: usize = 100_000;
const IN_MEMORY_MAX: usize = 3_000_000;

fn main() {
    let asked: Vec<String> =
        std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let mut counts: Vec<usize> = asked.iter().filter_map(|asked| asked.parse().ok()).collect();
    if counts.is_empty() {
        counts.push(DOCUMENTS_USUAL);
    }
    let mut modes: Vec<JoinMode> =
        asked.iter().filter_map(|asked| JoinMode::named(asked)).collect();
    if modes.is_empty() {
        modes.extend(JoinMode::ALL);
    }
    println!(
        "{:>10} {:>14} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>10}",
        "documents", "of", "text", "sketch", "gather", "file", "join", "s", "found"
    );
    let mut before: Vec<(usize, f64)> = Vec::new();
    for documents in counts {
        let mut made = Made::of(documents);
        let taken: Vec<_> = modes.iter().map(|mode| (documents, made.measure(*mode))).collect();
        for ((mode, now), before) in modes.iter().zip(&taken).zip(&before) {
            let exponent = (now.1 / before.1).ln() / (now.0 as f64 / before.0 as f64).ln();
            println!("{mode:?}: {} → {} documents: exponent {exponent:.2}", before.0, now.0);
        }
        before = taken;
    }
}

#[derive(Clone, Copy, Debug)]
enum JoinMode {
    Verified,
    Estimated,
    Exact,
    /// Clusters, verified.
    Single,
    Representative,
}

impl JoinMode {
    const ALL: [Self; 5] =
        [Self::Verified, Self::Estimated, Self::Exact, Self::Single, Self::Representative];

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| format!("{mode:?}").eq_ignore_ascii_case(name))
    }
}

/// A corpus, and the seconds that its phases took.
struct Made {
    sets: Kept,
    text_s: f64,
    sketch_s: f64,
    gather_s: f64,
}

impl Made {
    fn of(count: usize) -> Self {
        let settings = SketchSettings::default();
        let shingler = Shingler::new(ShingleSettings::default(), settings.seed(), usize::MAX);
        let sketcher = Sketcher::new(settings);
        let mut builder = CorpusBuilder::new(sketcher.sketch_bytes());
        let mut sets = Kept::new(count);
        let [mut text_s, mut sketch_s, mut gather_s] = [0.0; 3];
        for (tag, (name, text)) in (0..).zip(families().take(count)) {
            let set = timed(&mut text_s, || shingler.text(&text).expect("a text").set);
            let sketch = timed(&mut sketch_s, || sketcher.sketch(&set));
            timed(&mut gather_s, || {
                let document = (DocumentId::new(name).expect("an id"), tag);
                let size = set.count() as u32;
                builder.push(document, set.fingerprint(), size, sketch.as_bytes());
                sets.push(set);
            });
        }
        let (corpus, documents) = timed(&mut gather_s, || builder.finish());
        sets.tags = (0..corpus.count()).map(|number| documents.of(number)[0].1).collect();
        sets.corpus = corpus;
        Self { sets, text_s, sketch_s, gather_s }
    }

    /// The seconds from text to the last pair or cluster.
    fn measure(&mut self, mode: JoinMode) -> f64 {
        let Self { sets, .. } = self;
        let progress = JoinProgress::default();
        let [mut file_s, mut join_s] = [0.0; 2];
        let join = timed(&mut file_s, || join(mode, sets));
        let linkage = match mode {
            JoinMode::Single => Some(Linkage::Single),
            JoinMode::Representative => Some(Linkage::Representative),
            _ => None,
        };
        let found = timed(&mut join_s, || match linkage {
            Some(linkage) => {
                let clusters = join.clusters(linkage, sets, &progress).expect("not stopped");
                (0..).zip(&clusters).filter(|(number, first)| number == *first).count()
            }
            None => {
                let mut pairs = 0;
                let count = |_| {
                    pairs += 1;
                    ControlFlow::Continue(())
                };
                join.pairs(sets, &progress, count).expect("not stopped");
                pairs
            }
        });
        let Self { text_s, sketch_s, gather_s, .. } = *self;
        let all_s = text_s + sketch_s + gather_s + file_s + join_s;
        let (documents, name) = (self.sets.count, format!("{mode:?}").to_lowercase());
        println!(
            "{documents:>10} {name:>14} {text_s:>8.2} {sketch_s:>8.2} {gather_s:>8.2} \
             {file_s:>8.2} {join_s:>8.2} {all_s:>8.2} {found:>10}"
        );
        println!("{name},{documents},{all_s:.3},{found},{}", peak_bytes());
        all_s
    }
}

fn join(mode: JoinMode, sets: &mut Kept) -> Join<'static> {
    let settings = SketchSettings::default();
    let threshold = Threshold::new(THRESHOLD).expect("a threshold");
    let judged = (Estimator::new(&settings), threshold);
    let progress = JoinProgress::default();
    let scoring = match mode {
        JoinMode::Exact => {
            return Join::exact(judged, sets, &progress).expect("not stopped");
        }
        JoinMode::Estimated => PairScoring::Estimated,
        _ => PairScoring::Verified,
    };
    let bands = Bands::new(&SchemeSettings::default(), &settings);
    let plan = bands.plan(threshold);
    let value = move |sketch: &[u8], table| Some(bands.value(sketch, table));
    let keys =
        Keys { tables: plan.bands, value, agreeing_min: plan.agreeing_min, crowds_from: threshold };
    Join::by_keys(keys, judged, scoring, sets, &progress).expect("not stopped")
}

/// Sets by their documents' tags, in memory or, if there is a file, there.
struct Kept {
    corpus: Corpus,
    count: usize,
    in_memory: Vec<ShingleSet>,
    file: Option<BufWriter<File>>,
    /// Where in the file each set begins, in elements.
    starts: Vec<u64>,
    /// By the number of the set.
    tags: Vec<u64>,
}

impl Kept {
    fn new(documents: usize) -> Self {
        let is_in_file = documents > IN_MEMORY_MAX;
        let file =
            || BufWriter::with_capacity(1 << 20, tempfile::tempfile().expect("a temporary file"));
        let (in_memory, tags) = (Vec::new(), Vec::new());
        let corpus = Corpus::default();
        Self { corpus, count: 0, in_memory, file: is_in_file.then(file), starts: vec![0], tags }
    }

    fn push(&mut self, set: ShingleSet) {
        self.count += 1;
        let Some(file) = &mut self.file else { return self.in_memory.push(set) };
        for element in set.as_slice() {
            file.write_all(&element.to_le_bytes()).expect("room on the disk");
        }
        self.starts.push(self.starts[self.starts.len() - 1] + set.count() as u64);
    }
}

impl Sets for Kept {
    type Error = io::Error;

    fn count(&self) -> u32 {
        self.corpus.count()
    }

    fn shingles(&self, number: u32) -> usize {
        self.corpus.shingles(number)
    }

    fn sketch(&mut self, number: u32) -> io::Result<&[u8]> {
        Ok(self.corpus.sketch(number))
    }

    fn set(&mut self, number: u32) -> io::Result<ShingleSet> {
        let tag = self.tags[number as usize] as usize;
        let Some(file) = &mut self.file else { return Ok(self.in_memory[tag].clone()) };
        file.flush()?;
        let (start, end) = (self.starts[tag], self.starts[tag + 1]);
        let mut bytes = vec![0; (end - start) as usize * 8];
        file.get_ref().read_exact_at(&mut bytes, start * 8)?;
        let elements = bytes.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes));
        ShingleSet::from_ascending(elements.collect::<Vec<_>>())
            .ok_or_else(|| io::Error::other("no set"))
    }
}

/// Adds the seconds that something takes.
fn timed<T>(seconds: &mut f64, work: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let made = work();
    *seconds += started.elapsed().as_secs_f64();
    made
}

/// Names and texts, family by family.
fn families() -> impl Iterator<Item = (String, String)> {
    let mut random = Numbers(2);
    each_document(DOCUMENT_BYTES).enumerate().flat_map(move |(family, original)| {
        let edited = |member: usize| {
            let words = if member == 0 { 0 } else { random.below(WORDS_EXCHANGED_MAX) };
            (format!("{family:08}/{member}"), edited(&original, words, &mut random))
        };
        (0..FAMILY).map(edited).collect::<Vec<_>>()
    })
}

/// The text with so many words exchanged, or fewer.
fn edited(text: &str, words: usize, random: &mut Numbers) -> String {
    let mut split: Vec<&str> = text.split(' ').collect();
    let others: Vec<_> = (0..words).map(|_| format!("edit{}", random.below(1_000_000))).collect();
    for other in &others {
        let at = random.below(split.len());
        split[at] = other;
    }
    split.join(" ")
}

/// The most memory that the process had so far; 0 where the system does not tell.
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1_024
}
