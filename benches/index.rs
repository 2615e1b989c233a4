//! What the index costs in time and memory: `cargo bench --bench index -- [FILE | DOCUMENTS …]`,
//! without arguments a million documents.
//!
//! Sketches are those of a file's documents (JSONL with `text`), or made up one by one: families of
//! five, of which each agrees with the family's first in four slots of five. Documents are filed
//! into an index that was empty, so whatever growing costs is in the figures. Then 1, 2, 4 … threads
//! file and look up, beside the same index behind one `RwLock`. The longest that a lock is held is
//! bounded by the longest insert into an index of one table: that takes four locks one after the
//! other, of pages as large as those of an index with all tables.
//!
//! Beside them, in the same run, what the memory alone takes: a read and a write of as many lines
//! at random places, in plain memory of the size of the index.

#[path = "corpus/lines.rs"]
mod lines;
#[path = "corpus/random.rs"]
mod random;
#[path = "corpus/sketches.rs"]
mod sketches;
#[path = "corpus/times.rs"]
mod times;

use std::hint::black_box;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock};
use std::thread;
use std::time::Instant;

use akin::document::{Content, Ordinal};
use akin::engine::{Analyser, CollectionSettings};
use akin::index::Index;
use akin::scheme::{Bands, Key, ProbePlan, SchemeSettings, Threshold};
use akin::sketch::{Estimator, Sketch, SketchSettings};
use random::Random;
use sketches::{fingerprint, made_up, new_set};
use times::Times;

const LOOKUPS: usize = 200_000;
const REMOVALS: usize = 100_000;

/// Documents that a thread files before it takes the next.
const PORTION: usize = 64;

/// Filed while others look up, of all documents.
const FILED_MEANWHILE: usize = 10;

