//! `akin export`: a server's collection → a file.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::Reporting;
use super::client::{InCollection, Server};
use super::failure::Failure;
use super::remote::Exportable;
use crate::engine::{CollectionSettings, Order};
use akin_files::corpus::cores;
use akin_files::feature::PARQUET;
use akin_files::input::{Screening, name_of, read_documents};
use akin_files::meter::{Meter, Quantity};
use akin_files::output::{self, Destination, Output};
use akin_files::sketch::{self, SketchOptions, SketchSource};

/// Write every document of a collection, in the form that `akin import` reads, or its sketches
///
/// A document on each line, as the API takes it, from one consistent view. With `--format parquet`
/// a row for each document with its sketch and keys, as `akin sketch` writes them, for a join by
/// another engine.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    destination: Destination,
    #[command(flatten)]
    server: Server,
    #[command(flatten)]
    within: InCollection,
    /// Also write the collection's settings to this file, for `akin import --settings`
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    /// The format of the output [default: parquet if the output is called .parquet, else jsonl]
    #[arg(long, value_name = "FORMAT")]
    format: Option<ExportFormat>,
    #[command(flatten)]
    sketches: SketchOptions,
    /// The order of the documents
    #[arg(long, value_name = "ORDER", default_value = "id")]
    order: Order,
    #[command(flatten)]
    reporting: Reporting,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    /// The documents, a line of JSON each
    Jsonl,
    /// Their sketches and keys
    Parquet,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let destination = &arguments.destination;
    destination.check_beside(arguments.settings.as_deref(), &arguments.server.inputs())?;
    destination.check_summary(arguments.reporting.json)?;
    let by_name =
        if destination.is_parquet() { ExportFormat::Parquet } else { ExportFormat::Jsonl };
    let format = arguments.format.unwrap_or(by_name);
    if format == ExportFormat::Jsonl && arguments.sketches.is_given() {
        return Err(Failure::new("--threshold and --sets are for --format parquet"));
    }
    if format == ExportFormat::Parquet {
        PARQUET.require()?;
    }
    let collection = Exportable::new(arguments.server.client()?, arguments.within.clone())?;
    if let Some(path) = &arguments.settings {
        write_settings(path, destination.force, &collection.settings)?;
    }
    let order = [("order", Some(name_of(&arguments.order)))];
    let body = collection.export(&order)?;
    match format {
        ExportFormat::Jsonl => write_documents(arguments, body, collection.documents),
        ExportFormat::Parquet => write_sketches(arguments, body, collection.collection()?),
    }
}

fn write_documents(
    arguments: &Arguments,
    mut export: impl Read,
    total: u64,
) -> Result<ExitCode, Failure> {
    let mut out = arguments.destination.create()?;
    let meter =
        Meter::new(arguments.reporting.quiet, "exporting", Quantity::Things("documents"), total);
    let mut documents = 0;
    output::copy(&mut export, &mut out, "export", |piece| {
        let ended = piece.split(|byte| *byte == b'\n').count() as u64 - 1;
        documents += ended;
        meter.add(ended);
    })?;
    out.finish()?;
    drop(meter);
    let text = format!("documents exported: {documents}");
    arguments.reporting.summarise(&json!({ "documents": documents }), &text)?;
    Ok(ExitCode::SUCCESS)
}

fn write_sketches(
    arguments: &Arguments,
    export: impl Read + Send,
    mut settings: CollectionSettings,
) -> Result<ExitCode, Failure> {
    let threshold = arguments.sketches.threshold.unwrap_or(settings.scheme.threshold);
    settings.scheme.take_threshold(threshold);
    let source = SketchSource {
        bytes: 0,
        threads: cores(),
        quiet: arguments.reporting.quiet,
        json: arguments.reporting.json,
        must_be_whole: true,
        screening: Screening::default(),
    };
    sketch::write(
        |bytes_read, emit| read_documents("the export", export, bytes_read, emit),
        &source,
        (&settings, &arguments.sketches),
        &arguments.destination,
    )
}

fn write_settings(path: &Path, force: bool, settings: &Value) -> Result<(), Failure> {
    let mut out = Output::create(path, force)?;
    writeln!(out, "{settings:#}")?;
    out.finish()
}
