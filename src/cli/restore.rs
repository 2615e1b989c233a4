//! `akin restore`: a backup → a data directory that no server has open.

use std::io::{Read, Write, stdout};
use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use super::Reporting;
use super::failure::{Failure, of_engine};
use super::serve::{ConfigFile, flags};
use crate::config;
use crate::engine::{CollectionName, Restored, Restoring, restore};
use akin_files::input;
use akin_files::meter::{Meter, Quantity};
use akin_files::output::write_json;

/// Restore collections from a file that `akin backup` wrote, while no server is running
///
/// The whole file is checked before a collection is put in place. Existing collections are never
/// overwritten.
#[derive(Args)]
pub struct Arguments {
    /// The backup (also gzip or zstd), or - for stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Where documents are kept [default: ./akin-data]
    #[arg(long, value_name = "DIRECTORY")]
    data_dir: Option<String>,
    #[command(flatten)]
    config: ConfigFile,
    /// Only this collection [default: all of them]
    #[arg(long, value_name = "NAME")]
    collection: Option<CollectionName>,
    /// Restore one collection under another name
    #[arg(long = "as", value_name = "NAME")]
    rename: Option<CollectionName>,
    #[command(flatten)]
    reporting: Reporting,
}

pub fn run(arguments: Arguments) -> Result<(), Failure> {
    let settings = arguments.config.settings(flags(None, arguments.data_dir))?;
    let unreadable = |error| Failure::unreadable(&arguments.file, error);
    let backup = input::open_file(&arguments.file).map_err(unreadable)?;
    let meter = Meter::new(arguments.reporting.quiet, "restoring", Quantity::Bytes, 0);
    let restoring = Restoring {
        root: &config::collections_dir(&settings.storage.data_dir),
        only: arguments.collection,
        rename: arguments.rename,
        default: &settings.collection,
    };
    let restored =
        restore(Metered { inner: backup, meter: &meter }, &restoring).map_err(of_engine)?;
    drop(meter);
    let mut out = stdout().lock();
    if arguments.reporting.json {
        let collection =
            |of: &Restored| json!({ "name": of.name.as_str(), "documents": of.documents });
        let restored: Vec<Value> = restored.iter().map(collection).collect();
        return write_json(&mut out, &json!({ "collections": restored }));
    }
    for collection in restored {
        writeln!(out, "{}  {} documents", collection.name, collection.documents)?;
    }
    Ok(())
}

/// Counts the bytes that are read through it.
struct Metered<'a, R> {
    inner: R,
    meter: &'a Meter,
}

impl<R: Read> Read for Metered<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.meter.add(read as u64);
        Ok(read)
    }
}
