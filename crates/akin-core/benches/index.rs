//! The time and memory that the index takes: `cargo bench -p akin-core --bench index -- [FILE |
//! DOCUMENTS …]`, without arguments a million documents.
//!
//! The sketches belong to the documents of a file (JSONL with `text`), or are generated: families
//! of five, of which each agrees with the family's first in four slots of five. Documents are
//! inserted into an empty index, so the figures include the cost of growth. Then 1, 2, 4 … threads
//! insert and look up, next to the same index behind an `RwLock`. The maximum time under a lock is
//! at most the longest insert into an index with one table: that insert takes four locks in turn,
//! of pages as large as the pages of an index with all tables. Limits are measured in the same run:
//! accesses to as many lines at random places, in plain memory of the size of the index; filling
//! new memory of the size of a segment; acquiring locks that another thread acquires, too; and
//! threads with an index each, which share nothing.

#[path = "corpus/lines.rs"]
mod lines;
#[path = "corpus/numbers.rs"]
mod numbers;
#[path = "corpus/sketches.rs"]
mod sketches;
#[path = "corpus/times.rs"]
mod times;

use std::hint::black_box;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};
use std::thread;
use std::time::Instant;

use akin_core::document::Ordinal;
use akin_core::index::Index;
use akin_core::scheme::{Bands, Key, ProbePlan, SchemeSettings, Threshold};
use akin_core::sketch::{Estimator, Sketch, SketchSettings, Sketcher};
use akin_core::text::{ShingleSettings, Shingler};
use numbers::Numbers;
use sketches::{fingerprint, made_up, new_set};
use times::Times;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const LOOKUPS: usize = 200_000;
const REMOVALS: usize = 100_000;

/// Documents that a thread files before it takes the next.
const PORTION: usize = 64;

/// The share of all documents that is inserted while other threads look up.
const FILED_MEANWHILE: usize = 10;

/// Memory of the largest segment of postings.
const SEGMENT_BYTES: usize = 32 << 10;

/// Locks that threads acquire at random, and how often: as many as an index on two cores has.
const LOCKS: usize = 256;
const ACQUISITIONS: usize = 5_000_000;

/// Measured for [`SchemeSettings::threshold_min`].
const LEAST_THRESHOLDS: [f64; 3] = [0.6, 0.7, 0.8];

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
    let settings = SketchSettings::default();
    let shingler = Shingler::new(ShingleSettings::default(), settings.seed(), usize::MAX);
    let sketcher = Sketcher::new(settings);
    let sketch = |line: &str| {
        let document: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let shingled = shingler.text(document["text"].as_str().expect("a text")).ok()?;
        Some(sketcher.sketch(&shingled.set))
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
    /// The documents that are indexed before lookups.
    numbers: Range<usize>,
}

