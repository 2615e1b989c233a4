//! The engine as its users see it: what is added is found, once, and found again after a restart.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod arrival;
mod backends;
mod collapse;
mod conditions;
mod contained;
mod containment;
mod corpus;
mod crowd;
mod discovery;
mod equal_runs;
mod exact;
mod expiry;
mod forgery;
mod format;
mod measured;
mod nearest;
#[path = "../not_run/mod.rs"]
mod not_run;
#[path = "../../crates/akin-core/benches/corpus/numbers.rs"]
mod numbers;
mod pages;
mod passages;
#[allow(dead_code, reason = "tests/model uses the rest")]
#[path = "../model/plain_resemblance.rs"]
mod plain_resemblance;
#[path = "../postgres_server/mod.rs"]
mod postgres_server;
mod recall;
mod records;
mod records_crowd;
mod restart;
mod shingles;
#[path = "../store_under_test/mod.rs"]
mod store_under_test;

use std::path::Path;

use akin::backend::SetCache;
use akin::document::{Content, Document, DocumentId};
use akin::engine::{
    AddOptions, Added, Clock, CollectionSettings, Engine, EngineError, Lookup, Mode, Opening, Probe,
};
use akin::storage::StorageSettings;
use store_under_test::server_url;

const CACHE_BYTES: u64 = 16 << 20;

fn open(dir: &Path) -> Engine {
    try_open(dir, CollectionSettings::default()).unwrap()
}

/// With a seed that is always the same, so that tests of recall and estimates repeat themselves.
fn try_open(dir: &Path, mut settings: CollectionSettings) -> Result<Engine, EngineError> {
    settings.sketch.seed.get_or_insert(0);
    open_with(dir, settings, &StorageSettings::default(), CACHE_BYTES, Clock::system())
}

/// A document that has arrived. It is added once the future is polled.
fn arrive(
    engine: &Engine,
    document: Document,
    options: AddOptions,
) -> impl Future<Output = Added> + Send + use<> {
    let adding = engine.add_all(vec![(engine.prepare(document).unwrap(), options)]);
    async move { adding.await.remove(0).unwrap() }
}

fn open_with(
    dir: &Path,
    settings: CollectionSettings,
    storage: &StorageSettings,
    cache_bytes: u64,
    clock: Clock,
) -> Result<Engine, EngineError> {
    let opening = Opening { sets: SetCache::new(cache_bytes), clock, ..Opening::default() };
    Engine::open(&*backends::stored(dir, settings, storage), &opening)
}

fn id(id: &str) -> DocumentId {
    DocumentId::new(id).unwrap()
}

fn text(name: &str, text: &str) -> Document {
    let content = Content::Text(text.to_owned());
    Document { id: id(name), content, metadata: None, expires_at_ms: None }
}

async fn add(engine: &Engine, document: Document) -> Added {
    engine.add(document, AddOptions::default()).await.unwrap()
}

fn lookup(threshold: f64, mode: Mode) -> Lookup {
    let threshold = Some(threshold.try_into().unwrap());
    Lookup { threshold, points: None, limit: 10_000, mode: Some(mode), ..Lookup::default() }
}

/// Writes the index to a file, if it is in this process.
async fn snapshot(engine: &Engine) {
    if server_url().is_none() {
        engine.snapshot().await.unwrap();
    }
}

/// A figure of the index, if it is in this process.
fn of_index(figure: u64) -> Option<u64> {
    server_url().is_none().then_some(figure)
}

/// Ids and resemblances of a stored document's near-duplicates.
async fn similar(engine: &Engine, name: &str, threshold: f64) -> Vec<(String, f64)> {
    let probe = Probe::Stored(id(name));
    let answer = engine.similar(probe, lookup(threshold, Mode::Verified)).await.unwrap();
    answer.matches.iter().map(|found| (found.id.to_string(), found.resemblance())).collect()
}
