//! akin beside its peers: the same corpus, the same sets, the same threshold, in one run.
//!
//! `bench/run.sh` is the way in. Each participant is a process of its own, so that its peak of
//! memory is its own, and prints one [`outcome::Outcome`] as JSON; one that fails has its failure
//! in the table, and the others go on. Peers in Python are in `bench/peers`.
//!
//! In reading order: [`corpus`] makes what everybody is given, [`truth`] joins it exactly without
//! any of akin's code, [`participants`] are measured, [`run`] starts them and [`score`] holds what
//! they found against the truth, [`report`] writes tables and plots. [`passages`], [`scale`] and
//! [`spans`] are measurements of their own.

#[path = "../../benches/client/mod.rs"]
mod client;
mod corpus;
mod found;
mod machine;
mod made;
mod measured;
mod outcome;
mod participants;
mod passages;
mod report;
mod run;
mod scale;
mod score;
mod spans;
mod truth;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use participants::Job;

/// From here on documents count as near-duplicates, for all participants.
const THRESHOLD: f64 = 0.8;

/// akin's own, for everybody who is written in Rust.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

#[derive(Parser)]
#[command(about, version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure everything and write the report
    Run(run::Arguments),
    /// Write made-up documents as JSON lines: families at spread resemblances
    Generate {
        #[arg(long, default_value_t = 1_000_000)]
        documents: usize,
        file: PathBuf,
    },
    /// Write the reports anew from the results that there are
    Report {
        /// The folder with a folder for each corpus
        folder: PathBuf,
    },
    /// Measure akin's search for repeated spans beside a suffix array, and write the table
    Spans(spans::Arguments),
    /// Measure the search for passages, and write its tables and plot
    Passages(passages::Arguments),
    /// Measure `akin dedup` and the server at growing numbers of made-up documents, and write tables
    Scale(scale::Arguments),
    /// Be the suffix array
    #[command(hide = true)]
    SuffixArray(spans::Job),
    /// Be one participant, or a bare server
    #[command(hide = true)]
    Take(Job),
}

fn main() {
    match Arguments::parse().command {
        Command::Run(arguments) => run::run(&arguments),
        Command::Generate { documents, file } => corpus::generate(documents, &file),
        Command::Report { folder } => report::write_all(&folder),
        Command::Spans(arguments) => spans::run(&arguments),
        Command::Passages(arguments) => passages::run(&arguments),
        Command::Scale(arguments) => scale::run(&arguments),
        Command::SuffixArray(job) => spans::take(&job),
        Command::Take(job) => participants::take(&job),
    }
}
