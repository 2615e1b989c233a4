//! `akin export`: a server's collection → a file.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde::Deserialize;
use serde_json::{Value, json};

use super::client::{Client, InCollection, Server, read_json, with_query};
use super::failure::Failure;
use super::input::name_of;
use super::meter::{Meter, Unit};
use super::output::{self, Destination, Output, refuse_overwriting};
use crate::engine::Order;

/// Write every document of a collection, in the form that `akin import` reads
///
/// A document on each line, as the API takes it, from one consistent view.
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
    /// The order of the documents
    #[arg(long, value_name = "ORDER", default_value = "id")]
    order: Order,
    /// Write a summary as JSON
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
}

/// The part of a collection's description that an export needs.
#[derive(Deserialize)]
struct Described {
    settings: Value,
    documents: u64,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let client = arguments.server.client()?;
    let destination = &arguments.destination;
    destination.check(&[])?;
    destination.check_summary(arguments.json)?;
    if let Some(path) = &arguments.settings {
        refuse_overwriting(path, destination.force)?;
    }
    let own_path = arguments.within.own_path();
    let collection: Described = read_json(&client, client.get(&own_path)?)?;
    if collection.settings["store"]["text"] == Value::Bool(false) {
        return Err(Failure::with_hint(
            "the collection keeps no texts (store.text = false): there is nothing to import again",
            "`akin backup` saves such a collection",
        ));
    }
    if let Some(path) = &arguments.settings {
        write_settings(path, destination.force, &collection.settings)?;
    }
    let order = [("order", Some(name_of(&arguments.order)))];
    let path = with_query(&arguments.within.path("/export"), &order);
    let mut export = Client::body(client.get(&path)?)?;
    let mut out = destination.create()?;
    let meter =
        Meter::new(arguments.quiet, "exporting", Unit::Things("documents"), collection.documents);
    let mut documents = 0;
    output::copy(&mut export, &mut out, "export", |piece| {
        let ended = piece.split(|byte| *byte == b'\n').count() as u64 - 1;
        documents += ended;
        meter.add(ended);
    })?;
    out.finish()?;
    drop(meter);
    match arguments.json {
        true => output::print_json(&json!({ "documents": documents }))?,
        false => eprintln!("documents exported: {documents}"),
    }
    Ok(ExitCode::SUCCESS)
}

fn write_settings(path: &Path, force: bool, settings: &Value) -> Result<(), Failure> {
    let mut out = Output::create(path, force)?;
    writeln!(out, "{settings:#}")?;
    out.finish()
}
