//! `akin get` and `akin delete`: documents of a server by their ids.

use std::io::{Write, stdout};
use std::process::ExitCode;

use clap::Args;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::client::{Client, InCollection, Server, read_json};
use super::failure::Failure;
use crate::engine::Removed;
use akin_files::output::print_json;

/// Documents of a call: a server may hold all of them and their JSON in memory.
const GOT_AT_ONCE: usize = 20;
const DELETED_AT_ONCE: usize = 1_000;

/// Show stored documents by their ids, a line of JSON each
///
/// The lines are in the order of the ids. The exit code is 1 if an id is not stored.
#[derive(Args)]
pub struct Get {
    #[command(flatten)]
    of: NamedDocuments,
    /// Also show: sketch, shingles
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    include: Vec<String>,
}

/// Remove documents by their ids
///
/// Ids that are not stored are ignored. If the command fails, some may be removed; the same
/// command removes the rest.
#[derive(Args)]
pub struct Delete {
    #[command(flatten)]
    of: NamedDocuments,
    /// Write a summary as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct NamedDocuments {
    /// The ids
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    #[command(flatten)]
    server: Server,
    #[command(flatten)]
    within: InCollection,
}

#[derive(Deserialize)]
struct Fetched {
    documents: Vec<Box<RawValue>>,
    unknown: Vec<String>,
}

pub fn get(arguments: &Get) -> Result<ExitCode, Failure> {
    let Get { of, include } = arguments;
    let client = of.server.client()?;
    let path = of.within.path("/fetch");
    let mut out = stdout().lock();
    let mut all_known = true;
    for ids in of.ids.chunks(GOT_AT_ONCE) {
        let body = json!({ "ids": ids, "include": (!include.is_empty()).then_some(include) });
        let fetched: Fetched = post(&client, &path, &body)?;
        for document in fetched.documents {
            writeln!(out, "{document}")?;
        }
        for id in &fetched.unknown {
            all_known = false;
            eprintln!("not stored: {id}");
        }
    }
    Ok(ExitCode::from(u8::from(!all_known)))
}

pub fn delete(arguments: &Delete) -> Result<(), Failure> {
    let Delete { of, json } = arguments;
    let client = of.server.client()?;
    let path = of.within.path("/remove");
    let mut removed = 0;
    for ids in of.ids.chunks(DELETED_AT_ONCE) {
        removed += post::<Removed>(&client, &path, &json!({ "ids": ids }))?.removed;
    }
    if *json {
        return print_json(&json!({ "removed": removed }));
    }
    eprintln!("documents removed: {removed}");
    Ok(())
}

fn post<T: for<'de> Deserialize<'de>>(
    client: &Client,
    path: &str,
    body: &serde_json::Value,
) -> Result<T, Failure> {
    read_json(client, client.post(path, "application/json", body.to_string().into_bytes())?)
}
