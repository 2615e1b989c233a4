//! `akin pairs`: every pair of near-duplicates in files, or of a server.

use std::process::ExitCode;

use clap::Args;

use super::failure::Failure;
use super::remote::{FromServer, damage};
use super::serve;
use akin_files::pairs::{PairOptions, of_export, of_files};

/// Write every pair of near-duplicates in files, or of a server: id, id, Jaccard similarity
///
/// A pair on each line, its columns separated by tabs, the lower id first; each pair once. Numbers
/// in ids are compared as numbers. With the settings of records the third column is the points. If
/// pairs may be missing, the last lines say so: they begin with #, or of JSON are an object with
/// the only member "summary".
///
/// With --url the documents of a collection are exported and compared here, so that the server
/// does no more than for `akin export`.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    server: FromServer,
    #[command(flatten)]
    options: PairOptions,
}

pub fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    let Arguments { server, options } = arguments;
    let Some((exportable, settings)) = server.open()? else {
        return of_files(options, serve::collection);
    };
    of_export(options, settings, &server.inputs(), |gathering| {
        let report = [("on_damaged", Some("report".to_owned()))];
        gathering.gather_export(exportable.export(&report)?, damage)
    })
}
