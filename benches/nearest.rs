//! Lookups of the ten most similar documents: `cargo bench --bench nearest -- [DOCUMENTS
//! [PROBES]]`.
//!
//! Prints what is found of generated texts, against brute force, by the similarity of the documents
//! that should be found; and the milliseconds of a scan for each million sketches, of lookups one
//! after the other and of sixteen at a time. The texts are edited copies of each other, so that
//! some documents of each similarity are among the ten most similar.

#[path = "../crates/akin-core/benches/corpus/numbers.rs"]
mod numbers;

use std::collections::HashSet;
use std::time::Instant;

use akin::backend::LocalCollection;
use akin::document::{Content, Document, DocumentId};
use akin::engine::{
    AddOptions, Analyser, CollectionSettings, Engine, FoundBy, Lookup, Mode, Opening, Probe,
};
use akin_core::measure::Overlap;
use akin_core::text::ShingleSet;
use futures_util::future::join_all;
use numbers::Numbers;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const DOCUMENTS: usize = 200_000;
const PROBES: usize = 500;
const K: usize = 10;
const ADDED_AT_ONCE: usize = 2_048;
/// Of a family, one word in so many is exchanged.
const EDITS: [usize; 12] = [300, 60, 25, 15, 10, 8, 6, 5, 4, 4, 3, 3];
/// The lower ends of the rows of the table.
const FROM: [f64; 6] = [0.15, 0.3, 0.45, 0.6, 0.75, 0.9];
const ROUNDS: usize = 15;

fn main() {
    let mut counts = std::env::args().skip(1).filter_map(|argument| argument.parse().ok());
    let documents = counts.next().unwrap_or(DOCUMENTS);
    let probes = counts.next().unwrap_or(PROBES).min(documents);
    let dir = tempfile::tempdir().expect("a directory");
    let mut settings = CollectionSettings::default();
    settings.sketch.seed = Some(0);
    let analyser = Analyser::new(&settings);
    let storage = akin::storage::StorageSettings::default();
    let stored = LocalCollection::new(dir.path().to_owned(), settings, storage);
    let engine = Engine::open(&stored, &Opening::default()).expect("an engine");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let mut texts = Texts { numbers: Numbers(1), original: Vec::new(), edits: Vec::new() };
    let mut sets = Vec::with_capacity(documents);
    while sets.len() < documents {
        let block = (sets.len()..documents.min(sets.len() + ADDED_AT_ONCE)).map(|number| {
            let content = Content::Text(texts.next());
            sets.push(analyser.analyse(&content).expect("a text has shingles").set);
            Document { id: id(number), content, metadata: None, expires_at_ms: None }
        });
        let block: Vec<Document> = block.collect();
        let options = || AddOptions { check: false, ..AddOptions::default() };
        let added = join_all(block.into_iter().map(|document| engine.add(document, options())));
        runtime.block_on(added).into_iter().for_each(|added| drop(added.expect("it is added")));
    }
    println!("{documents} documents, {probes} probes, k = {K}");
    let probes: Vec<usize> = (0..probes).map(|n| n * (documents / probes)).collect();
    print_recall(&runtime, &engine, &sets, &probes);
    print_times(&runtime, &engine, documents, &probes);
}

fn id(number: usize) -> DocumentId {
    DocumentId::new(format!("d{number}")).expect("an id")
}

struct Texts {
    numbers: Numbers,
    original: Vec<usize>,
    edits: Vec<usize>,
}

impl Texts {
    fn next(&mut self) -> String {
        let numbers = &mut self.numbers;
        let Some(one_in) = self.edits.pop() else {
            let words = 60 + numbers.below(240);
            self.original = (0..words).map(|_| word(numbers)).collect();
            self.edits = EDITS.to_vec();
            return text(self.original.iter().copied());
        };
        let edit = |old: &usize| if numbers.one_in(one_in) { word(numbers) } else { *old };
        text(self.original.iter().map(edit))
    }
}

/// Low numbers are common.
fn word(numbers: &mut Numbers) -> usize {
    let common = numbers.below(20_000);
    numbers.below(common + 1)
}

fn text(words: impl Iterator<Item = usize>) -> String {
    words.map(|word| format!("w{word}")).collect::<Vec<_>>().join(" ")
}

fn lookup(mode: Mode) -> Lookup {
    Lookup { k: K.try_into().ok(), mode: Some(mode), ..Lookup::default() }
}

/// The other documents with their resemblance, best first, one more than k.
fn brute_force(sets: &[ShingleSet], probe: usize) -> Vec<(f64, usize)> {
    let resemblance = |other: usize| Overlap::of(&sets[probe], &sets[other]).resemblance();
    let others = (0..sets.len()).filter(|other| *other != probe);
    let mut all: Vec<_> = others.map(|other| (resemblance(other), other)).collect();
    all.select_nth_unstable_by(K, |a, b| b.0.total_cmp(&a.0));
    all.truncate(K + 1);
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    all
}

fn print_recall(
    runtime: &tokio::runtime::Runtime,
    engine: &Engine,
    sets: &[ShingleSet],
    probes: &[usize],
) {
    let (mut wanted, mut missed) = ([0_u32; FROM.len()], [0_u32; FROM.len()]);
    let (mut scans, mut truncated) = (0, 0);
    for probe in probes {
        let look_up = engine.similar(Probe::Stored(id(*probe)), lookup(Mode::Verified));
        let answer = runtime.block_on(look_up).expect("an answer");
        scans += usize::from(answer.searched.found_by == FoundBy::Scan);
        truncated += usize::from(answer.searched.truncated);
        let found: HashSet<&str> = answer.matches.iter().map(|it| it.id.as_str()).collect();
        let truth = brute_force(sets, *probe);
        // Of equally similar documents at the end any are right.
        let end = truth[K].0;
        for (similarity, other) in truth.into_iter().filter(|(similarity, _)| *similarity > end) {
            let Some(row) = FROM.iter().rposition(|from| similarity >= *from) else { continue };
            wanted[row] += 1;
            missed[row] += u32::from(!found.contains(id(other).as_str()));
        }
    }
    println!("{scans} lookups scanned the sketches, {truncated} were truncated\n");
    println!("similarity from  wanted  missed  recall@{K}");
    for (row, from) in FROM.iter().enumerate() {
        let recall = 1.0 - f64::from(missed[row]) / f64::from(wanted[row].max(1));
        println!("{from:>15}  {:>6}  {:>6}  {recall:>9.5}", wanted[row], missed[row]);
    }
}

/// Estimates are made by a scan alone.
fn print_times(
    runtime: &tokio::runtime::Runtime,
    engine: &Engine,
    documents: usize,
    probes: &[usize],
) {
    println!("\nms of a lookup for each million sketches");
    for at_once in [1, 16] {
        let round = |round: usize| {
            let probe = |n: usize| Probe::Stored(id(probes[(round * 16 + n) % probes.len()]));
            let lookups = (0..at_once).map(|n| engine.similar(probe(n), lookup(Mode::Estimated)));
            let started = Instant::now();
            let answers = runtime.block_on(join_all(lookups));
            let took = started.elapsed().as_secs_f64() * 1e3;
            assert!(
                answers.iter().all(|answer| answer.as_ref().is_ok_and(|it| !it.searched.truncated))
            );
            took
        };
        let least = (0..ROUNDS).map(round).fold(f64::INFINITY, f64::min);
        let each = least / f64::from(at_once as u32) / (documents as f64 / 1e6);
        println!("  {at_once:>2} at a time: {each:.2}");
    }
}
