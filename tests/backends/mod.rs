//! The backend that the tests of a crate use: the local one, or with `AKIN_TEST_BACKEND=valkey` a
//! Valkey or Redis Cluster on loopback, which is started for the crate and ends with it. Each
//! directory is a server of its own there.

#![allow(dead_code, reason = "each crate uses some of it")]

#[path = "../not_run/mod.rs"]
mod not_run;
#[path = "../valkey_nodes/mod.rs"]
pub mod valkey_nodes;

use std::path::Path;
use std::sync::{Arc, LazyLock};

use akin::backend::{SharedCollections, connect_to_valkey};
use valkey_nodes::{Options, Valkey};

static NODES: LazyLock<Valkey> =
    LazyLock::new(|| Valkey::start(&Options { has_replicas: false, ..Options::default() }));

/// The collections in Valkey that replace the collections in `dir`; `None` for the local backend.
pub fn shared(dir: &Path) -> Option<Arc<dyn SharedCollections>> {
    is_valkey().then(|| in_valkey(dir))
}

/// The collections in Valkey for a directory, whichever backend the tests use.
pub fn in_valkey(dir: &Path) -> Arc<dyn SharedCollections> {
    let (user, password) = (user_of(dir), "of a test");
    for node in NODES.running() {
        let rights = [&format!(">{password}"), "on", "~*", "&*", "+@all"];
        node.call(&[&["ACL", "SETUSER", &user], &rights[..]].concat());
    }
    connect(&NODES, dir, serde_json::json!({ "username": user, "password": password }))
}

/// The collections for a directory in these nodes, which have replicas.
pub fn in_nodes(nodes: &Valkey, dir: &Path) -> Arc<dyn SharedCollections> {
    connect(nodes, dir, serde_json::json!({ "wait_replicas": 1 }))
}

/// `further`: settings besides the usual settings, or in their place.
fn connect(nodes: &Valkey, dir: &Path, further: serde_json::Value) -> Arc<dyn SharedCollections> {
    let mut settings = serde_json::json!({
        "nodes": nodes.addresses(),
        "tls": false,
        "prefix": user_of(dir),
        "wait_replicas": 0,
        "wait_timeout_ms": 1_000,
        "deadline_ms": 20_000,
        "lease_ms": 60_000,
        "documents_expected": 10_000,
        "contents": format!("file://{}/contents", dir.display()),
    });
    let serde_json::Value::Object(mut further) = further else { unreachable!("it is an object") };
    settings.as_object_mut().unwrap().append(&mut further);
    connect_to_valkey(&serde_json::from_value(settings).unwrap()).unwrap()
}

/// Valkey closes all connections that [`in_valkey`] opened for the directory.
pub fn close_connections(dir: &Path) {
    let user = user_of(dir);
    for node in NODES.running() {
        node.call(&["CLIENT", "KILL", "USER", &user]);
    }
}

/// The name of the user in Valkey whose connections are for a directory: unique, as the names of
/// temporary directories are.
fn user_of(dir: &Path) -> String {
    let name = dir.file_name().expect("it is a temporary directory").to_string_lossy();
    format!("{}-{}", name.replace('.', "t"), std::process::id())
}

/// Whether the tests run over Valkey.
pub fn is_valkey() -> bool {
    std::env::var_os("AKIN_TEST_BACKEND").is_some_and(|backend| backend == "valkey")
}

/// Whether the tests run over Valkey, which lacks `what`. The test is then counted as not run.
pub fn is_left_out(what: &str) -> bool {
    if is_valkey() {
        not_run::note(&format!("over Valkey, which lacks {what}"));
    }
    is_valkey()
}