fn main() {
    let arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let mut arguments: Vec<String> = arguments.collect();
    if arguments.is_empty() {
        arguments.push("1000000".to_owned());
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
            Self::Read(sketches) => sketches[number % sketches.len()].clone(),
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

/// The index as it is, or behind one lock.
enum Measured {
    Sharded(Index),
    Locked(RwLock<Index>),
}

impl Measured {
    fn read<T>(&self, read: impl FnOnce(&Index) -> T) -> T {
        match self {
            Self::Sharded(index) => read(index),
            Self::Locked(index) => read(&index.read().unwrap_or_else(PoisonError::into_inner)),
        }
    }

    fn write<T>(&self, write: impl FnOnce(&Index) -> T) -> T {
        match self {
            Self::Sharded(index) => write(index),
            Self::Locked(index) => write(&index.write().unwrap_or_else(PoisonError::into_inner)),
        }
    }
}

struct Bench<'a> {
    sketches: &'a Sketches,
    bands: Bands,
    plan: ProbePlan,
    index: Measured,
}

fn measure(sketches: &Sketches) {
    println!("{} documents", sketches.len());
    let bytes = one_thread(sketches);
    let tables = SketchSettings::default().slots / 4;
    limits(bytes, tables as usize + 1, 10);
    longest_lock(sketches);
    println!("  threads, index: inserts (p99.9), lookups (p99.9), lookups (p99, p99.9) beside");
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let counts = (0..).map(|power| 1 << power).take_while(|threads| *threads <= cores);
    for threads in counts {
        side_by_side(sketches, threads, "sharded", Measured::Sharded);
        side_by_side(sketches, threads, "locked ", |index| Measured::Locked(RwLock::new(index)));
    }
}

/// The index's memory.
fn one_thread(sketches: &Sketches) -> usize {
    let mut bench = Bench::new(sketches, Measured::Sharded);
    let documents = sketches.len();
    let mut times = Times::with_room(documents);
    let before = resident_bytes();
    bench.fill(0..documents, &mut times);
    let resident = resident_bytes().saturating_sub(before);
    times.print("insert");
    bench.look_up(LOOKUPS, 3).print("lookup");
    let bytes = bench.index.read(|index| index.stats().bytes);
    let each = |bytes: u64| bytes as f64 / documents as f64;
    println!("  counted {:.0} B, resident {:.0} B a document", each(bytes), each(resident));
    bench.remove().print("remove");
    bench.index = empty(&bench.bands, Measured::Sharded);
    bench.load();
    bytes as usize
}

fn longest_lock(sketches: &Sketches) {
    let mut bench = Bench::new(sketches, Measured::Sharded);
    bench.bands.bands = 1;
    bench.index = empty(&bench.bands, Measured::Sharded);
    let mut times = Times::with_room(sketches.len());
    bench.fill(0..sketches.len(), &mut times);
    times.print("insert under one key");
    println!("  no lock was held longer than {:.0} µs", f64::from(times.at(1.0)) / 1_000.0);
}

fn side_by_side(
    sketches: &Sketches,
    threads: usize,
    name: &str,
    measured: impl Fn(Index) -> Measured,
) {
    let bench = Bench::new(sketches, measured);
    let started = Instant::now();
    let mut inserts = bench.fill_on(threads, 0..sketches.len());
    let inserts_rate = sketches.len() as f64 / started.elapsed().as_secs_f64() / 1_000.0;
    let mut lookups = bench.look_up_on(threads);
    let mut during = bench.look_up_while_filling(threads);
    println!(
        "  {threads} {name}: {inserts_rate:.0} k/s ({} ns), {:.0} k/s ({} ns), {:.0} k/s ({}, {} ns)",
        inserts.at(0.999),
        lookups.rate(threads),
        lookups.at(0.999),
        during.rate(threads.div_ceil(2)),
        during.at(0.99),
        during.at(0.999),
    );
    println!("    lookup p99 without inserts: {} ns", lookups.at(0.99));
}

fn empty(bands: &Bands, measured: impl Fn(Index) -> Measured) -> Measured {
    let settings = SketchSettings::default();
    let estimator = Estimator::new(&settings);
    measured(Index::new(bands.bands, settings.sketch_bytes(), estimator))
}

impl<'a> Bench<'a> {
    fn new(sketches: &'a Sketches, measured: impl Fn(Index) -> Measured) -> Self {
        let bands = Bands::new(&SchemeSettings::default(), &SketchSettings::default());
        let plan = bands.plan(Threshold::new(0.8).expect("0.8 is a threshold"));
        let index = empty(&bands, measured);
        Self { sketches, bands, plan, index }
    }

    fn fill(&self, numbers: Range<usize>, times: &mut Times) {
        for number in numbers {
            let sketch = self.sketches.get(number);
            times.time(|| {
                let keys: Vec<Key> = self.bands.keys(sketch.as_bytes(), self.bands.bands).collect();
                let new = new_set(number, &sketch, &keys);
                self.index.write(|index| index.insert(Ordinal::from(number as u32), &new));
            });
        }
    }

    fn fill_on(&self, threads: usize, numbers: Range<usize>) -> Times {
        let next = AtomicUsize::new(numbers.start);
        on_threads(threads, |_| {
            let mut times = Times::with_room(numbers.len() / threads * 2);
            loop {
                let first = next.fetch_add(PORTION, Ordering::Relaxed);
                if first >= numbers.end {
                    return times;
                }
                self.fill(first..(first + PORTION).min(numbers.end), &mut times);
            }
        })
    }

    fn look_up(&self, lookups: usize, seed: u64) -> Times {
        let mut random = Random(seed);
        let mut times = Times::with_room(lookups);
        for _ in 0..lookups {
            self.look_up_one(&mut random, &mut times);
        }
        times
    }

    /// A lookup at 0.8, from a sketch to candidates pruned by sketch.
    fn look_up_one(&self, random: &mut Random, times: &mut Times) {
        let sketch = self.sketches.get(random.below(self.sketches.len()));
        times.time(|| {
            self.index.read(|index| sketches::look_up(index, &sketch, &self.bands, &self.plan));
        });
    }

    fn look_up_on(&self, threads: usize) -> Times {
        on_threads(threads, |thread| self.look_up(LOOKUPS, thread as u64))
    }

    /// Half of the threads file more documents, and the others look up until they are done.
    fn look_up_while_filling(&self, threads: usize) -> Times {
        let documents = self.sketches.len();
        let more = documents..documents + documents / FILED_MEANWHILE;
        let is_done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                self.fill_on((threads / 2).max(1), more);
                is_done.store(true, Ordering::Relaxed);
            });
            on_threads(threads.div_ceil(2), |thread| {
                let mut random = Random(100 + thread as u64);
                let mut times = Times::with_room(LOOKUPS);
                while !is_done.load(Ordering::Relaxed) {
                    self.look_up_one(&mut random, &mut times);
                }
                times
            })
        })
    }

    fn remove(&self) -> Times {
        let mut random = Random(6);
        let count = REMOVALS.min(self.sketches.len() / 2);
        let mut times = Times::with_room(count);
        for _ in 0..count {
            let number = random.below(self.sketches.len());
            let sketch = self.sketches.get(number);
            let keys: Vec<Key> = self.bands.keys(sketch.as_bytes(), self.bands.bands).collect();
            let ordinal = Ordinal::from(number as u32);
            let remove = |index: &Index| index.remove(ordinal, fingerprint(number), &keys, None);
            times.time(|| self.index.write(remove));
        }
        times
    }

    /// Everything by one loader.
    fn load(&mut self) {
        let value = |sketch: &[u8], table| Some(self.bands.value(sketch, table));
        let making = Instant::now();
        (0..self.sketches.len()).for_each(|number| drop(black_box(self.sketches.get(number))));
        let making = making.elapsed();
        let started = Instant::now();
        self.index.read(|index| {
            let mut loader = index.loader(&value);
            for number in 0..self.sketches.len() {
                let sketch = self.sketches.get(number);
                let ordinal = Ordinal::from(number as u32);
                loader.add(fingerprint(number), 900, sketch.as_bytes(), [ordinal]);
            }
        });
        let loading = started.elapsed().saturating_sub(making);
        println!("  load: {} ns a document", loading.as_nanos() / self.sketches.len() as u128);
    }
}

fn on_threads(threads: usize, work: impl Fn(usize) -> Times + Sync) -> Times {
    let work = &work;
    thread::scope(|scope| {
        let running: Vec<_> =
            (0..threads).map(|thread| scope.spawn(move || work(thread))).collect();
        let mut all = Times::default();
        for thread in running {
            all.add(thread.join().expect("operations do not fail"));
        }
        all
    })
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

/// Resident memory of this process, as Linux tells it; 0 elsewhere.
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}
