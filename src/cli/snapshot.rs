//! `akin snapshot`: a running server's collections → one file.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use indicatif::HumanBytes;

use super::client::{Client, Server};
use super::failure::Failure;
use super::meter::{Meter, Unit};
use super::output::{self, Output};
use crate::engine::CollectionName;

/// Save a running server's collections as they are to one file, for `akin restore`
///
/// Each from one consistent view, settings included, while the server goes on.
#[derive(Args)]
pub struct Arguments {
    /// Where to: compressed if it ends in .gz or .zst; - for stdout
    #[arg(value_name = "OUT")]
    out: PathBuf,
    #[command(flatten)]
    server: Server,
    /// Only this collection [default: all of them]
    #[arg(long, value_name = "NAME")]
    collection: Option<CollectionName>,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let client = Client::new(&arguments.server.url)?;
    let path = match &arguments.collection {
        None => "/backup".to_owned(),
        Some(name) => format!("/collections/{name}/backup"),
    };
    let mut backup = Client::stream(client.get_patiently(&path)?)?;
    let mut out = Output::create(&arguments.out)?;
    let meter = Meter::new(arguments.quiet, "saving", Unit::Bytes, 0);
    let mut bytes = 0;
    output::copy(&mut backup, &mut out, "backup", |piece| {
        bytes += piece.len() as u64;
        meter.add(piece.len() as u64);
    })?;
    out.finish()?;
    drop(meter);
    eprintln!("{} saved", HumanBytes(bytes));
    Ok(ExitCode::SUCCESS)
}