fn measure(sketches: &Sketches) {
    println!("{} documents", sketches.len());
    let bytes = one_thread(sketches);
    println!("  by the lowest threshold that documents are indexed for:");
    for least in LEAST_THRESHOLDS {
        indexed_from(sketches, least);
    }
    let tables = SketchSettings::default().slots / 4;
    limits(bytes, tables as usize + 1, 10);
    longest_lock(sketches, bytes);
    println!("  threads, index: inserts (p99.9), lookups (p99, p99.9), lookups beside inserts");
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let counts = (0..).map(|power| 1 << power).take_while(|threads| *threads <= cores);
    let mut one = None;
    for threads in counts {
        let sharded = Bench::new(sketches, Measured::Sharded);
        let rates = side_by_side(threads, "sharded", &[sharded]);
        let apart = (0..threads).map(|thread| Bench::of_thread(sketches, thread, threads));
        let apart = side_by_side(threads, "an index each", &apart.collect::<Vec<_>>());
        let locked = Bench::new(sketches, |index| Measured::Locked(RwLock::new(index)));
        side_by_side(threads, "locked", &[locked]);
        let one = *one.get_or_insert(rates);
        let gain = |rates: Rates| (rates.inserts / one.inserts, rates.lookups / one.lookups);
        let (shared, apart) = (gain(rates), gain(apart));
        println!("    inserts × {:.2}, with an index each × {:.2}", shared.0, apart.0);
        println!("    lookups × {:.2}, with an index each × {:.2}", shared.1, apart.1);
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

/// Inserts and memory of an index that serves thresholds from `least` up.
fn indexed_from(sketches: &Sketches, least: f64) {
    let threshold_min = Some(Threshold::new(least).expect("a threshold"));
    let scheme = SchemeSettings { threshold_min, ..SchemeSettings::default() };
    let bench = Bench::of(sketches, &scheme, Measured::Sharded);
    let documents = sketches.len();
    let mut times = Times::with_room(documents);
    bench.fill(0..documents, &mut times);
    let bytes = bench.index.read(|index| index.stats().bytes) as f64 / documents as f64;
    let (bands, rows, rate) = (bench.bands.bands, bench.bands.rows, times.rate(1));
    println!(
        "  {least}: {bands} keys of {rows} slots, inserts {rate:.0} k/s, {bytes:.0} B a document"
    );
}

fn longest_lock(sketches: &Sketches, bytes: usize) {
    let mut filled = Vec::new();
    let mut times = Times::with_room(bytes / SEGMENT_BYTES);
    for _ in 0..bytes / SEGMENT_BYTES {
        times.time(|| filled.push(vec![1_u8; SEGMENT_BYTES]));
    }
    drop(black_box(filled));
    times.print("limit: new memory of a segment");
    let mut bench = Bench::new(sketches, Measured::Sharded);
    bench.bands.bands = 1;
    bench.index = empty(&bench.bands, Measured::Sharded);
    let mut times = Times::with_room(sketches.len());
    bench.fill(0..sketches.len(), &mut times);
    times.print("insert, one table");
    println!("  no lock was held longer than {:.0} µs", f64::from(times.at(1.0)) / 1_000.0);
}

/// Thousands of operations a second, of all threads.
#[derive(Clone, Copy)]
struct Rates {
    inserts: f64,
    lookups: f64,
}

/// Threads insert and look up in a common index, or in an index each.
fn side_by_side(threads: usize, name: &str, benches: &[Bench<'_>]) -> Rates {
    let of_thread = |thread: usize| &benches[thread % benches.len()];
    let documents: usize = benches.iter().map(|bench| bench.numbers.len()).sum();
    let next: Vec<AtomicUsize> =
        benches.iter().map(|bench| AtomicUsize::new(bench.numbers.start)).collect();
    let started = Instant::now();
    let mut inserts = on_threads(threads, |thread| {
        let bench = of_thread(thread);
        bench.fill_shared(&next[thread % next.len()], bench.numbers.end)
    });
    let inserts_rate = documents as f64 / started.elapsed().as_secs_f64() / 1_000.0;
    let mut lookups =
        on_threads(threads, |thread| of_thread(thread).look_up(LOOKUPS, thread as u64));
    let rates = Rates { inserts: inserts_rate, lookups: lookups.rate(threads) };
    let mut during = look_up_while_filling(threads, &benches[0], &benches[benches.len() - 1]);
    println!(
        "  {threads} {name}: {:.0} k/s ({} ns), {:.0} k/s ({}, {} ns), {:.0} k/s ({}, {} ns)",
        rates.inserts,
        inserts.at(0.999),
        rates.lookups,
        lookups.at(0.99),
        lookups.at(0.999),
        during.rate(threads.div_ceil(2)),
        during.at(0.99),
        during.at(0.999),
    );
    rates
}

/// Half of the threads insert more documents, and the other half look up until the first half is
/// done.
fn look_up_while_filling(threads: usize, read: &Bench<'_>, written: &Bench<'_>) -> Times {
    let more = read.sketches.len()..read.sketches.len() + read.sketches.len() / FILED_MEANWHILE;
    let (next, is_done) = (AtomicUsize::new(more.start), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            on_threads((threads / 2).max(1), |_| written.fill_shared(&next, more.end));
            is_done.store(true, Ordering::Relaxed);
        });
        on_threads(threads.div_ceil(2), |thread| {
            let mut random = Numbers(100 + thread as u64);
            let mut times = Times::with_room(LOOKUPS);
            while !is_done.load(Ordering::Relaxed) {
                read.look_up_one(&mut random, &mut times);
            }
            times
        })
    })
}

