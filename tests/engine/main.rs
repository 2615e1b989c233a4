//! The engine as its users see it: what is added is found, once, and found again after a restart.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod arrival;
#[path = "../backends/mod.rs"]
mod backends;
mod collapse;
mod conditions;
mod contained;
mod containment;
mod corpus;
mod crowd;
mod discovery;
mod exact;
mod expiry;
mod forgery;
mod format;
mod measured;
mod nearest;
#[path = "../../crates/akin-core/benches/corpus/numbers.rs"]
mod numbers;
mod pages;
mod passages;
mod recall;
mod records;
mod restart;
mod runs;
#[cfg(feature = "valkey")]
mod shared;
mod shingles;

use std::path::Path;

use akin::backend::{SetCache, SharedCollections};
use akin::document::{Content, Document, DocumentId};
use akin::engine::{
    AddOptions, Added, Clock, CollectionName, CollectionSettings, Engine, EngineError, Lookup,
    Mode, Opening, Probe,
};
use akin::storage::StorageSettings;

const CACHE_BYTES: u64 = 16 << 20;

fn open(dir: &Path) -> Engine {
    try_open(dir, CollectionSettings::default()).unwrap()
}

/// With a seed that is always the same, so that tests of recall and estimates repeat themselves.
fn try_open(dir: &Path, mut settings: CollectionSettings) -> Result<Engine, EngineError> {
    settings.sketch.seed.get_or_insert(0);
    open_with(dir, settings, &StorageSettings::default(), CACHE_BYTES, Clock::system())
}

/// Over the backend of the tests.
fn open_with(
    dir: &Path,
    settings: CollectionSettings,
    storage: &StorageSettings,
    cache_bytes: u64,
    clock: Clock,
) -> Result<Engine, EngineError> {
    let (storage, sets) = (storage.clone(), SetCache::new(cache_bytes));
    let opening = Opening { storage, sets, clock, ..Opening::default() };
    match backends::shared(dir) {
        None => Engine::open(dir, settings, opening),
        Some(shared) => open_shared(&*shared, settings, opening),
    }
}

/// The collection `default` of shared collections.
fn open_shared(
    shared: &dyn SharedCollections,
    settings: CollectionSettings,
    opening: Opening,
) -> Result<Engine, EngineError> {
    let opened = Engine::open_shared(shared, &CollectionName::default(), settings, opening);
    opened.map(|(engine, _)| engine)
}

/// A snapshot of the index, where there is one to copy.
async fn snapshot(engine: &Engine) {
    match engine.snapshot().await {
        Err(EngineError::UnsupportedByBackend { .. }) if backends::is_valkey() => {}
        made => drop(made.unwrap()),
    }
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

fn lookup(threshold: f64, mode: Mode) -> Lookup<'static> {
    let threshold = Some(threshold.try_into().unwrap());
    Lookup { threshold, points: None, limit: 10_000, mode: Some(mode), ..Lookup::default() }
}

/// Ids and resemblances of a stored document's near-duplicates.
async fn similar(engine: &Engine, name: &str, threshold: f64) -> Vec<(String, f64)> {
    let probe = Probe::Stored(id(name));
    let answer = engine.similar(probe, lookup(threshold, Mode::Verified)).await.unwrap();
    answer.matches.iter().map(|found| (found.id.to_string(), found.resemblance)).collect()
}
