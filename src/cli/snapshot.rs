//! `akin snapshot`: a running server's collections → one file.

use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use indicatif::HumanBytes;

use super::client::{Client, Server};
use super::failure::Failure;
use super::meter::{Meter, Unit};
use super::output::Output;
use crate::engine::CollectionName;

const PIECE_BYTES: usize = 256 << 10;

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
    let bytes = copy(&mut backup, &mut out, &meter)?;
    out.finish()?;
    drop(meter);
    eprintln!("{} saved", HumanBytes(bytes));
    Ok(ExitCode::SUCCESS)
}

fn copy(from: &mut impl Read, to: &mut impl Write, meter: &Meter) -> Result<u64, Failure> {
    let mut piece = vec![0; PIECE_BYTES];
    let mut bytes = 0;
    loop {
        let read = match from.read(&mut piece) {
            Ok(0) => return Ok(bytes),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => {
                let what = format!("the backup broke off: {error}");
                return Err(Failure::with_hint(what, "the server's log may say why"));
            }
        };
        to.write_all(&piece[..read])?;
        bytes += read as u64;
        meter.add(read as u64);
    }
}
