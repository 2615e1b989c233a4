//! The speed and memory of decontamination and of exact-substring deduplication:
//! `cargo bench -p akin-core --bench training -- [FILE | MEGABYTES …]`, without arguments 200 MB.
//!
//! The documents are the lines of a file (JSONL with `text`, or a text a line), or made-up
//! documents of 6 kB, of which every tenth has a part of an earlier document. One document in a
//! hundred is an evaluation text. Rates are of a single thread, with the rate of cutting alone.

mod corpus;

use std::hint::black_box;
use std::slice;
use std::time::Instant;

use akin_core::passages::contamination::{DocumentCounts, EvaluationSetBuilder};
use akin_core::passages::repeats::RepeatedGrams;
use akin_core::text::{ShingleSettings, Shingler, WordSequence};
use corpus::Numbers;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const DOCUMENT_BYTES: usize = 6_000;

fn main() {
    let arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let mut arguments: Vec<String> = arguments.collect();
    if arguments.is_empty() {
        arguments.push("200".to_owned());
    }
    for argument in arguments {
        let documents = match argument.parse::<usize>() {
            Ok(megabytes) => made_up(megabytes * 1_000_000 / DOCUMENT_BYTES),
            Err(_) => corpus::read(&argument),
        };
        Bench::new(&documents).measure();
    }
}

fn made_up(count: usize) -> Vec<String> {
    let mut documents: Vec<String> = corpus::each_document(DOCUMENT_BYTES).take(count).collect();
    let mut random = Numbers(8);
    for number in (10..count).step_by(10) {
        let earlier = &documents[random.below(number)];
        let from = random.below(earlier.len() - 1_500);
        let part = earlier[from..from + 300 + random.below(1_200)].to_owned();
        documents[number].insert_str(0, &part);
    }
    documents
}

struct Bench<'d> {
    documents: &'d [String],
    shingler: Shingler,
    megabytes: f64,
}

impl<'d> Bench<'d> {
    fn new(documents: &'d [String]) -> Self {
        let shingler = Shingler::new(ShingleSettings::default(), 0, usize::MAX);
        let bytes: usize = documents.iter().map(String::len).sum();
        Self { documents, shingler, megabytes: bytes as f64 / 1e6 }
    }

    fn measure(&self) {
        println!("{} documents, {:.1} MB", self.documents.len(), self.megabytes);
        self.pass("cutting alone", |words| {
            black_box(words);
        });
        self.contamination();
        self.repeats();
    }

    fn pass(&self, name: &str, mut each: impl FnMut(WordSequence)) {
        let started = Instant::now();
        for text in self.documents {
            each(self.shingler.words(text).expect("a text of usual length"));
        }
        let rate = self.megabytes / started.elapsed().as_secs_f64();
        println!("  {name}: {rate:.0} MB/s");
    }

    fn contamination(&self) {
        let mut builder = EvaluationSetBuilder::new(EvaluationSetBuilder::USUAL_WORDS)
            .expect("the usual length is allowed");
        for text in self.documents.iter().step_by(100) {
            builder.add(self.shingler.words(text).expect("a text of usual length").hashes());
        }
        let evaluation = builder.build();
        let size = evaluation.size();
        println!(
            "  evaluation set: {} texts, {} grams, {:.1} MB",
            size.texts,
            size.grams,
            size.bytes as f64 / 1e6
        );
        let (mut contaminated, mut ignored) = (0, 0);
        self.pass("scan", |words| {
            contaminated += usize::from(evaluation.scan(words.hashes()).covered > 0);
        });
        let counts = DocumentCounts::new(&evaluation);
        self.pass("count", |words| counts.add(words.hashes(), slice::from_ref(&(0..words.len()))));
        let frequent = counts.frequent(10);
        let mut rest = 0;
        self.pass("scan without frequent grams", |words| {
            let found = evaluation.scan_parts(
                words.hashes(),
                slice::from_ref(&(0..words.len())),
                Some(&frequent),
            );
            rest += usize::from(found.covered > 0);
            ignored += found.ignored;
        });
        println!(
            "    {contaminated} contaminated; {rest} without {} grams of more than 10 documents, \
             which occur {ignored} times",
            frequent.count()
        );
    }

    fn repeats(&self) {
        let mut grams =
            RepeatedGrams::new(RepeatedGrams::USUAL_WORDS).expect("the usual length is allowed");
        let mut words_count = 0;
        self.pass("repeats, first pass", |words| {
            words_count += words.len();
            grams.add(words.hashes());
        });
        let first = grams.bytes();
        let mut repeats = grams.into_repeats();
        let mut removed = 0;
        self.pass("repeats, second pass", |words| {
            let found = repeats.find(0, words.hashes());
            removed += found.iter().map(|repeat| repeat.words.len()).sum::<usize>();
        });
        println!(
            "    {removed} of {words_count} words are repeats; {:.1} MB in the first pass, {:.1} MB \
             in the second",
            first as f64 / 1e6,
            repeats.bytes() as f64 / 1e6,
        );
    }
}
