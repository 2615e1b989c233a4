//! How `akin dedup` and the server grow with a crawl: time, memory and disk, with what follows for
//! more documents than fit here. Each run adds its figures to those that there are, and writes the
//! tables: `bench/run.sh scale --words 500 --documents 100000,1000000`.

mod crawl;
mod page;
mod server;

use std::path::PathBuf;
use std::process::Command;

use clap::Args;
use tempfile::TempDir;

use self::crawl::Crawl;
use crate::machine::Machine;
use crate::measured::ProcessGroup;
use crate::outcome::Outcome;

#[derive(Args)]
pub struct Arguments {
    /// Numbers of documents to deduplicate
    #[arg(long, value_delimiter = ',')]
    documents: Vec<usize>,
    /// Words of a document on average
    #[arg(long, default_value_t = 500)]
    words: usize,
    /// Compress the documents to deduplicate by zstd, where the disk has no room for their lines
    #[arg(long)]
    compressed: bool,
    /// Import this many documents into a server, kill it, and start it again
    #[arg(long)]
    server: Option<usize>,
    /// The most memory that `akin dedup` uses
    #[arg(long, default_value_t = 4096)]
    memory_max_mib: usize,
    /// Where documents and temporary files are, until they are measured
    #[arg(long, default_value = "target/bench")]
    work: PathBuf,
    /// The folder of the figures and the plot
    #[arg(long, default_value = "bench/report/scale")]
    report: PathBuf,
    /// The page with the tables
    #[arg(long, default_value = "docs/scaling.md")]
    page: PathBuf,
    #[arg(long, default_value = "target/release/akin")]
    akin: PathBuf,
    /// As `run` takes it; nothing here is in Python
    #[arg(long, hide = true)]
    python: Option<PathBuf>,
}

/// More processor time than any run here takes.
const PROCESSOR_S_MAX: f64 = 1e5;

pub fn run(arguments: &Arguments) {
    let machine = Machine::here("python3");
    let mut outcomes = page::read(&arguments.report);
    let mut add = |mut outcome: Outcome| {
        outcome.date.clone_from(&machine.date);
        outcome.commit.clone_from(&machine.commit);
        outcome.print();
        outcomes.retain(|known| !known.is_about_the_same(&outcome));
        outcomes.push(outcome);
        page::write(&arguments.report, &arguments.page, &machine, &mut outcomes);
    };
    for documents in &arguments.documents {
        add(dedup(arguments, *documents));
    }
    if let Some(documents) = arguments.server {
        add(server::measure(arguments, documents));
    }
}

/// A corpus of JSON lines, in a folder that is removed with all that is in it.
struct Corpus {
    folder: TempDir,
    file: PathBuf,
    /// Of the lines, before compression.
    bytes: u64,
}

impl Corpus {
    fn make(arguments: &Arguments, documents: usize, name: &str) -> Self {
        std::fs::create_dir_all(&arguments.work).expect("the folder can be made");
        let folder = TempDir::new_in(&arguments.work).expect("a directory");
        let file = folder.path().join(name);
        let bytes = Crawl::new(arguments.words).write(documents, &file);
        Self { folder, file, bytes }
    }
}

fn outcome(task: &str, arguments: &Arguments, documents: usize, corpus: &Corpus) -> Outcome {
    let setting = format!("{} words", arguments.words);
    let mut outcome = Outcome::new("akin", env!("CARGO_PKG_VERSION"), &setting, documents);
    task.clone_into(&mut outcome.task);
    outcome.set("words", arguments.words as f64);
    outcome.set("file_bytes", corpus.bytes as f64);
    outcome
}

/// The kept documents go nowhere.
fn dedup(arguments: &Arguments, documents: usize) -> Outcome {
    let name = if arguments.compressed { "crawl.jsonl.zst" } else { "crawl.jsonl" };
    let corpus = Corpus::make(arguments, documents, name);
    let mut outcome = outcome("dedup", arguments, documents, &corpus);
    outcome.set("compressed", f64::from(u8::from(arguments.compressed)));
    let mut command = Command::new(&arguments.akin);
    command.arg("dedup").arg(&corpus.file).arg("--quiet").env("TMPDIR", corpus.folder.path());
    command.args(["--memory-max-mib", &arguments.memory_max_mib.to_string()]);
    let used = ProcessGroup::run(&mut command, PROCESSOR_S_MAX).expect("akin has room");
    outcome.set("processor_s", used.processor_s);
    outcome.set("seconds", used.seconds);
    outcome.set("peak_bytes", used.peak_bytes as f64);
    outcome.set("temporary_bytes", used.temporary_bytes as f64);
    outcome
}
