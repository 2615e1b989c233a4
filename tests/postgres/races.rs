//! Two servers that write at the same time.

use std::collections::HashSet;

use akin::document::DocumentId;
use akin::engine::{AddOptions, AddStatus, Added, CollectionSettings, Engine, Opening};
use akin_core::scheme::Threshold;
use futures_util::future::join_all;

use crate::postgres_server::Database;
use crate::whole::add_near_behind_many;
use crate::{add, add_or_skip, document, engine, of_family, open};

const CLIENTS: u64 = 32;

/// Members of families are added by 2 servers × 32 clients at the same time, each member once.
/// Returns the families of which a member stayed, and the pairs of a family that both stayed although
/// they share a lookup key. (Pairs that share none are the percent that a lookup may miss.)
async fn race(database: &Database, families: u64) -> (usize, String) {
    let servers = [engine(database).await, engine(database).await];
    let clients = (0..2 * CLIENTS).map(|client| {
        let server = servers[(client % 2) as usize].clone();
        tokio::spawn(async move {
            for family in 0..families {
                // Not all clients at the same family, nor each at another.
                let family = (family + client / 8) % families;
                let name = format!("f{family}-{client}");
                add_or_skip(&server, &name, &of_family(family, client)).await.unwrap();
            }
        })
    });
    join_all(clients).await.into_iter().for_each(Result::unwrap);
    let stayed = servers[0].list(None, 1_000_000).await.unwrap();
    let family = |name: &DocumentId| name.as_str().split_once('-').unwrap().0.to_owned();
    let distinct: HashSet<String> = stayed.iter().map(family).collect();
    let pairs = database.sql(
        "WITH s AS (
            SELECT d.id, split_part(d.id, '-', 1) AS family, p.key
            FROM akin.documents d JOIN akin.postings p ON p.entry = d.entry
            WHERE (p.key >> 32) & 255 < 9 -- the tables of a lookup at 0.8
        )
        SELECT count(DISTINCT (a.id, b.id)) FROM s a
        JOIN s b ON a.key = b.key AND a.family = b.family AND a.id < b.id",
    );
    (distinct.len(), pairs)
}

#[tokio::test(flavor = "multi_thread")]
async fn of_near_duplicates_that_two_servers_add_with_skip_one_stays() {
    let Some(database) = Database::new() else { return };
    let families = std::env::var("AKIN_RACE_FAMILIES").map_or(40, |of| of.parse().unwrap());
    assert_eq!(race(&database, families).await, (families as usize, "0".to_owned()));
}

/// Shows that the test above sees a missing lock. Transactions stay open for a while after they have
/// written, so that transactions of the other server fall between.
#[tokio::test(flavor = "multi_thread")]
async fn without_the_locks_several_near_duplicates_stay() {
    let Some(database) = Database::new() else { return };
    drop(engine(&database).await);
    database.sql(
        "CREATE OR REPLACE FUNCTION akin.enter(coll int, locks bigint[]) RETURNS void
         LANGUAGE sql AS '';
         CREATE OR REPLACE FUNCTION akin.count_rows(coll int, difference bigint) RETURNS void
         LANGUAGE sql AS 'SELECT pg_sleep(0.02)'",
    );
    let (families, pairs) = race(&database, 40).await;
    assert_eq!(families, 40);
    assert_ne!(pairs, "0");
}

/// What a document is told is stored, and stays.
#[tokio::test(flavor = "multi_thread")]
async fn a_document_is_told_of_every_earlier_near_duplicate() {
    let Some(database) = Database::new() else { return };
    let servers = [engine(&database).await, engine(&database).await];
    let members = 0..48_u64;
    let added = join_all(members.map(|n| {
        let server: Engine = servers[(n % 2) as usize].clone();
        tokio::spawn(async move { add(&server, &format!("m{n}"), &of_family(1, n)).await })
    }));
    // The n-th in the order of the locks has n − 1 before it, up to the twenty that are told.
    let told = added.await.into_iter().map(|of| of.unwrap().duplicates.len());
    let mut told: Vec<usize> = told.collect();
    told.sort_unstable();
    let expected: Vec<usize> = (0..48).map(|n| n.min(20)).collect();
    assert_eq!(told, expected);
}

