//! Starts one participant after the other and keeps what they say.

mod child;
mod plan;
mod profile;
mod words;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use crate::corpus::{Description, FlatSets, Source, prepare};
use crate::machine::Machine;
use crate::outcome::{Outcome, Results};
use crate::truth::Truth;
use crate::{participants, report, score};
use child::Ended;
pub use plan::CONTAINED;
use plan::Planned;

#[derive(Args, Clone)]
pub struct Arguments {
    /// JSON lines of {"id", "text"}, plain or .gz; without it documents are made up
    corpus: Option<PathBuf>,
    /// How many documents are made up
    #[arg(long, default_value_t = 1_000_000)]
    documents: usize,
    /// Measure these parts anew and keep the others: limits, text, dedup, index, join, growth,
    /// filing, http, server
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// The most documents that peers in Python take
    #[arg(long, default_value_t = 50_000)]
    python_max: usize,
    /// Seconds after which a participant is given up
    #[arg(long, default_value_t = 600)]
    limit_s: u64,
    /// Run akin's parts once more under `perf` and say where the time goes
    #[arg(long)]
    profile: bool,
    /// Where prepared corpora are kept
    #[arg(long, default_value = "target/bench")]
    work: PathBuf,
    /// Where reports go, a folder for each corpus
    #[arg(long, default_value = "bench/report")]
    report: PathBuf,
    #[arg(long, default_value = "target/release/akin")]
    akin: PathBuf,
    #[arg(long, default_value = "python3")]
    python: PathBuf,
    #[arg(long, default_value = "bench/peers")]
    peers: PathBuf,
}

pub fn run(arguments: &Arguments) {
    let source = arguments.corpus.clone().map_or(Source::MadeUp(arguments.documents), Source::File);
    let folder = arguments.work.join(source.name());
    println!("preparing {}", folder.display());
    let corpus = prepare(&source, &folder);
    println!("{} documents, {} pairs in truth", corpus.documents, corpus.pairs);
    let report = arguments.report.join(&corpus.name);
    let mut results = Results::read(&report).unwrap_or_default();
    results.machine = Machine::here(&arguments.python.to_string_lossy());
    results.corpus = corpus.clone();
    let run = Run { arguments, corpus, folder, machine: results.machine.clone() };
    for task in plan::TASKS.into_iter().filter(|task| run.is_wanted(task)) {
        let outcomes = run.task(task);
        results.replace(task, outcomes);
        results.write(&report);
    }
    if arguments.profile {
        run.profile(&report);
    }
    report::write_all(&arguments.report);
}

struct Run<'a> {
    arguments: &'a Arguments,
    corpus: Description,
    folder: PathBuf,
    machine: Machine,
}

impl Run<'_> {
    fn is_wanted(&self, task: &str) -> bool {
        let only = &self.arguments.only;
        only.is_empty() || only.iter().any(|wanted| wanted == task)
    }

    fn task(&self, task: &str) -> Vec<Outcome> {
        let planned = plan::of(task, &self.corpus, self.arguments.python_max);
        if task == "dedup" {
            let documents = self.corpus.documents.min(self.arguments.python_max);
            words::prepare(&self.arguments.python, &self.arguments.peers, &self.folder, documents);
        }
        planned.iter().map(|planned| self.measured(planned)).collect()
    }

    fn measured(&self, planned: &Planned) -> Outcome {
        let Planned { task, participant, setting, documents } = planned;
        println!("{task}: {participant}, {setting}, {documents} documents");
        let found = self.folder.join("found.bin");
        // What another participant found must not count for one that finds nothing.
        let _ = std::fs::remove_file(&found);
        let limit = self.limit(task);
        let mut outcome = match child::run(self.command(planned), limit) {
            Ended::Said(outcome) => outcome,
            Ended::Failed(why) => {
                println!("  failed: {why}");
                let mut outcome = Outcome::new(participant, "", setting, *documents);
                outcome.error = Some(format!("failed: {why}"));
                outcome
            }
        };
        outcome.task.clone_from(task);
        outcome.date.clone_from(&self.machine.date);
        outcome.commit.clone_from(&self.machine.commit);
        if outcome.error.is_none() && found.exists() {
            self.score(&mut outcome, &found);
        }
        outcome
    }

    /// Tools for batches bound their processor time themselves, which may take long on a machine
    /// with others.
    fn limit(&self, task: &str) -> Duration {
        Duration::from_secs(self.arguments.limit_s) * if task == "dedup" { 10 } else { 1 }
    }

    fn score(&self, outcome: &mut Outcome, found: &Path) {
        let mut truth = Truth::read(&self.folder, outcome.documents);
        match outcome.task.as_str() {
            "dedup" => {
                let by_words = words::truth(&self.folder, outcome.documents);
                let sets = FlatSets::read(&self.folder, outcome.documents);
                score::score_kept(outcome, (&truth, by_words.as_ref()), &sets, found);
            }
            "http" => {
                truth.pairs.retain(|pair| participants::is_scored(pair.a));
                score::score(outcome, &truth, found);
            }
            _ => score::score(outcome, &truth, found),
        }
    }

    fn command(&self, planned: &Planned) -> std::process::Command {
        child::command(self.arguments, planned, &self.folder)
    }

    fn profile(&self, report: &Path) {
        let limit = Duration::from_secs(self.arguments.limit_s);
        for task in plan::TASKS.into_iter().filter(|task| self.is_wanted(task)) {
            let planned = plan::of(task, &self.corpus, self.arguments.python_max);
            for planned in planned.iter().filter(|planned| planned.is_profiled(&self.corpus)) {
                println!("profile of {}: {}", planned.task, planned.setting);
                let profile = profile::of(&self.command(planned), &self.folder, limit);
                profile::write(report, planned, &profile);
            }
        }
    }
}

impl Arguments {
    fn files(&self) -> [(&'static str, &PathBuf); 3] {
        [("--akin", &self.akin), ("--python", &self.python), ("--peers", &self.peers)]
    }
}
