//! `akin import`: files → documents → a server.

mod report;
mod run;
mod send;

pub use report::ImportReport;
pub use run::{Import, import};

use std::io::{stderr, stdout};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;

use super::client::{Client, InCollection, Server, read_whole, with_query};
use super::failure::Failure;
use crate::engine::OnDuplicate;
use akin_core::scheme::Threshold;
use akin_files::input::{InputOptions, Screening, read_text_file, threshold};
use akin_files::meter::{Meter, Quantity};
use akin_files::output::write_json;

/// Send documents from files or directories to a server, and count their near-duplicates
///
/// The command detects a file's format from its name or first bytes: lines of JSON, arrays of JSON,
/// CSV, TSV, Parquet, WARC, WET and HTML. A text file is one document with its path as id. All
/// files may be compressed by gzip or zstd.
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct Arguments {
    /// Files, directories, or - for stdin
    #[arg(required_unless_present = "files_from", value_name = "PATH")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    server: Server,
    #[command(flatten)]
    within: InCollection,
    /// Create the collection with the settings in this file, as `akin export --settings` writes it
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    #[command(flatten)]
    input: InputOptions,
    #[command(flatten)]
    screening: Screening,
    /// Whether to store a new document that has a near-duplicate; stored ids are replaced
    #[arg(long, value_name = "WHAT", default_value = "keep")]
    on_duplicate: OnDuplicate,
    /// Store documents without looking for near-duplicates
    #[arg(long, conflicts_with_all = ["on_duplicate", "threshold"])]
    no_check: bool,
    /// Jaccard similarity from which documents are near-duplicates [default: the server's]
    #[arg(long, value_name = "0..1", value_parser = threshold)]
    threshold: Option<Threshold>,
    /// Connections to send over in parallel
    #[arg(long, value_name = "N", default_value = "2")]
    jobs: NonZeroUsize,
    /// Seconds to retry while the server accepts nothing
    #[arg(long, value_name = "SECONDS", default_value = "60")]
    patience: u64,
    /// Write the summary as JSON
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
    /// Print every skipped file and every failed document
    #[arg(long, short)]
    verbose: bool,
}

impl Arguments {
    /// `/documents` of the collection, with the options that are given.
    fn path(&self) -> String {
        let skip = self.on_duplicate == OnDuplicate::Skip;
        let parameters = [
            ("check", self.no_check.then(|| "false".to_owned())),
            ("on_duplicate", skip.then(|| "skip".to_owned())),
            ("threshold", self.threshold.map(|threshold| threshold.get().to_string())),
        ];
        with_query(&self.within.path("/documents"), &parameters)
    }
}

pub fn run(mut arguments: Arguments) -> Result<ExitCode, Failure> {
    arguments.screening.refuse_keeping()?;
    let client = arguments.server.client()?;
    let path = arguments.path();
    let files = arguments.input.files(std::mem::take(&mut arguments.paths))?;
    if let Some(settings) = &arguments.settings {
        make_collection(&client, &arguments.within, settings)?;
    }
    let selection = arguments.input.selection(files);
    let meter = Meter::new(arguments.quiet, "importing", Quantity::Bytes, 0);
    let (report, ended) = import(&Import {
        client: &client,
        path: &path,
        selection: &selection,
        min_words: arguments.screening.min_words,
        jobs: arguments.jobs.get(),
        patience: Duration::from_secs(arguments.patience),
        meter: &meter,
        verbose: arguments.verbose,
        on_answer: &|_| {},
    });
    // With --verbose they were printed at once.
    if !arguments.verbose {
        report.write_failures(&mut stderr().lock())?;
    }
    if ended.is_ok() && report.is_empty() {
        eprintln!(
            "error: there was nothing to import\nhint: --verbose prints each skipped file with \
             the reason"
        );
    }
    if ended.is_ok() || report.documents.accepted() > 0 {
        write(&report, arguments.json)?;
    }
    ended?;
    let on_invalid = arguments.screening.on_invalid;
    Ok(ExitCode::from(u8::from(report.is_failure(on_invalid))))
}

/// Does nothing where the collection exists with these settings.
fn make_collection(client: &Client, within: &InCollection, settings: &Path) -> Result<(), Failure> {
    let settings = read_text_file(settings)?;
    let answer = client.put_json(&within.own_path(), settings.into_bytes())?;
    read_whole(answer).map(drop)
}

fn write(report: &ImportReport, json: bool) -> Result<(), Failure> {
    let mut out = stdout().lock();
    match json {
        true => write_json(&mut out, report),
        false => Ok(report.write_text(&mut out)?),
    }
}
