//! `akin backup`: writes the collections of a running server to a file.

use clap::Args;
use indicatif::HumanBytes;
use serde_json::json;

use super::Reporting;
use super::client::{Client, Server};
use super::failure::Failure;
use crate::engine::CollectionName;
use akin_files::meter::{Meter, Quantity};
use akin_files::output::{self, Destination};

/// Save a running server's collections with their settings to one file, for `akin restore`
///
/// Each collection is saved from one consistent view, while the server goes on serving.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    destination: Destination,
    #[command(flatten)]
    server: Server,
    /// Only this collection [default: all of them]
    #[arg(long, value_name = "NAME")]
    collection: Option<CollectionName>,
    #[command(flatten)]
    reporting: Reporting,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let client = arguments.server.client()?;
    arguments.destination.check(&arguments.server.inputs())?;
    arguments.destination.check_binary()?;
    arguments.destination.check_summary(arguments.reporting.json)?;
    let path = match &arguments.collection {
        None => "/backup".to_owned(),
        Some(name) => format!("/collections/{name}/backup"),
    };
    let mut backup = Client::body(client.get_patiently(&path)?)?;
    let mut out = arguments.destination.create()?;
    let meter = Meter::new(arguments.reporting.quiet, "saving", Quantity::Bytes, 0);
    let mut bytes = 0;
    output::copy(&mut backup, &mut out, "backup", |piece| {
        bytes += piece.len() as u64;
        meter.add(piece.len() as u64);
    })?;
    out.finish()?;
    drop(meter);
    let text = format!("{} saved", HumanBytes(bytes));
    arguments.reporting.summarise(&json!({ "bytes": bytes }), &text)
}