/// The set of the other document is not among the few of each key that the first call returns.
#[tokio::test(flavor = "multi_thread")]
async fn a_document_is_told_of_one_that_is_committed_before_its_locks_are_held() {
    let Some(database) = Database::new() else { return };
    let text = add_near_behind_many(&database).await;
    // The near document is taken away, and stored again when locks are taken for the second time,
    // after the further sets of the keys were read.
    database.sql(
        "CREATE SCHEMA kept;
         CREATE TABLE kept.documents AS SELECT * FROM akin.documents WHERE id = 'near';
         CREATE TABLE kept.entries AS
             SELECT * FROM akin.entries WHERE entry IN (SELECT entry FROM kept.documents);
         CREATE TABLE kept.postings AS
             SELECT * FROM akin.postings WHERE entry IN (SELECT entry FROM kept.documents);
         DELETE FROM akin.documents WHERE id = 'near';
         DELETE FROM akin.postings WHERE entry IN (SELECT entry FROM kept.documents);
         DELETE FROM akin.entries WHERE entry IN (SELECT entry FROM kept.documents);
         CREATE SEQUENCE kept.calls;
         CREATE SEQUENCE kept.stored;
         ALTER FUNCTION akin.enter RENAME TO enter_only;
         CREATE FUNCTION akin.enter(coll int, locks bigint[]) RETURNS void LANGUAGE plpgsql AS $$
         BEGIN
             IF nextval('kept.calls') = 2 THEN
                 WHILE (SELECT NOT is_called FROM kept.stored) LOOP
                     PERFORM pg_sleep(0.01);
                 END LOOP;
             END IF;
             PERFORM akin.enter_only(coll, locks);
         END $$",
    );
    let server = engine(&database).await;
    let options = AddOptions { threshold: Threshold::new(0.9).ok(), ..AddOptions::default() };
    let adding = tokio::spawn(async move { server.add(document("new", &text), options).await });
    while database.sql("SELECT last_value FROM kept.calls") != "2" {
        assert!(!adding.is_finished(), "it takes the locks once more after the first call");
    }
    database.sql(
        "UPDATE kept.documents SET ordinal = nextval('akin.ordinals');
         INSERT INTO akin.entries SELECT * FROM kept.entries;
         INSERT INTO akin.postings SELECT * FROM kept.postings;
         INSERT INTO akin.documents SELECT * FROM kept.documents",
    );
    database.sql("SELECT nextval('kept.stored')");
    let added = adding.await.unwrap().unwrap();
    assert!(added.duplicates.iter().any(|of| of.id.as_str() == "near"), "{added:?}");
}

/// The last of several versions that one client sends together wins.
#[tokio::test(flavor = "multi_thread")]
async fn versions_of_a_document_are_stored_in_their_order() {
    let Some(database) = Database::new() else { return };
    let server = engine(&database).await;
    let version = |n| server.prepare(document("same", &of_family(n, n))).unwrap();
    let versions = (0..200).map(|n| (version(n), AddOptions::default())).collect();
    let added = server.add_all(versions).await;
    let created = |of: &&Result<Added, _>| of.as_ref().unwrap().status == AddStatus::Created;
    assert_eq!(added.iter().filter(created).count(), 1);
    let record = server.get(&crate::id("same")).await.unwrap();
    let akin::document::Content::Text(text) = record.content.unwrap() else { panic!() };
    assert_eq!(text, of_family(199, 199));
    // The sets of the others are gone.
    assert_eq!(database.sql("SELECT count(*) FROM akin.entries"), "1");
    let keys = database.sql("SELECT count(DISTINCT key) = count(*) FROM akin.postings");
    assert_eq!(keys, "t");
}

/// Adds, replacements, removals and expiry of few ids and equal sets: nothing is left over.
#[tokio::test(flavor = "multi_thread")]
async fn after_mixed_writes_sets_and_keys_are_those_of_the_documents() {
    let Some(database) = Database::new() else { return };
    let url = database.url();
    let open = || open(&url, CollectionSettings::default(), Opening::default());
    let servers = [open().await, open().await];
    let clients = (0..16_u64).map(|client| {
        let server = servers[(client % 2) as usize].clone();
        tokio::spawn(async move {
            for step in 0..40_u64 {
                let n = step.wrapping_mul(2_654_435_761).wrapping_add(client * 97);
                let name = format!("d{}", n % 12);
                if n % 5 == 0 {
                    let _ = server.remove(&crate::id(&name)).await;
                } else {
                    add(&server, &name, &of_family(n / 7 % 4, n / 31 % 2)).await;
                }
            }
        })
    });
    join_all(clients).await.into_iter().for_each(Result::unwrap);
    assert_eq!(leftovers(|sql| database.sql(sql)), "0|0|0|0");
    let documents = database.sql("SELECT count(*) FROM akin.documents");
    assert_eq!(database.sql("SELECT sum(documents) FROM akin.counts"), documents);
}

/// Sets without a document, documents without a set, sets that have not all 32 keys, and postings
/// without a set.
pub fn leftovers(sql: impl Fn(&str) -> String) -> String {
    sql("SELECT (SELECT count(*) FROM akin.entries e
                WHERE NOT EXISTS (SELECT FROM akin.documents d WHERE d.entry = e.entry)),
            (SELECT count(*) FROM akin.documents d
                WHERE NOT EXISTS (SELECT FROM akin.entries e WHERE d.entry = e.entry)),
            (SELECT count(*) FROM akin.entries e
                WHERE (SELECT count(*) FROM akin.postings p WHERE p.entry = e.entry) <> 32),
            (SELECT count(*) FROM akin.postings p
                WHERE NOT EXISTS (SELECT FROM akin.entries e WHERE p.entry = e.entry))")
}