fn empty(bands: &Bands, measured: impl Fn(Index) -> Measured) -> Measured {
    let settings = SketchSettings::default();
    let estimator = Estimator::new(&settings);
    measured(Index::new(bands.bands, settings.sketch_bytes(), estimator))
}

impl<'a> Bench<'a> {
    fn new(sketches: &'a Sketches, measured: impl Fn(Index) -> Measured) -> Self {
        Self::of(sketches, &SchemeSettings::default(), measured)
    }

    fn of(
        sketches: &'a Sketches,
        scheme: &SchemeSettings,
        measured: impl Fn(Index) -> Measured,
    ) -> Self {
        let bands = Bands::new(scheme, &SketchSettings::default());
        let plan = bands.plan(Threshold::new(0.8).expect("0.8 is a threshold"));
        let index = empty(&bands, measured);
        Self { sketches, bands, plan, index, numbers: 0..sketches.len() }
    }

    /// A thread of several, with its share of the documents.
    fn of_thread(sketches: &'a Sketches, thread: usize, threads: usize) -> Self {
        let share = sketches.len() / threads;
        let numbers = thread * share..(thread + 1) * share;
        Self { numbers, ..Self::new(sketches, Measured::Sharded) }
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

    fn fill_shared(&self, next: &AtomicUsize, end: usize) -> Times {
        let mut times = Times::with_room(end.saturating_sub(next.load(Ordering::Relaxed)));
        loop {
            let first = next.fetch_add(PORTION, Ordering::Relaxed);
            if first >= end {
                return times;
            }
            self.fill(first..(first + PORTION).min(end), &mut times);
        }
    }

    fn look_up(&self, lookups: usize, seed: u64) -> Times {
        let mut random = Numbers(seed);
        let mut times = Times::with_room(lookups);
        for _ in 0..lookups {
            self.look_up_one(&mut random, &mut times);
        }
        times
    }

    /// A lookup at 0.8, from a sketch to candidates pruned by sketch.
    fn look_up_one(&self, random: &mut Numbers, times: &mut Times) {
        let number = self.numbers.start + random.below(self.numbers.len());
        let sketch = self.sketches.get(number);
        times.time(|| {
            self.index.read(|index| sketches::look_up(index, &sketch, &self.bands, &self.plan));
        });
    }

    fn remove(&self) -> Times {
        let mut random = Numbers(6);
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

    /// Everything by a single loader.
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

/// The time to write `written` and to read `read` words at random places; and the time to acquire a
/// lock that only this thread uses, or that two threads use.
fn limits(bytes: usize, written: usize, read: usize) {
    let time = lines::at_random(bytes, written, |word| *word += 1);
    println!("  limit: {written} lines written at random: {} ns", time.as_nanos());
    let mut sum = 0;
    let time = lines::at_random(bytes, read, |word| sum += *word);
    println!("  limit: {read} lines read at random: {} ns", time.as_nanos());
    black_box(sum);
    let [own, shared] = [1, 2].map(acquisition_ns);
    println!("  limit: a lock: {own:.0} ns, on two threads {shared:.0} ns");
}

fn acquisition_ns(threads: usize) -> f64 {
    #[repr(align(128))]
    struct Lock(Mutex<u64>);
    let locks: Vec<Lock> = (0..LOCKS).map(|_| Lock(Mutex::new(0))).collect();
    let started = Instant::now();
    on_threads(threads, |thread| {
        let mut random = Numbers(thread as u64);
        for _ in 0..ACQUISITIONS {
            let lock = &locks[random.below(LOCKS)];
            *lock.0.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        }
        Times::default()
    });
    started.elapsed().as_nanos() as f64 / ACQUISITIONS as f64
}

/// Resident memory of this process, as Linux tells it; 0 elsewhere.
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}
