//! Collections in PostgreSQL: the same as local ones, also when several servers write at the same
//! time and the database fails.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod changes;
mod collections;
mod faults;
mod histories;
mod http;
#[path = "../not_run/mod.rs"]
mod not_run;
mod outages;
#[path = "../postgres_server/mod.rs"]
mod postgres_server;
mod races;
mod records;
mod roll;
mod same;
#[path = "../serving/mod.rs"]
mod serving;
mod start;
mod whole;

use std::sync::Arc;
use std::time::Duration;

use akin::backend::CollectionStore;
use akin::document::{Content, Document, DocumentId};
use akin::engine::{
    AddOptions, Added, CollectionSettings, Engine, EngineError, OnDuplicate, Opening,
};
use akin_postgres::{ConnectionSettings, PostgresStore};

use postgres_server::Database;

/// Families of near-duplicates and unrelated texts, by a number.
fn words(seed: u64) -> Vec<String> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % 50_000
    };
    (0..60).map(|_| format!("w{}", next())).collect()
}

/// A text of a family: members differ in a word.
fn of_family(family: u64, member: u64) -> String {
    let mut words = words(family);
    words[30] = format!("m{member}");
    words.join(" ")
}

fn connections() -> ConnectionSettings {
    ConnectionSettings {
        deadline: Duration::from_secs(10),
        scans_max: 2,
        changes_kept: 1_000_000,
        compression_level: 1,
    }
}

async fn store(url: &str) -> Arc<PostgresStore> {
    Arc::new(PostgresStore::open(url, &connections()).await.unwrap())
}

/// The collection `default` of another server on a database.
async fn open(url: &str, mut settings: CollectionSettings, opening: Opening) -> Engine {
    settings.sketch.seed.get_or_insert(0);
    let store = store(url).await;
    let open = move || {
        let stored = store.default_collection(&settings).unwrap();
        Engine::open(&*stored, &opening).unwrap()
    };
    tokio::task::spawn_blocking(open).await.unwrap()
}

async fn engine(database: &Database) -> Engine {
    open(&database.url(), CollectionSettings::default(), Opening::default()).await
}

fn id(id: &str) -> DocumentId {
    DocumentId::new(id).unwrap()
}

fn document(name: &str, text: &str) -> Document {
    let content = Content::Text(text.to_owned());
    Document { id: id(name), content, metadata: None, expires_at_ms: None }
}

async fn add(engine: &Engine, name: &str, text: &str) -> Added {
    engine.add(document(name, text), AddOptions::default()).await.unwrap()
}

async fn add_or_skip(engine: &Engine, name: &str, text: &str) -> Result<Added, EngineError> {
    let options = AddOptions { on_duplicate: OnDuplicate::Skip, ..AddOptions::default() };
    engine.add(document(name, text), options).await
}
