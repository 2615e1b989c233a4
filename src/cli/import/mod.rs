//! `akin import`: files → documents → a server.

mod inputs;
mod progress;
mod read;
mod report;
mod run;
mod send;
mod table;

pub use inputs::{Format, Selection};
pub use progress::Progress;
pub use read::{Cancelled, Event, Item, Origin, open_file, read_input, read_text_file};
pub use report::Report;
pub use run::{Import, import};
pub use table::Columns;

use std::io::{stderr, stdout};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::client::{Client, InCollection, Server};
use super::failure::Failure;
use crate::scheme::Threshold;

/// Send files or directories of documents to a server, and say what they duplicate
///
/// A text file is one document, its id the path as given. Files that end in .jsonl, .ndjson or .csv
/// have a document on each line. Any of them may be compressed by gzip or zstd.
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct Arguments {
    /// Files, directories with all that is in them, or - for stdin (NDJSON but for --format)
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    server: Server,
    #[command(flatten)]
    within: InCollection,
    /// Make the collection with the settings in this file, as `akin export --settings` writes it
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    /// Read everything as this, whatever its name
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,
    /// Of files in directories, only those with this extension; may be given several times
    #[arg(long, value_name = "EXTENSION")]
    include: Vec<String>,
    /// Of CSV: the column with the ids
    #[arg(long, value_name = "NAME", default_value = "id")]
    id_column: String,
    /// Of CSV: the column with the texts; columns besides these two become metadata
    #[arg(long, value_name = "NAME", default_value = "text")]
    text_column: String,
    /// What becomes of a document that has a near-duplicate already
    #[arg(long, value_name = "WHAT", default_value = "keep")]
    on_duplicate: OnDuplicate,
    /// Store without looking for near-duplicates
    #[arg(long, conflicts_with_all = ["on_duplicate", "threshold"])]
    no_check: bool,
    /// The resemblance from which documents count as near-duplicates [default: the server's]
    #[arg(long, value_name = "0..1", value_parser = threshold)]
    threshold: Option<Threshold>,
    /// Connections that send side by side
    #[arg(long, value_name = "N", default_value = "2")]
    jobs: NonZeroUsize,
    /// Seconds to go on trying while the server does not take anything
    #[arg(long, value_name = "SECONDS", default_value = "60")]
    patience: u64,
    /// Write the summary as JSON
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
    /// Name every file that is passed over and every document that fails
    #[arg(long, short)]
    verbose: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OnDuplicate {
    Keep,
    Skip,
}

/// A threshold given on the command line.
pub fn threshold(text: &str) -> Result<Threshold, String> {
    let value: f64 = text.parse().map_err(|_| format!("'{text}' is not a number"))?;
    Threshold::new(value).map_err(|error| error.to_string())
}

impl Arguments {
    /// `/documents` of the collection, with what differs from the server's own ways.
    fn path(&self) -> String {
        let parts = [
            self.no_check.then(|| "check=false".to_owned()),
            (self.on_duplicate == OnDuplicate::Skip).then(|| "on_duplicate=skip".to_owned()),
            self.threshold.map(|threshold| format!("threshold={}", threshold.get())),
        ];
        let query: Vec<String> = parts.into_iter().flatten().collect();
        let path = self.within.path("/documents");
        if query.is_empty() { path } else { format!("{path}?{}", query.join("&")) }
    }
}

pub fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    let client = Client::new(&arguments.server.url)?;
    let path = arguments.path();
    if let Some(settings) = &arguments.settings {
        make_collection(&client, &arguments.within, settings)?;
    }
    let selection = Selection {
        paths: arguments.paths,
        format: arguments.format,
        extensions: arguments.include,
    };
    let progress = Progress::new(arguments.quiet, arguments.verbose);
    let (report, ended) = import(&Import {
        client: &client,
        path: &path,
        selection: &selection,
        columns: Columns { id: arguments.id_column, text: arguments.text_column },
        jobs: arguments.jobs.get(),
        patience: Duration::from_secs(arguments.patience),
        progress: &progress,
        on_answer: &|_| {},
    });
    // Those who want to know everything were told at once.
    if !arguments.verbose {
        report.write_failures(&mut stderr().lock())?;
    }
    if ended.is_ok() && report.is_empty() {
        eprintln!("note: there was nothing to import");
    }
    // What was done before giving up is worth knowing; where nothing was, the reason is enough.
    if ended.is_ok() || report.documents.taken() > 0 {
        write(&report, arguments.json)?;
    }
    ended?;
    Ok(ExitCode::from(u8::from(report.documents.failed > 0)))
}

/// A collection that stands with these settings already stays as it is.
fn make_collection(client: &Client, within: &InCollection, settings: &Path) -> Result<(), Failure> {
    let settings = read_text_file(settings)?;
    let answer = client.put_json(&within.own_path(), settings.as_bytes())?;
    Client::body(answer).map(drop)
}

fn write(report: &Report, json: bool) -> Result<(), Failure> {
    let mut out = stdout().lock();
    if !json {
        return Ok(report.write_text(&mut out)?);
    }
    serde_json::to_writer(&mut out, report).map_err(std::io::Error::from)?;
    Ok(std::io::Write::write_all(&mut out, b"\n")?)
}
