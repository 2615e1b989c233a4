//! Reads of whole collections: views, samples, and how long they wait for a connection.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use akin::backend::{Backend, BackendError};
use akin::engine::{CollectionSettings, Discovery, EngineError, Mode, Opening, Order};
use akin_engine::background::turns::{ClientId, on_behalf_of};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use crate::postgres_server::Database;
use crate::serving::pause;
use crate::{connections, document, engine, of_family};

/// The number of connections of akin.
fn open_connections(database: &Database) -> usize {
    let open = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'akin' \
        AND datname = current_database()";
    database.sql(open).parse().unwrap()
}

/// Waits until no connection of akin is open any more: each connection reports its figures when it
/// ends.
fn await_reports(database: &Database) {
    while open_connections(database) != 0 {
        pause();
    }
}

/// The tables that lookups read.
const SEARCHED: [&str; 3] = ["postings", "entries", "documents"];

/// Rows of tables that the indexes led to.
pub fn read_by_indexes(database: &Database, tables: &[&str]) -> u64 {
    await_reports(database);
    let sum = "SELECT sum(idx_tup_fetch) FROM pg_stat_user_tables WHERE schemaname = 'akin'";
    let sum = format!("{sum} AND relname IN ('{}')", tables.join("', '"));
    database.sql(&sum).parse().unwrap()
}

/// Rows of documents that were read, and how many reads there were.
fn reads(database: &Database) -> [u64; 2] {
    await_reports(database);
    let read = database.sql(
        "SELECT seq_tup_read + idx_tup_fetch, seq_scan + idx_scan FROM pg_stat_user_tables \
         WHERE schemaname = 'akin' AND relname = 'documents'",
    );
    let (rows, scans) = read.split_once('|').unwrap();
    [rows, scans].map(|figure| figure.parse().unwrap())
}

