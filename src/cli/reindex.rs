//! `akin reindex`: rebuilds a collection with other settings.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::Reporting;
use super::client::{Client, Server, read_json};
use super::failure::{Failure, of_engine};
use super::serve::{ConfigFile, flags};
use crate::config::{Settings, collections_dir};
use crate::engine::{CollectionName, rebuild_default};
use akin_files::meter::{Meter, Quantity};
use akin_model::reindex::{ReindexFailure, ReindexReply, ReindexState};

/// The pause between two requests for the progress.
const ASK_EVERY: Duration = Duration::from_millis(200);

/// Rebuild a collection from its own texts, with other settings
///
/// With a NAME, a running server rebuilds the collection while it serves it and takes writes.
/// Without a NAME, the collection `default` of a data directory gets the settings of the
/// configuration, while no server is running.
#[derive(Args)]
pub struct Arguments {
    /// The collection of a running server [default: `default`, of a data directory]
    #[arg(value_name = "NAME", requires = "settings")]
    name: Option<CollectionName>,
    /// The new settings: a JSON file, as `akin export --settings` writes it
    #[arg(long, value_name = "FILE", requires = "name")]
    settings: Option<PathBuf>,
    #[command(flatten)]
    server: Server,
    /// Where documents are kept [default: ./akin-data]
    #[arg(long, value_name = "DIRECTORY", conflicts_with = "name")]
    data_dir: Option<String>,
    #[command(flatten)]
    config: ConfigFile,
    #[command(flatten)]
    reporting: Reporting,
}

pub fn run(arguments: Arguments) -> Result<(), Failure> {
    let Arguments { name, settings, server, data_dir, config, reporting } = arguments;
    let documents = match (&name, &settings) {
        (Some(name), Some(settings)) => {
            by_server(&server.client()?, name, settings, reporting.quiet)?
        }
        _ => offline(config.settings(flags(None, data_dir))?, reporting.quiet)?,
    };
    let text = format!("documents reindexed: {documents}");
    reporting.summarise(&json!({ "documents": documents }), &text)
}

fn by_server(
    client: &Client,
    name: &CollectionName,
    settings: &Path,
    quiet: bool,
) -> Result<u64, Failure> {
    let unreadable = |error| Failure::unreadable(settings, error);
    let settings = std::fs::read(settings).map_err(unreadable)?;
    let path = format!("/collections/{name}/reindex");
    let mut reindex =
        read_json::<ReindexReply>(client, client.post(&path, "application/json", settings)?)?;
    let quantity = Quantity::Things("documents");
    let meter = Meter::new(quiet, "reindexing", quantity, reindex.documents_total);
    while reindex.state == ReindexState::Running {
        meter.set(reindex.documents_done);
        thread::sleep(ASK_EVERY);
        reindex = read_json(client, client.get(&path)?)?;
    }
    match reindex.failure {
        None => Ok(reindex.documents_done),
        Some(ReindexFailure { detail, .. }) => {
            let hint = format!("the collection '{name}' is as it was");
            Err(Failure::with_hint(format!("the reindex failed: {detail}"), hint))
        }
    }
}

fn offline(settings: Settings, quiet: bool) -> Result<u64, Failure> {
    let meter = Meter::new(quiet, "reindexing", Quantity::Things("documents"), 0);
    let root = collections_dir(&settings.storage.data_dir);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_time().build()?;
    let storage = settings.storage.store;
    let rebuilt = rebuild_default(&root, settings.collection, &storage, |more| meter.add(more));
    runtime.block_on(rebuilt).map_err(of_engine)
}
