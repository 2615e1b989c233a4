//! What a running server finds of a corpus that was imported into it, against brute force:
//!
//! ```text
//! akin serve & akin import FILE
//! cargo bench --bench recall -- FILE [URL [SAMPLE]]
//! ```
//!
//! FILE is JSONL of `{"id", "text"}`, plain or .gz. For a sample of its documents, every other
//! document's exact resemblance is computed here, from the texts and without any index, and held
//! against the answers of `GET /similar` in mode `verified`, at several thresholds. Pairs of equal
//! sets are easy, so recall is also given for the others alone.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::time::{Duration, Instant};

use akin::document::Content;
use akin::engine::{Analyser, CollectionSettings};
use akin_core::measure::Overlap;
use akin_core::text::ShingleSet;
use flate2::read::MultiGzDecoder;
use serde_json::Value;

const THRESHOLDS: [f64; 3] = [0.7, 0.8, 0.9];
const SAMPLE: usize = 2_000;

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let Some(file) = arguments.next() else {
        println!(
            "recall: no corpus given; usage: cargo bench --bench recall -- FILE [URL [SAMPLE]]"
        );
        return;
    };
    let url = arguments.next().unwrap_or_else(|| "http://127.0.0.1:2546".to_owned());
    let sample = arguments.next().map_or(SAMPLE, |sample| sample.parse().expect("a number"));

    let corpus = read(&file);
    let sample: Vec<usize> = spread(corpus.len(), sample);
    println!("{} documents, a sample of {}", corpus.len(), sample.len());
    let started = Instant::now();
    let truth = brute_force(&corpus, &sample);
    println!("brute force took {:.1} s", started.elapsed().as_secs_f64());
    println!(
        "threshold     pairs  found  wrong  recall  recall (sets differ)  expected  p50 us  p99 us  cut"
    );
    for threshold in THRESHOLDS {
        Report::of(&corpus, &sample, &truth, threshold, &url).print(threshold);
    }
}

struct Document {
    id: String,
    set: ShingleSet,
}

fn read(path: &str) -> Vec<Document> {
    let file = File::open(path).expect("the corpus can be opened");
    let input: Box<dyn Read> =
        match Path::new(path).extension().is_some_and(|extension| extension == "gz") {
            true => Box::new(MultiGzDecoder::new(file)),
            false => Box::new(file),
        };
    let analyser = Analyser::new(&CollectionSettings::default());
    let document = |line: Result<String, std::io::Error>| {
        let document: Value = serde_json::from_str(&line.expect("lines")).expect("JSON");
        let text = |name: &str| document[name].as_str().expect("text").to_owned();
        let analysis = analyser.analyse(&Content::Text(text("text"))).ok()?;
        Some(Document { id: text("id"), set: analysis.set })
    };
    BufReader::new(input).lines().filter_map(document).collect()
}

/// So many numbers below `end`, evenly spread.
fn spread(end: usize, count: usize) -> Vec<usize> {
    let count = count.min(end);
    (0..count).map(|n| n * end / count).collect()
}

/// For each of the sample, the documents at or over the lowest threshold with their resemblance.
fn brute_force(corpus: &[Document], sample: &[usize]) -> Vec<HashMap<usize, f64>> {
    let near = |&probe: &usize| {
        let resemblance =
            |other: usize| Overlap::of(&corpus[probe].set, &corpus[other].set).resemblance();
        let others = (0..corpus.len()).filter(|&other| other != probe);
        let scored = others.map(|other| (other, resemblance(other)));
        scored.filter(|(_, resemblance)| *resemblance >= THRESHOLDS[0]).collect()
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let part = sample.len().div_ceil(threads);
    std::thread::scope(|scope| {
        let parts = sample.chunks(part).map(|part| {
            scope.spawn(move || part.iter().map(near).collect::<Vec<HashMap<usize, f64>>>())
        });
        let parts: Vec<_> = parts.collect();
        parts.into_iter().flat_map(|part| part.join().expect("brute force")).collect()
    })
}

#[derive(Default)]
struct Report {
    pairs: usize,
    pairs_unequal: usize,
    found: usize,
    found_unequal: usize,
    /// Under the threshold in truth, or given another resemblance than the true one.
    wrong: usize,
    truncated: usize,
    expected_recall: f64,
    times: Vec<Duration>,
}

impl Report {
    fn of(
        corpus: &[Document],
        sample: &[usize],
        truth: &[HashMap<usize, f64>],
        threshold: f64,
        url: &str,
    ) -> Self {
        let numbers: HashMap<&str, usize> = corpus
            .iter()
            .enumerate()
            .map(|(number, document)| (document.id.as_str(), number))
            .collect();
        let mut report = Self::default();
        let agent = ureq::Agent::new_with_defaults();
        for (&probe, truth) in sample.iter().zip(truth) {
            let started = Instant::now();
            let answer = similar(&agent, url, &corpus[probe].id, threshold);
            report.times.push(started.elapsed());
            report.count_truth(truth, threshold);
            report.count_answer(&answer, truth, threshold, &numbers);
        }
        report.times.sort_unstable();
        report
    }

    fn count_truth(&mut self, truth: &HashMap<usize, f64>, threshold: f64) {
        let over = truth.values().filter(|resemblance| **resemblance >= threshold);
        self.pairs += over.clone().count();
        self.pairs_unequal += over.filter(|resemblance| **resemblance < 1.0).count();
    }

    fn count_answer(
        &mut self,
        answer: &Value,
        truth: &HashMap<usize, f64>,
        threshold: f64,
        numbers: &HashMap<&str, usize>,
    ) {
        self.expected_recall = answer["expected_recall"].as_f64().expect("expected_recall");
        self.truncated += usize::from(answer["truncated"] == true);
        for found in answer["matches"].as_array().expect("matches") {
            let number = numbers[found["id"].as_str().expect("id")];
            let resemblance = found["resemblance"].as_f64().expect("resemblance");
            let right = truth.get(&number).is_some_and(|truth| (truth - resemblance).abs() < 1e-12);
            if !right || resemblance < threshold {
                self.wrong += 1;
                continue;
            }
            self.found += 1;
            self.found_unequal += usize::from(resemblance < 1.0);
        }
    }

    fn print(&self, threshold: f64) {
        let at = |share: usize| self.times[(self.times.len() - 1) * share / 100].as_micros();
        println!(
            "{threshold:>9} {:>9} {:>6} {:>6}  {:.5}  {:>20.5}  {:>8.4}  {:>6}  {:>6}  {:>3}",
            self.pairs,
            self.found,
            self.wrong,
            self.found as f64 / self.pairs as f64,
            self.found_unequal as f64 / self.pairs_unequal as f64,
            self.expected_recall,
            at(50),
            at(99),
            self.truncated,
        );
    }
}

fn similar(agent: &ureq::Agent, url: &str, id: &str, threshold: f64) -> Value {
    let call = agent
        .get(format!("{url}/similar"))
        .query("id", id)
        .query("threshold", threshold.to_string())
        .query("limit", "10000");
    let mut answer = call.call().expect("the server answers; was the corpus imported?");
    let text = answer.body_mut().with_config().limit(u64::MAX).read_to_string();
    serde_json::from_str(&text.expect("an answer")).expect("JSON")
}
