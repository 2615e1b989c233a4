//! What the index costs in time and memory: `cargo bench --bench index -- [FILE | DOCUMENTS …]`.
//!
//! Sketches are those of a file's documents (JSONL with `text`), or made up one by one: families of
//! five, of which each agrees with the family's first in four slots of five. Documents are filed
//! one after the other into an index that was empty, so whatever growing costs is in the figures.
//! Beside them, in the same run, what the memory alone takes: a read and a write of as many lines
//! at random places, in plain memory of the size of the index.

#[path = "corpus/lines.rs"]
mod lines;
#[path = "corpus/random.rs"]
mod random;
#[path = "corpus/sketches.rs"]
mod sketches;

use std::hint::black_box;
use std::time::{Duration, Instant};

use akin::document::{Content, Ordinal};
use akin::engine::{Analyser, CollectionSettings};
use akin::index::Index;
use akin::scheme::{Bands, Key, ProbePlan, SchemeSettings, Threshold};
use akin::sketch::{Estimator, Sketch, SketchSettings};
use random::Random;
use sketches::{fingerprint, made_up};

const LOOKUPS: usize = 100_000;
const REMOVALS: usize = 100_000;

fn main() {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    if arguments.is_empty() {
        for documents in [44_000, 1_000_000, 10_000_000] {
            measure(&Sketches::MadeUp(documents));
        }
    }
    for argument in arguments {
        match argument.parse() {
            Ok(documents) => measure(&Sketches::MadeUp(documents)),
            Err(_) => measure(&read(&argument)),
        }
    }
}

enum Sketches {
    MadeUp(usize),
    Read(Vec<Sketch>),
}

impl Sketches {
    fn len(&self) -> usize {
        match self {
            Self::MadeUp(documents) => *documents,
            Self::Read(sketches) => sketches.len(),
        }
    }

    fn get(&self, number: usize) -> Sketch {
        match self {
            Self::MadeUp(_) => made_up(number as u64),
            Self::Read(sketches) => sketches[number].clone(),
        }
    }
}

fn read(path: &str) -> Sketches {
    let analyser = Analyser::new(&CollectionSettings::default());
    let sketch = |line: &str| {
        let document: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let text = Content::Text(document["text"].as_str().expect("a text").to_owned());
        Some(analyser.analyse(&text).ok()?.sketch)
    };
    let file = std::fs::read_to_string(path).expect("the corpus can be read");
    Sketches::Read(file.lines().filter_map(sketch).collect())
}

struct Bench<'a> {
    sketches: &'a Sketches,
    bands: Bands,
    index: Index,
}

fn measure(sketches: &Sketches) {
    let settings = SketchSettings::default();
    let bands = Bands::new(&SchemeSettings::default(), &settings);
    let empty = || Index::new(bands.bands, settings.sketch_bytes(), Estimator::new(&settings));
    let mut bench = Bench { sketches, bands: bands.clone(), index: empty() };
    let documents = sketches.len();
    println!("{documents} documents");

    let mut times = vec![1_u32; documents];
    let before = resident_bytes();
    bench.fill(&mut times);
    let resident = resident_bytes().saturating_sub(before);
    tell("insert", &mut times);
    tell("lookup", &mut bench.look_up(3));
    let both = std::thread::scope(|scope| {
        let other = scope.spawn(|| bench.look_up(4));
        let mut times = bench.look_up(5);
        times.extend(other.join().expect("lookups do not fail"));
        times
    });
    tell("lookup, 2 threads", &mut { both });

    let bytes = bench.index.stats().bytes;
    let each = |bytes: u64| bytes as f64 / documents as f64;
    println!("  counted {:.0} B, resident {:.0} B a document", each(bytes), each(resident));
    tell("remove", &mut bench.remove());
    bench.index = empty();
    bench.load();
    bench.index = empty();
    drop(bench);
    limits(bytes as usize, bands.bands as usize + 1, 10);
}

impl Bench<'_> {
    fn fill(&self, times: &mut [u32]) {
        for (number, time) in times.iter_mut().enumerate() {
            let sketch = self.sketches.get(number);
            let started = Instant::now();
            let keys: Vec<Key> = self.bands.keys(sketch.as_bytes(), self.bands.bands).collect();
            let filing = sketches::filing(number, &sketch, &keys);
            self.index.insert(Ordinal(number as u32), &filing);
            *time = nanoseconds(started.elapsed());
        }
    }

    /// Lookups at 0.8, from a sketch to candidates pruned by sketch.
    fn look_up(&self, seed: u64) -> Vec<u32> {
        let plan = self.bands.plan(Threshold::new(0.8).expect("0.8 is a threshold"));
        let mut random = Random(seed);
        let look_up = |_| self.look_up_one(random.below(self.sketches.len()), &plan);
        (0..LOOKUPS).map(look_up).collect()
    }

    fn look_up_one(&self, number: usize, plan: &ProbePlan) -> u32 {
        let sketch = self.sketches.get(number);
        let started = Instant::now();
        sketches::look_up(&self.index, &sketch, &self.bands, plan);
        nanoseconds(started.elapsed())
    }

    fn remove(&self) -> Vec<u32> {
        let mut random = Random(6);
        let remove = |_| {
            let number = random.below(self.sketches.len());
            let sketch = self.sketches.get(number);
            let keys: Vec<Key> = self.bands.keys(sketch.as_bytes(), self.bands.bands).collect();
            let started = Instant::now();
            self.index.remove(Ordinal(number as u32), fingerprint(number), &keys);
            nanoseconds(started.elapsed())
        };
        (0..REMOVALS.min(self.sketches.len() / 2)).map(remove).collect()
    }

    /// Everything at once, on one thread.
    fn load(&mut self) {
        let loading = self.index.loading();
        let mut gathered = loading.gathering();
        let mut adding = Duration::ZERO;
        for number in 0..self.sketches.len() {
            let sketch = self.sketches.get(number);
            let ordinal = Ordinal(number as u32);
            let started = Instant::now();
            gathered.add(fingerprint(number), 900, sketch.as_bytes(), [ordinal]);
            adding += started.elapsed();
        }
        let started = Instant::now();
        loading.file([gathered], 1, |sketch, table| Some(self.bands.value(sketch, table)));
        let filing = started.elapsed();
        let documents = self.sketches.len() as f64;
        let postings = documents * f64::from(self.bands.bands + 1);
        println!(
            "  load: entry {:.0} ns, posting {:.1} ns",
            adding.as_nanos() as f64 / documents,
            filing.as_nanos() as f64 / postings
        );
    }
}

/// What reading, and writing, one word of so many lines at random places takes.
fn limits(bytes: usize, written: usize, read: usize) {
    let time = lines::at_random(bytes, written, |word| *word += 1);
    println!("  limit: {written} lines written at random: {} ns", time.as_nanos());
    let mut sum = 0;
    let time = lines::at_random(bytes, read, |word| sum += *word);
    println!("  limit: {read} lines read at random: {} ns", time.as_nanos());
    black_box(sum);
}

fn tell(what: &str, times: &mut [u32]) {
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    let mean = times.iter().map(|&time| u64::from(time)).sum::<u64>() / times.len() as u64;
    println!(
        "  {what}: mean {mean} ns, p50 {}, p99 {}, p99.9 {}, max {}",
        at(0.5),
        at(0.99),
        at(0.999),
        at(1.0)
    );
}

fn nanoseconds(time: Duration) -> u32 {
    u32::try_from(time.as_nanos()).unwrap_or(u32::MAX)
}

/// Resident memory of this process, as Linux tells it; 0 elsewhere.
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}
