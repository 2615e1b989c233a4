//! The time and memory of finding passages: `cargo bench -p akin-core --bench passages -- [FILE |
//! DOCUMENTS …]`, without arguments 100,000 documents.
//!
//! The documents are the lines of a file (JSONL with `text`, or a text a line), or made-up
//! documents of a kilobyte, words by Zipf's law. The index has no texts: a compared block is cut
//! again, as by the server. Probes are runs of words of documents.

mod corpus;
#[path = "corpus/times.rs"]
mod times;

use std::hint::black_box;
use std::time::Instant;

use akin_core::document::Ordinal;
use akin_core::passages::{BlockIndex, PassageLimits, PassageSettings, TextBlocks, block_words};
use akin_core::text::{ShingleSettings, Shingler};
use corpus::Numbers;
use times::Times;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const DOCUMENT_BYTES: usize = 1_000;
const PROBES: usize = 2_000;

/// Candidates that are compared at a time.
const GROUP: usize = 16;

fn main() {
    let arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let mut arguments: Vec<String> = arguments.collect();
    if arguments.is_empty() {
        arguments.push("100000".to_owned());
    }
    for argument in arguments {
        let documents = match argument.parse() {
            Ok(count) => corpus::each_document(DOCUMENT_BYTES).take(count).collect(),
            Err(_) => corpus::read(&argument),
        };
        measure(&documents);
    }
}

fn measure(documents: &[String]) {
    let shingler = Shingler::new(ShingleSettings::default(), 0, usize::MAX);
    let bytes: usize = documents.iter().map(String::len).sum();
    println!("{} documents, {:.1} MB", documents.len(), bytes as f64 / 1e6);
    let cutting = Instant::now();
    for text in documents {
        black_box(shingler.words(text).expect("a text of usual length"));
    }
    let rate = bytes as f64 / 1e6 / cutting.elapsed().as_secs_f64();
    println!("  cutting alone: {rate:.0} MB/s");
    for run_words in [32, 13] {
        measure_index(documents, &shingler, bytes, run_words);
    }
}

fn measure_index(documents: &[String], shingler: &Shingler, bytes: usize, run_words: usize) {
    let settings = PassageSettings::new(run_words).expect("a length that is allowed");
    println!("  runs of {run_words} words");
    let index = BlockIndex::new(settings);
    let blocks = |text: &str| {
        let words = shingler.words(text).expect("a text of usual length");
        TextBlocks::new(settings, text, &words)
    };
    let (mut cutting, mut inserting) =
        (Times::with_room(documents.len()), Times::with_room(documents.len()));
    let mut words = 0;
    for (ordinal, text) in (0_u32..).zip(documents) {
        let blocks = cutting.time(|| blocks(text));
        words += blocks.words();
        inserting.time(|| index.insert(Ordinal::from(ordinal), &blocks));
    }
    cutting.print("  cut into blocks");
    inserting.print("  insert");
    let (stats, count) = (index.stats(), documents.len() as f64);
    println!(
        "    a document: {:.0} words, {:.1} postings, {:.0} B; {:.1} B a posting, {:.0} kB a MB; \
         longest list {}",
        words as f64 / count,
        stats.postings as f64 / count,
        stats.bytes as f64 / count,
        stats.bytes as f64 / stats.postings as f64,
        stats.bytes as f64 / 1e3 / (bytes as f64 / 1e6),
        stats.postings_longest,
    );
    for words in [50, 200, 1_000] {
        search(&index, documents, shingler, words);
    }
}

/// Searches for runs of words of documents, or for whole documents that are shorter.
fn search(index: &BlockIndex, documents: &[String], shingler: &Shingler, probe_words: usize) {
    let (mut random, mut times) = (Numbers(5), Times::with_room(PROBES));
    let mut looking_up = Times::with_room(PROBES);
    let (mut missed, mut truncated, mut compared) = (0, 0, 0);
    for _ in 0..PROBES {
        let number = random.below(documents.len());
        let source = shingler.words(&documents[number]).expect("a text of usual length");
        if source.is_empty() {
            continue;
        }
        let from = random.below(source.len().saturating_sub(probe_words).max(1));
        let to = source.len().min(from + probe_words);
        let probe = &documents[number][source.bytes(from..to)];
        let probe = shingler.words(probe).expect("a text of usual length");
        looking_up.time(|| index.search(probe.hashes(), PassageLimits::default()));
        let result = times.time(|| {
            let mut search = index.search(probe.hashes(), PassageLimits::default());
            loop {
                let group = search.next_group(GROUP);
                if group.is_empty() {
                    return search.finish();
                }
                for candidate in &group {
                    let (ordinal, block) = &candidate.blocks()[0];
                    let text = &documents[ordinal.get() as usize];
                    let words = block_words(shingler, text, block.as_ref()).expect("usual length");
                    search.compare(candidate, words.expect("the indexed text").hashes());
                }
            }
        });
        let ordinal = Ordinal::from(number as u32);
        let is_found = result.matches.iter().any(|found| found.ordinals.contains(&ordinal));
        missed += usize::from(to - from >= 32 && !result.truncated && !is_found);
        truncated += usize::from(result.truncated);
        compared += result.compared;
    }
    println!(
        "    probes of {probe_words} words: {:.1} compared, {:.3} truncated, {missed} missed",
        compared as f64 / PROBES as f64,
        truncated as f64 / PROBES as f64,
    );
    looking_up.print("    candidates");
    times.print("    search");
}
