//! `akin dedup --spans` and `akin decontaminate` beside a suffix array over the same words: what
//! each finds, and what it takes. `cargo run --release --manifest-path bench/Cargo.toml -- spans [CORPUS.jsonl.gz]`.

mod corpora;
mod suffix_array;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use clap::Args;

use self::corpora::Corpus;
pub use self::suffix_array::{Job, take};
use crate::machine::Machine;
use crate::measured::{children_s, peak_bytes};
use crate::report::{replace_section, short, thousands};

/// Words of a repeated span, and of a gram of the evaluation set.
const SPAN_WORDS: usize = 50;
const GRAM_WORDS: usize = 13;

#[derive(Args)]
pub struct Arguments {
    /// JSON lines of {"id", "text"}, plain or .gz, beside made-up documents
    corpus: Option<PathBuf>,
    /// Megabytes of made-up documents
    #[arg(long, default_value_t = 200)]
    megabytes: usize,
    /// Where prepared corpora are kept
    #[arg(long, default_value = "target/bench/spans")]
    work: PathBuf,
    /// The table that is written
    #[arg(long, default_value = "bench/report/spans.md")]
    report: PathBuf,
    /// The page with the table
    #[arg(long, default_value = "docs/spans.md")]
    page: PathBuf,
    #[arg(long, default_value = "target/release/akin")]
    akin: PathBuf,
}

/// A process that has ended.
struct Measured {
    words: u64,
    processor_s: f64,
    wall_s: f64,
    peak_bytes: u64,
}

pub fn run(arguments: &Arguments) {
    let machine = Machine::here("python3");
    let day = machine.date.split(' ').next().unwrap_or_default();
    let mut page = format!(
        "| {}, {} cores, {day} | finds | words | CPU seconds | seconds | peak MB |\n\
         |---|---|--:|--:|--:|--:|\n",
        machine.processor, machine.cores
    );
    let made_up = Corpus::made_up(&arguments.work, arguments.megabytes);
    let given = arguments.corpus.iter().map(|path| Corpus::of_file(&arguments.work, path));
    for corpus in std::iter::once(made_up).chain(given) {
        page += &rows(arguments, &corpus);
    }
    std::fs::write(&arguments.report, &page).expect("the report is written");
    replace_section(&arguments.page, "suffix-array", &format!("\n{page}\n"));
    println!("{page}");
}

/// The rows of a corpus.
fn rows(arguments: &Arguments, corpus: &Corpus) -> String {
    let (spans, grams) = (SPAN_WORDS.to_string(), GRAM_WORDS.to_string());
    let [all, training, evaluation] = corpus.files();
    let out = corpus.folder.join("out.jsonl");
    let akin = |further: &[&Path]| {
        let mut command = Command::new(&arguments.akin);
        command.args(further).args(["--json", "--quiet", "--force"]);
        command
    };
    let suffix_array = |of: &[&Path]| {
        let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
        command.arg("suffix-array").args(of);
        command
    };
    let p = Path::new;
    let dedup = akin(&[p("dedup"), &all, p("--spans"), p(&spans), p("-o"), &out]);
    let decontaminate = akin(&[
        p("decontaminate"),
        &training,
        p("--against"),
        &evaluation,
        p("--words"),
        p(&grams),
        p("--action"),
        p("report"),
    ]);
    let of_spans = suffix_array(&[&all, p("--words"), p(&spans)]);
    let of_grams =
        suffix_array(&[&training, p("--words"), p(&grams), p("--evaluation"), &evaluation]);
    let repeats = format!("repeats of {SPAN_WORDS} words");
    let contamination = format!("{GRAM_WORDS} words of the evaluation set");
    let mut rows = format!(
        "| **{}**: {} documents, {} MB | | | | | |\n",
        corpus.name,
        thousands(corpus.documents as u64),
        short(corpus.text_bytes as f64 / 1e6)
    );
    for (what, commands) in
        [(repeats, [dedup, of_spans]), (contamination, [decontaminate, of_grams])]
    {
        let [found, expected] = commands.map(measure);
        assert_eq!(found.words, expected.words, "{what} of {}", corpus.name);
        for (who, it) in [("akin", found), ("suffix array (libsais)", expected)] {
            rows += &format!(
                "| {who} | {what} | {} | {} | {} | {} |\n",
                thousands(it.words),
                short(it.processor_s),
                short(it.wall_s),
                short(it.peak_bytes as f64 / 1e6)
            );
        }
    }
    rows
}

/// Runs a process whose output is JSON with the number of words that it found.
fn measure(mut command: Command) -> Measured {
    println!("{command:?}");
    let (before, started) = (children_s(), Instant::now());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut child = child.expect("the program starts");
    let (id, mut peak) = (child.id().to_string(), 0);
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child can be asked") {
            break status;
        }
        peak = peak.max(peak_bytes(&id));
        sleep(Duration::from_millis(5));
    };
    let wall_s = started.elapsed().as_secs_f64();
    let processor_s = children_s() - before;
    let output = child.wait_with_output().expect("the output can be read");
    assert!(status.success(), "{command:?} failed");
    let summary: serde_json::Value =
        serde_json::from_slice(&output.stdout).expect("the output is JSON");
    let words = ["words_cut", "words_covered"].iter().find_map(|name| summary[name].as_u64());
    Measured { words: words.expect("the words are counted"), processor_s, wall_s, peak_bytes: peak }
}
