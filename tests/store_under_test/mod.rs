//! The store that tests keep their collections in: a directory, or a database of the server of
//! PostgreSQL whose URL the variable `AKIN_TEST_BACKEND` has.

#![allow(dead_code, reason = "each test crate uses a part of it")]

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use akin::backend::{CollectionStore, LocalCollections};
use akin::storage::StorageSettings;

use crate::postgres_server;

/// The variable that names the backend of a process.
pub const BACKEND: &str = "AKIN_TEST_BACKEND";

/// The URL of the server, if collections are in a database.
pub fn server_url() -> Option<String> {
    std::env::var(BACKEND).ok().filter(|url| url.starts_with("postgres://"))
}

/// The collections of a directory, or of the database that belongs to it.
pub fn store_of(dir: &Path, storage: StorageSettings) -> Arc<dyn CollectionStore> {
    match server_url() {
        None => Arc::new(LocalCollections::new(dir.to_owned(), storage)),
        Some(url) => in_database(&url, dir, &storage),
    }
}

fn in_database(url: &str, dir: &Path, storage: &StorageSettings) -> Arc<dyn CollectionStore> {
    let url = url_of(url, dir);
    create_database(&url);
    open_database(&url, storage)
}

#[cfg(feature = "postgres")]
fn open_database(url: &str, storage: &StorageSettings) -> Arc<dyn CollectionStore> {
    use std::sync::LazyLock;
    use std::time::Duration;

    use akin_postgres::{ConnectionSettings, PostgresStore};
    use tokio::runtime::Runtime;

    /// Of all databases: a test may block the threads of its own.
    static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());

    let settings = ConnectionSettings {
        deadline: Duration::from_secs(20),
        scans_max: 4,
        changes_kept: storage.changes_kept,
        compression_level: 1,
    };
    let url = url.to_owned();
    blocking(move || Arc::new(RUNTIME.block_on(PostgresStore::open(&url, &settings)).unwrap()))
}

#[cfg(not(feature = "postgres"))]
fn open_database(url: &str, _: &StorageSettings) -> Arc<dyn CollectionStore> {
    panic!("{BACKEND}={url} needs the feature postgres");
}

/// Unless it exists, of an earlier start over the directory.
fn create_database(url: &str) {
    let (server, name) = url.rsplit_once('/').unwrap();
    let server = format!("{server}/postgres");
    let created = postgres_server::create_database(name, |statement| psql(&server, statement));
    assert!(created.as_ref().err().is_none_or(|of| of.contains("already exists")), "{created:?}");
}

/// The database that belongs to a directory.
fn url_of(server: &str, dir: &Path) -> String {
    let mut hasher = DefaultHasher::new();
    dir.hash(&mut hasher);
    named(server, &format!("test{:016x}", hasher.finish()))
}

/// Another database of the server.
fn named(url: &str, name: &str) -> String {
    let (server, _) = url.rsplit_once('/').unwrap();
    format!("{server}/{name}")
}

fn psql(url: &str, statement: &str) -> Result<String, String> {
    let mut psql = Command::new(postgres_server::psql());
    postgres_server::output(psql.args([url, "-qtAc", statement]))
}

/// The output of a statement in the database of a directory; `None` where collections are local.
pub fn sql(dir: &Path, statement: &str) -> Option<String> {
    server_url().map(|url| psql(&url_of(&url, dir), statement).unwrap())
}

/// Calls what blocks on another thread, as the threads of a runtime may not.
pub fn blocking<T: Send>(call: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| scope.spawn(call).join().unwrap())
}

/// Runs this binary's tests again over a backend: those whose names have one of `selected`, or all
/// if there are none, but for those whose names have one of `skipped`. Each of these parts of names
/// has to be of a test.
pub fn run_again(backend: &str, selected: &[&str], skipped: &[&str]) {
    let all = names_of_tests();
    for part in selected.iter().chain(skipped) {
        assert!(all.iter().any(|name| name.contains(part)), "no test has '{part}' in its name");
    }
    let has_one = |name: &str, parts: &[&str]| parts.iter().any(|part| name.contains(part));
    let is_run = |name: &&String| {
        (selected.is_empty() || has_one(name, selected)) && !has_one(name, skipped)
    };
    let expected = all.iter().filter(is_run).count();
    if backend.starts_with("postgres://") {
        // Each database of a test is a copy of this one, and so has the schema.
        drop(open_database(&named(backend, "template1"), &StorageSettings::default()));
    }
    let mut tests = Command::new(std::env::current_exe().unwrap());
    tests.env(BACKEND, backend).args(selected);
    for other in skipped {
        tests.args(["--skip", other]);
    }
    let output = tests.output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{told}");
    assert!(told.contains(&format!("\nrunning {expected} tests\n")), "not {expected}: {told}");
}

/// The names of this binary's tests.
fn names_of_tests() -> Vec<String> {
    let output = Command::new(std::env::current_exe().unwrap()).arg("--list").output().unwrap();
    let listed = String::from_utf8(output.stdout).unwrap();
    listed.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect()
}

/// Whether collections are in a directory.
pub fn is_local() -> bool {
    server_url().is_none()
}
