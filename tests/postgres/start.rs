//! Starts: an empty database, databases that do not serve, and users with few rights.

use std::path::Path;

use akin::backend::BackendError;
use akin_postgres::PostgresStore;
use futures_util::future::join_all;

use crate::postgres_server::{Database, PostgresServer};
use crate::serving::Process;
use crate::{add, connections, engine, of_family};

async fn refusal(database: &Database) -> String {
    match PostgresStore::open(&database.url(), &connections()).await {
        Err(BackendError::OtherSettings { reason }) => reason,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it was opened"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_that_start_at_the_same_time_make_one_schema_and_one_collection() {
    let Some(database) = Database::new() else { return };
    let servers = join_all((0..6).map(|_| engine(&database))).await;
    assert_eq!(database.sql("SELECT count(*) FROM akin.migrations"), "1");
    add(&servers[0], "a", &of_family(1, 1)).await;
    let told = add(&servers[5], "b", &of_family(1, 2)).await.duplicates;
    assert_eq!(told[0].id.as_str(), "a");
    assert_eq!(database.sql("SELECT count(*) FROM akin.collections WHERE name = 'default'"), "1");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_of_a_newer_version_is_refused() {
    let Some(database) = Database::new() else { return };
    drop(engine(&database).await);
    database.sql("INSERT INTO akin.migrations VALUES (99)");
    assert!(refusal(&database).await.contains("version 99, made by a newer akin"));
}

#[tokio::test(flavor = "multi_thread")]
async fn another_isolation_than_read_committed_is_refused() {
    let Some(database) = Database::new() else { return };
    let name = database.sql("SELECT current_database()");
    database.sql(&format!(
        "ALTER DATABASE \"{name}\" SET default_transaction_isolation = 'serializable'"
    ));
    assert!(refusal(&database).await.contains("default_transaction_isolation"));
}

/// As CockroachDB defines them.
#[tokio::test(flavor = "multi_thread")]
async fn advisory_locks_that_do_not_lock_are_refused() {
    let Some(database) = Database::new() else { return };
    let name = database.sql("SELECT current_database()");
    database.sql(
        "CREATE SCHEMA fake;
         CREATE FUNCTION fake.pg_try_advisory_xact_lock(bigint) RETURNS boolean
         LANGUAGE sql AS 'SELECT true'",
    );
    database.sql(&format!("ALTER DATABASE \"{name}\" SET search_path = fake, pg_catalog, public"));
    assert!(refusal(&database).await.contains("do not lock"));
}

#[tokio::test(flavor = "multi_thread")]
async fn certificates_of_the_database_are_verified() {
    let certificates = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/tls");
    let (own, other) = ("first.cert.pem", "second.cert.pem");
    let key = certificates.join("first.key.pem");
    let started = PostgresServer::start_with_tls(&certificates.join(own), &key);
    let Some((_server, port)) = started else { return };
    let open = async |parameters: &str| {
        let url = format!("postgres://akin@127.0.0.1:{port}/postgres?{parameters}");
        PostgresStore::open(&url, &connections()).await.map(drop)
    };
    let authority = |name| format!("sslrootcert={}", certificates.join(name).display());
    open(&format!("sslmode=require&{}", authority(own))).await.unwrap();
    let refused = open(&format!("sslmode=require&{}", authority(other))).await.unwrap_err();
    assert!(refused.to_string().contains("certificate"), "{refused}");
    open("sslmode=disable").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_who_only_owns_the_schema_is_enough() {
    let Some(database) = Database::new() else { return };
    let name = database.sql("SELECT current_database()");
    let user = "limited";
    database.sql(&format!(
        "CREATE ROLE {user} LOGIN; CREATE SCHEMA akin AUTHORIZATION {user};
         REVOKE ALL ON DATABASE \"{name}\" FROM PUBLIC; GRANT CONNECT ON DATABASE \"{name}\" TO {user}"
    ));
    let url = database.url().replace("akin@", "limited@");
    let server = crate::open(
        &url,
        akin::engine::CollectionSettings::default(),
        akin::engine::Opening::default(),
    );
    add(&server.await, "a", &of_family(1, 1)).await;
    assert_eq!(database.sql("SELECT count(*) FROM akin.documents"), "1");
}

/// The password has characters that a URL would have to escape.
#[tokio::test(flavor = "multi_thread")]
async fn the_password_may_be_in_the_environment() {
    let dir = tempfile::tempdir().unwrap();
    let rules = dir.path().join("pg_hba.conf");
    std::fs::write(&rules, "local all keyed scram-sha-256\nlocal all all trust\n").unwrap();
    let started = PostgresServer::start_with(&[], &[("pg_hba.conf", &rules)]);
    let Some(database) = started else { return };
    database.sql("postgres", "CREATE ROLE keyed SUPERUSER LOGIN PASSWORD 'p@ss/w%rd'");
    let serving = |password| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_akin"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(dir.path());
        command.env("AKIN__STORAGE__BACKEND", "postgres").env("AKIN__LOG__FORMAT", "json");
        command.env("AKIN__POSTGRES__URL", database.url("postgres").replace("akin@", "keyed@"));
        command.env("PGPASSWORD", password);
        Process::spawn(command)
    };
    assert!(serving("another").and_then(|mut process| process.await_ready()).is_err());
    serving("p@ss/w%rd").unwrap().await_ready().unwrap();
}

/// A document that replaces another takes as many locks as docs/postgres.md says and a start checks
/// for.
#[tokio::test(flavor = "multi_thread")]
async fn a_document_takes_so_many_locks() {
    let Some(database) = Database::new() else { return };
    let server = engine(&database).await;
    database.sql(
        "CREATE TABLE akin.taken (locks int);
         ALTER FUNCTION akin.enter RENAME TO entered;
         CREATE FUNCTION akin.enter(coll int, locks bigint[]) RETURNS void LANGUAGE plpgsql AS $$
         BEGIN
             INSERT INTO akin.taken SELECT count(DISTINCT l) FROM unnest(locks) l;
             PERFORM akin.entered(coll, locks);
         END $$",
    );
    let threshold = akin_core::scheme::Threshold::new(0.3).ok();
    let options = akin::engine::AddOptions { threshold, ..akin::engine::AddOptions::default() };
    for family in 1..3 {
        server.add(crate::document("a", &of_family(family, 1)), options.clone()).await.unwrap();
    }
    let taken = database.sql("SELECT max(locks) FROM akin.taken");
    let page = include_str!("../../docs/postgres.md");
    assert!(page.contains(&format!("a document takes up to {taken} locks")), "{taken}");
}
