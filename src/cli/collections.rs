//! `akin collections`: the collections of a server.

use std::io::{Write, stdout};
use std::path::PathBuf;

use clap::{Args, Subcommand};
use indicatif::HumanBytes;
use serde_json::{Value, json};

use super::client::{Client, Server, read_whole};
use super::failure::Failure;
use super::stats::documents;
use crate::engine::CollectionName;
use akin_files::input::read_text_file;
use akin_files::output::{print_answer, print_json};
use akin_model::stats::{CollectionNameReply, CollectionReply, CollectionsReply};

/// List, show, create and drop the collections of a server
#[derive(Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: CollectionCommand,
}

#[derive(Subcommand)]
enum CollectionCommand {
    /// Write the names of all collections, a name on each line
    List(ListedCollections),
    /// Show a collection's size and settings
    Show(One),
    /// Create a collection; does nothing where it exists with these settings
    Create(CreateCollection),
    /// Remove a collection with all its documents
    Drop(One),
}

#[derive(Args)]
struct ListedCollections {
    #[command(flatten)]
    server: Server,
    /// Write the server's answer
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct One {
    /// The collection
    name: CollectionName,
    #[command(flatten)]
    of: ListedCollections,
}

#[derive(Args)]
struct CreateCollection {
    #[command(flatten)]
    one: One,
    /// The settings, a JSON file as `akin export --settings` writes it [default: the defaults]
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
}

pub fn run(arguments: Arguments) -> Result<(), Failure> {
    match arguments.command {
        CollectionCommand::List(listed) => list(&listed)?,
        CollectionCommand::Show(one) => show(&one)?,
        CollectionCommand::Create(create) => make(&create)?,
        CollectionCommand::Drop(one) => remove(&one)?,
    }
    Ok(())
}

impl One {
    fn path(&self) -> String {
        format!("/collections/{}", self.name)
    }

    fn client(&self) -> Result<Client, Failure> {
        self.of.server.client()
    }
}

fn list(listed: &ListedCollections) -> Result<(), Failure> {
    let client = listed.server.client()?;
    let answer = read_whole(client.get("/collections")?)?;
    if listed.json {
        return print_answer(&answer);
    }
    let CollectionsReply { collections, unavailable } = client.parse(&answer)?;
    let mut out = stdout().lock();
    for CollectionNameReply { name } in collections {
        writeln!(out, "{name}")?;
    }
    for CollectionNameReply { name } in unavailable {
        eprintln!("unavailable: {name}; the server's log says why");
    }
    Ok(())
}

fn show(one: &One) -> Result<(), Failure> {
    let client = one.client()?;
    let answer = read_whole(client.get(&one.path())?)?;
    if one.of.json {
        return print_answer(&answer);
    }
    let CollectionReply { settings, size, .. } = client.parse(&answer)?;
    let documents = documents(size.documents, size.distinct_sets);
    let settings: Value = client.parse(settings.get().as_bytes())?;
    let settings = toml::to_string(&settings).map_err(std::io::Error::other)?;
    let mut out = stdout().lock();
    writeln!(out, "documents  {documents}")?;
    if let Some(bytes) = size.index_bytes {
        writeln!(out, "memory     {} of index and ids", HumanBytes(bytes))?;
    }
    if let Some(bytes) = size.database_bytes {
        writeln!(out, "disk       {} of database", HumanBytes(bytes))?;
    }
    Ok(write!(out, "\n{settings}")?)
}

fn make(create: &CreateCollection) -> Result<(), Failure> {
    let client = create.one.client()?;
    let settings = match &create.settings {
        Some(path) => read_text_file(path)?,
        None => "{}".to_owned(),
    };
    let response = client.put_json(&create.one.path(), settings.into_bytes())?;
    let is_new = response.status() == hyper::StatusCode::CREATED;
    let answer = read_whole(response)?;
    let name = &create.one.name;
    match (create.one.of.json, is_new) {
        (true, _) => print_answer(&answer)?,
        (false, true) => eprintln!("created '{name}'"),
        (false, false) => eprintln!("'{name}' exists already, with these settings"),
    }
    Ok(())
}

fn remove(one: &One) -> Result<(), Failure> {
    let name = &one.name;
    read_whole(one.client()?.delete(&one.path())?)?;
    match one.of.json {
        true => print_json(&json!({ "dropped": name.as_str() }))?,
        false => eprintln!("dropped '{name}'"),
    }
    Ok(())
}
