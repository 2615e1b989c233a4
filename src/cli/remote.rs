//! The documents of a server's collection as a corpus.

use std::io::Read;

use clap::Args;
use serde::Deserialize;
use serde_json::Value;

use crate::cli::client::{Client, Credentials, InCollection, ServerProblem, read_json, with_query};
use crate::cli::failure::Failure;
use crate::engine::{CollectionName, CollectionSettings};
use akin_core::sketch::Method;
use akin_files::input::Item;
use akin_files::output::Inputs;
use akin_model::stats::CollectionReply;

/// The server that has the documents to compare, in place of files.
#[derive(Args)]
pub struct FromServer {
    /// Compare the documents of this server's collection, with the settings of the collection, in
    /// place of files
    #[arg(long, value_name = "URL", conflicts_with_all = [
        "paths", "unit", "size", "settings", "duplicate_ids", "InputOptions", "Screening",
    ])]
    url: Option<String>,
    #[command(flatten)]
    credentials: Credentials,
    /// The collection of the server [default: default]
    #[arg(long, value_name = "NAME", requires = "url")]
    collection: Option<CollectionName>,
}

/// A collection with texts that can be exported.
pub struct Exportable {
    pub settings: Value,
    pub documents: u64,
    client: Client,
    within: InCollection,
}

impl FromServer {
    /// The collection; `None` if no server is named.
    ///
    /// # Errors
    /// As [`Exportable::new`]; the collection has signatures.
    pub fn open(&self) -> Result<Option<(Exportable, CollectionSettings)>, Failure> {
        let Some(url) = &self.url else { return Ok(None) };
        let within = InCollection::named(self.collection.clone().unwrap_or_default());
        let exportable = Exportable::new(self.credentials.client(url, None)?, within)?;
        let settings = exportable.collection()?;
        if settings.sketch.method == Method::Foreign {
            return Err(Failure::with_hint(
                "signatures (sketch.method = foreign) are compared by a server only",
                "GET /pairs of a server with its own data directory lists their pairs",
            ));
        }
        Ok(Some((exportable, settings)))
    }

    /// The files that the calls read.
    pub fn inputs(&self) -> Inputs {
        self.credentials.files().collect()
    }
}

impl Exportable {
    /// # Errors
    /// The server does not answer, or has no such collection; the collection keeps no texts.
    pub fn new(client: Client, within: InCollection) -> Result<Self, Failure> {
        let CollectionReply { settings, size, .. } =
            read_json(&client, client.get(&within.own_path())?)?;
        let settings: Value = client.parse(settings.get().as_bytes())?;
        if settings["store"]["text"] == Value::Bool(false) {
            return Err(Failure::with_hint(
                "the collection keeps no texts (store.text = false): there is nothing to export",
                "`akin backup` saves collections without texts, and GET /pairs compares them, of a \
                 server with its own data directory",
            ));
        }
        Ok(Self { settings, documents: size.documents, client, within })
    }

    /// # Errors
    /// The settings are not those of this version of akin.
    pub fn collection(&self) -> Result<CollectionSettings, Failure> {
        CollectionSettings::deserialize(&self.settings)
            .map_err(|error| Failure::new(format!("the collection's settings: {error}")))
    }

    /// The lines of the export.
    ///
    /// # Errors
    /// The server does not answer, or answers a problem.
    pub fn export(
        &self,
        parameters: &[(&str, Option<String>)],
    ) -> Result<impl Read + Send, Failure> {
        let path = with_query(&self.within.path("/export"), parameters);
        Client::body(self.client.get(&path)?)
    }
}

/// A line of an export in place of a damaged document.
#[derive(Deserialize)]
struct Damaged {
    id: String,
    problem: ServerProblem,
}

/// Why a document is damaged, if its line tells that in place of the document.
pub fn damage(item: &Item) -> Option<String> {
    let line = item.line();
    memchr::memmem::find(&line, b"\"problem\"")?;
    let Damaged { id, problem } = serde_json::from_slice(&line).ok()?;
    Some(format!("document '{id}': {problem}"))
}