async fn backend(database: &Database) -> Arc<dyn Backend> {
    let store = crate::store(&database.url()).await;
    let open = move || {
        let mut settings = CollectionSettings::default();
        settings.sketch.seed = Some(0);
        let store: &dyn akin::backend::CollectionStore = &*store;
        store.default_collection(&settings).unwrap().open(&Opening::default()).unwrap().0
    };
    tokio::task::spawn_blocking(open).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_view_reads_many_sets_at_once() {
    let Some(database) = Database::new() else { return };
    let stored = engine(&database).await;
    let prepared = (0..600).map(|n| {
        let given = document(&format!("d{n}"), &of_family(n / 2, n % 2));
        (stored.prepare(given).unwrap(), akin::engine::AddOptions::default())
    });
    stored.add_all(prepared.collect()).await.into_iter().for_each(|of| drop(of.unwrap()));
    drop(stored);
    let [_, before] = reads(&database);
    let reader = engine(&database).await;
    let discovery = Discovery { threshold: None, mode: Some(Mode::Exact) };
    let pairs = reader.pairs(discovery, ()).await.unwrap().map(Result::unwrap);
    assert_eq!(pairs.collect::<Vec<_>>().await.concat().len(), 300);
    drop(reader);
    let [_, after] = reads(&database);
    assert!(after - before < 100, "600 sets were read in {} reads", after - before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sample_is_uniform_and_does_not_read_the_collection() {
    let Some(database) = Database::new() else { return };
    drop(backend(&database).await);
    // Nine of ten documents of the second half were removed.
    database.sql(
        "INSERT INTO akin.documents (ordinal, entry, hash, stored_at, collection, form, id)
         SELECT n, n, 0, 0, collection, 0, 'd' || n
         FROM akin.collections, generate_series(0, 19999) n WHERE n < 10000 OR n % 10 = 0;
         INSERT INTO akin.counts SELECT collection, 0, 11000 FROM akin.collections",
    );
    database.sql("VACUUM ANALYZE akin.documents");
    let [before, _] = reads(&database);
    let reader = backend(&database).await;
    assert_eq!(reader.stats().await.unwrap().size.documents, 11_000);
    let mut of_first_half = 0;
    for _ in 0..20 {
        let sample = reader.sample(20).await.unwrap();
        let numbers: HashSet<u32> =
            sample.iter().map(|id| id.as_str()[1..].parse().unwrap()).collect();
        assert_eq!(numbers.len(), 20, "{sample:?}");
        of_first_half += numbers.iter().filter(|number| **number < 10_000).count();
    }
    // Ten of eleven, give or take four deviations.
    assert!((340..388).contains(&of_first_half), "{of_first_half} of 400");
    drop(reader);
    let [after, _] = reads(&database);
    assert!(after - before < 50_000, "{} rows were read for 20 samples", after - before);
}

/// Only the lookup of a stored document needs its set: others ask for the sketches or the ordinals
/// of thousands of documents.
#[tokio::test(flavor = "multi_thread")]
async fn sketches_of_many_documents_are_read_without_their_sets() {
    let Some(database) = Database::new() else { return };
    let server = engine(&database).await;
    for n in 0..3 {
        crate::add(&server, &format!("d{n}"), &of_family(n, 0)).await;
    }
    drop(server);
    let reader = backend(&database).await;
    let many = reader.sketched(&[crate::id("d0"), crate::id("d1")]).await.unwrap();
    let one = reader.sketched(&[crate::id("d2")]).await.unwrap();
    database.sql("UPDATE akin.documents SET content = NULL");
    let sketched: Vec<_> = many.into_iter().chain(one).map(|of| of.unwrap().candidate).collect();
    let sets = reader.sets(&sketched).await.unwrap();
    assert_eq!(sets.iter().map(Option::is_some).collect::<Vec<_>>(), [false, false, true]);
}

/// A set of few shingles may have a large content: a lookup reads it alone.
#[tokio::test(flavor = "multi_thread")]
async fn a_large_content_is_read_only_where_it_is_asked_for() {
    let Some(database) = Database::new() else { return };
    let server = engine(&database).await;
    let mut text = of_family(1, 0);
    for n in 0..12_000_u64 {
        write!(text, " {:x}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15)).unwrap();
    }
    crate::add(&server, "large", &text).await;
    drop(server);
    let read = |whole: &str| {
        database.sql(&format!(
            "SELECT m.contents[1] IS NOT NULL FROM akin.documents d, LATERAL
             akin.materials(ARRAY[d.entry], 0, 32768, {whole}) m"
        ))
    };
    assert_eq!([read("'{}'"), read("ARRAY[d.entry]")], ["f", "t"]);
    let server = engine(&database).await;
    let content = akin::document::Content::Text(format!("{text} more"));
    let lookup = akin::engine::Lookup::default();
    let answer = server.similar(akin::engine::Probe::Content(content), lookup).await.unwrap();
    assert_eq!(answer.matches.len(), 1, "{answer:?}");
}

/// Rows of all tables that the indexes lead to, for each of ten documents added to a crowd.
async fn read_of_each(database: &Database, crowd: u64) -> u64 {
    let server = engine(database).await;
    let member = |n| {
        let given = document(&format!("m{n}"), &of_family(1, n));
        (server.prepare(given).unwrap(), akin::engine::AddOptions::default())
    };
    for added in server.add_all((0..crowd).map(member).collect()).await {
        drop(added.unwrap());
    }
    drop(server);
    let before = read_by_indexes(database, &SEARCHED);
    let server = engine(database).await;
    for n in crowd..crowd + 10 {
        crate::add(&server, &format!("m{n}"), &of_family(1, n)).await;
    }
    drop(server);
    (read_by_indexes(database, &SEARCHED) - before) / 10
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_of_a_crowd_reads_as_much_however_large_the_crowd_is() {
    let Some(database) = Database::new() else { return };
    let of_few = read_of_each(&database, 100).await;
    let of_many = read_of_each(&database, 600).await;
    assert!(of_many < of_few * 5 / 4, "{of_few} rows among 100, {of_many} among 600");
}

/// Documents of one template, of which none reaches the threshold, added together.
async fn add_of_template(server: &akin::engine::Engine, numbers: std::ops::Range<u64>) {
    let template = [crate::words(1), crate::words(2)].concat();
    let of_template = |n: u64| {
        let text = [&template[..100], &crate::words(1_000 + n)[..20]].concat().join(" ");
        let given = document(&format!("t{n}"), &text);
        (server.prepare(given).unwrap(), akin::engine::AddOptions::default())
    };
    for added in server.add_all(numbers.map(of_template).collect()).await {
        assert!(added.unwrap().duplicates.len() < 3);
    }
}

/// The sets that share their keys are read once for all of them.
#[tokio::test(flavor = "multi_thread")]
async fn documents_of_a_crowd_that_are_added_together_share_their_lookups() {
    let Some(database) = Database::new() else { return };
    let server = engine(&database).await;
    add_of_template(&server, 0..2_000).await;
    drop(server);
    let read = || read_by_indexes(&database, &SEARCHED);
    let at_first = read();
    let server = engine(&database).await;
    for n in 2_000..2_016 {
        add_of_template(&server, n..n + 1).await;
    }
    drop(server);
    let alone = read() - at_first;
    let server = engine(&database).await;
    add_of_template(&server, 2_016..2_080).await;
    drop(server);
    let together = read() - at_first - alone;
    assert!(together < 2 * alone, "{alone} rows for 16 alone, {together} for 64 together");
}

/// Of the sets that share keys with a document, none is near: a server that has written them reads
/// neither their sketches nor their documents.
#[tokio::test(flavor = "multi_thread")]
async fn documents_of_a_crowd_are_compared_before_they_are_read() {
    let Some(database) = Database::new() else { return };
    let fetched = || read_by_indexes(&database, &["entries", "documents"]);
    let server = engine(&database).await;
    add_of_template(&server, 0..500).await;
    drop(server);
    let before = fetched();
    let server = engine(&database).await;
    add_of_template(&server, 500..600).await;
    drop(server);
    let cold = fetched() - before;
    let server = engine(&database).await;
    add_of_template(&server, 600..700).await;
    add_of_template(&server, 700..800).await;
    drop(server);
    let both = fetched() - before - cold;
    assert!(
        both < cold * 5 / 4,
        "{cold} rows for 100 documents, {both} for 200 one after the other"
    );
}

/// Rows of all tables that the indexes lead to in a lookup whose keys have so many sets, none near.
async fn read_among_unlike(database: &Database, sets: u64) -> u64 {
    let server = engine(database).await;
    crate::add(&server, "a", &of_family(1, 0)).await;
    database.sql(&format!(
        "INSERT INTO akin.entries
         SELECT n, 58, sha512(n::text::bytea) || sha512((-n)::text::bytea)
         FROM generate_series(1, {sets}) n ON CONFLICT DO NOTHING;
         INSERT INTO akin.postings SELECT DISTINCT p.key, n
         FROM akin.postings p, generate_series(1, {sets}) n ON CONFLICT DO NOTHING"
    ));
    server.remove(&crate::id("a")).await.unwrap();
    drop(server);
    let before = read_by_indexes(database, &SEARCHED);
    let server = engine(database).await;
    let content = akin::document::Content::Text(of_family(1, 0));
    let lookup = akin::engine::Lookup::default();
    let answer = server.similar(akin::engine::Probe::Content(content), lookup).await.unwrap();
    assert!(answer.matches.is_empty() && answer.searched.truncated, "{answer:?}");
    drop(server);
    read_by_indexes(database, &SEARCHED) - before
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lookup_in_a_crowd_of_unlike_sets_reads_as_much_however_large_the_crowd_is() {
    let Some(database) = Database::new() else { return };
    let of_few = read_among_unlike(&database, 400).await;
    let of_many = read_among_unlike(&database, 3_000).await;
    assert!(of_many < of_few * 5 / 4, "{of_few} rows among 400, {of_many} among 3,000");
}

/// Adds a document `near` whose set comes last among the sets of its keys, of which the first search
/// reads a few. Returns a text that it is near to.
pub async fn add_near_behind_many(database: &Database) -> String {
    let server = engine(database).await;
    let words: Vec<String> = of_family(1, 0).split(' ').map(str::to_owned).collect();
    let version = |n: u64, changed: &[usize]| {
        let mut words = words.clone();
        for place in changed {
            words[*place] = format!("c{n}x{place}");
        }
        words.join(" ")
    };
    // Each changes other words, so that few keys of the near set have few others.
    let versions = (0..180).map(|n| {
        let places = [n as usize * 7 % 59, (n as usize * 13 + 29) % 59];
        let given = document(&format!("v{n}"), &version(n, &places));
        (server.prepare(given).unwrap(), akin::engine::AddOptions::default())
    });
    server.add_all(versions.collect()).await.into_iter().for_each(|of| drop(of.unwrap()));
    crate::add(&server, "near", &version(999, &[59])).await;
    let last = "9223372036854775807";
    database.sql(&format!(
        "CREATE TABLE near AS SELECT entry FROM akin.documents WHERE id = 'near';
         UPDATE akin.entries SET entry = {last} WHERE entry IN (SELECT entry FROM near);
         UPDATE akin.postings SET entry = {last} WHERE entry IN (SELECT entry FROM near);
         UPDATE akin.documents SET entry = {last} WHERE id = 'near';
         DELETE FROM akin.postings p WHERE entry = {last}
             AND (SELECT count(*) FROM akin.postings o WHERE o.key = p.key) <= 25"
    ));
    words.join(" ")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_near_set_is_found_behind_many_that_share_its_keys() {
    let Some(database) = Database::new() else { return };
    let content = akin::document::Content::Text(add_near_behind_many(&database).await);
    let server = engine(&database).await;
    let threshold = akin_core::scheme::Threshold::new(0.9).ok();
    let lookup = akin::engine::Lookup { threshold, ..akin::engine::Lookup::default() };
    let answer = server.similar(akin::engine::Probe::Content(content), lookup).await.unwrap();
    let found: Vec<&str> = answer.matches.iter().map(|of| of.id.as_str()).collect();
    // Some versions differ at the edge, and reach the threshold, too.
    assert!(found.contains(&"near"), "{answer:?}");
}

/// Of three reads of the whole collection at the same time, two are served.
#[tokio::test(flavor = "multi_thread")]
async fn a_read_that_gets_no_connection_in_time_is_refused() {
    let Some(database) = Database::new() else { return };
    let connections =
        akin_postgres::ConnectionSettings { deadline: Duration::from_secs(2), ..connections() };
    let store = akin_postgres::PostgresStore::open(&database.url(), &connections).await.unwrap();
    let store = Arc::new(store);
    let open = move || {
        let store: &dyn akin::backend::CollectionStore = &*store;
        let stored = store.default_collection(&CollectionSettings::default()).unwrap();
        akin::engine::Engine::open(&*stored, &Opening::default()).unwrap()
    };
    let engine = tokio::task::spawn_blocking(open).await.unwrap();
    for n in 0..100 {
        crate::add(&engine, &format!("d{n}"), &of_family(n, 0)).await;
    }
    let mut held = Vec::new();
    for _ in 0..connections.scans_max {
        let mut export = engine.export(Order::Id).await;
        export.next().await.unwrap().unwrap();
        held.push(export);
    }
    let refused = engine.export(Order::Id).await.next().await.unwrap();
    let Err(EngineError::Backend(BackendError::OutOfService { reason })) = refused else {
        panic!("{refused:?}")
    };
    assert!(reason.contains("storage.scans_max"), "{reason}");
    held.clear();
    assert_eq!(engine.export(Order::Id).await.count().await, 100);
}

/// A read of one client that waited behind all reads of another client took as long as all of them.
#[tokio::test(flavor = "multi_thread")]
async fn clients_take_turns_for_reads_of_whole_collections() {
    let Some(database) = Database::new() else { return };
    let server = engine(&database).await;
    crate::add(&server, "a", &of_family(1, 1)).await;
    let read = |client: u64| {
        let server = server.clone();
        async move {
            let read = async { server.export(Order::Id).await.count().await };
            assert_eq!(on_behalf_of(ClientId(client), read).await, 1);
            client
        }
    };
    let reads: FuturesUnordered<_> = [1; 100].into_iter().chain([2]).map(read).collect();
    let read: Vec<u64> = reads.collect().await;
    let place = read.iter().position(|client| *client == 2).unwrap();
    assert!(place < 50, "{place} reads of another client came first");
}

/// Each connection takes memory of the database, and processor time when it is new.
#[tokio::test(flavor = "multi_thread")]
async fn requests_one_after_another_share_connections() {
    let Some(database) = Database::new() else { return };
    let server = engine(&database).await;
    for n in 0..20 {
        crate::add(&server, &format!("d{n}"), &of_family(n / 2, n % 2)).await;
        let lookup = akin::engine::Lookup::default();
        let probe = akin::engine::Probe::Stored(crate::id(&format!("d{n}")));
        server.similar(probe, lookup).await.unwrap();
    }
    let open = open_connections(&database);
    assert!(open <= 6, "{open} connections are open");
}
