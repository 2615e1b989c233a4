//! What is read for records, whose candidates the engine looks up.

use akin::document::{Content, Document};
use akin::engine::{AddOptions, CollectionSettings, Engine, Lookup, Opening, Probe};
use serde_json::json;

use crate::postgres_server::Database;
use crate::whole::read_by_indexes;
use crate::{document, open};

async fn records(database: &Database) -> Engine {
    let settings: CollectionSettings = serde_json::from_value(json!({
        "shingles": {"unit": "field"},
        "scheme": {"kind": "fields", "fields": ["name", "city"]},
    }))
    .unwrap();
    open(&database.url(), settings, Opening::default()).await
}

fn in_rome(n: u64) -> Document {
    let fields = [("name", format!("name{}", n * 7_919)), ("city", "Rome".to_owned())];
    let fields = fields.map(|(key, value)| (key.to_owned(), value)).into_iter().collect();
    Document { content: Content::Fields(fields), ..document(&format!("r{n}"), "") }
}

/// It is looked up before and under its locks.
#[tokio::test(flavor = "multi_thread")]
async fn an_added_record_reads_the_sets_of_two_searches_for_it() {
    let Some(database) = Database::new() else { return };
    let server = records(&database).await;
    for n in 0..100 {
        server.add(in_rome(n), AddOptions::default()).await.unwrap();
    }
    drop(server);
    let read_sets = || read_by_indexes(&database, &["entries"]);
    let before = read_sets();
    let server = records(&database).await;
    let probe = Probe::Content(in_rome(100).content);
    server.similar(probe, Lookup::default()).await.unwrap();
    drop(server);
    let searched = read_sets() - before;
    let server = records(&database).await;
    server.add(in_rome(100), AddOptions::default()).await.unwrap();
    drop(server);
    let added = read_sets() - before - searched;
    assert!(added <= 2 * searched, "{searched} sets for a search, {added} for an addition");
}
