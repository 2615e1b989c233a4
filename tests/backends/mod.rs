//! The backend that the tests of a crate use: the local one, or with `AKIN_TEST_BACKEND=cluster` a
//! Valkey or Redis Cluster on loopback, which is started for the crate and ends with it. Each
//! directory is a server of its own there.

#![allow(dead_code, reason = "each crate uses some of it")]

#[path = "../cluster_nodes/mod.rs"]
mod cluster_nodes;

use std::path::Path;
use std::sync::LazyLock;

use akin::backend::ClusterSettings;
use cluster_nodes::{Cluster, Options};

static NODES: LazyLock<Cluster> =
    LazyLock::new(|| Cluster::start(&Options { has_replicas: false, ..Options::default() }));

/// The cluster for what would be in `dir`; `None` for the local backend.
pub fn cluster(dir: &Path) -> Option<ClusterSettings> {
    if !is_cluster() {
        return None;
    }
    // Unique, as the names of temporary directories are.
    let name = dir.file_name()?.to_string_lossy().replace('.', "t");
    let settings = serde_json::json!({
        "nodes": NODES.addresses(),
        "tls": false,
        "prefix": format!("{name}-{}", std::process::id()),
        "connections": 1,
        "wait_replicas": 0,
        "wait_timeout_ms": 1_000,
        "deadline_ms": 20_000,
        "lease_ms": 60_000,
        "documents_expected": 10_000,
        "contents": format!("file://{}/contents", dir.display()),
    });
    Some(serde_json::from_value(settings).unwrap())
}

/// Whether the tests run over a cluster.
pub fn is_cluster() -> bool {
    std::env::var_os("AKIN_TEST_BACKEND").is_some_and(|backend| backend == "cluster")
}

/// Whether a test is left out, as it is of what only the local backend has (`what`).
pub fn is_left_out(what: &str) -> bool {
    if is_cluster() {
        eprintln!("not over a cluster: {what}");
    }
    is_cluster()
}
