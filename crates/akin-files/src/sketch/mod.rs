//! `akin sketch`: files → sketches and keys, for an engine that joins them.

#[cfg_attr(not(feature = "parquet"), path = "no_columns.rs")]
mod columns;
mod write;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

pub use self::write::{SketchOptions, SketchSource, write};
use super::corpus::{AnalysisOptions, Configured, bytes_of, read};
use super::failure::Failure;
use super::feature::PARQUET;
use super::output::Destination;

/// Write the sketches of files and their keys as Parquet, for a join by another engine; needs no
/// server
///
/// A row for each document: its id, the fingerprint and the size of its set, its sketch, and a key
/// for each band. Near-duplicates share the key of a band. Memory does not grow with the files.
/// Sketches are comparable if they were made with the same settings.
#[derive(Args)]
pub struct Arguments {
    /// Files or directories of documents, as `akin import` takes them, or - for stdin
    #[arg(required_unless_present = "files_from", value_name = "IN")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    destination: Destination,
    #[command(flatten)]
    sketches: SketchOptions,
    /// Write a summary as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    analysis: AnalysisOptions,
}

/// # Errors
/// An option is invalid, or a file cannot be read or written.
pub fn run(arguments: Arguments, configured: Configured) -> Result<ExitCode, Failure> {
    let Arguments { paths, destination, sketches, json, analysis } = arguments;
    PARQUET.require()?;
    analysis.read.screening.refuse_keeping()?;
    let selection = analysis.read.selection(paths)?;
    destination.check(&analysis.inputs([&selection]))?;
    destination.check_summary(json)?;
    let settings = analysis.collection(configured, sketches.threshold)?;
    let source = SketchSource {
        bytes: bytes_of([&selection]),
        threads: analysis.read.threads(),
        quiet: analysis.read.quiet,
        json,
        must_be_whole: false,
        screening: analysis.read.screening,
    };
    write(read(&selection), &source, (&settings, &sketches), &destination)
}
