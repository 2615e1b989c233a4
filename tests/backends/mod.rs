//! The backend that the tests of a crate use: the local one, or with `AKIN_TEST_CLUSTER` (nodes of a
//! cluster, as `host:port,host:port`) that cluster. Each directory is a server of its own there.

#![allow(dead_code, reason = "each crate uses some of it")]

use std::path::Path;

use akin::backend::ClusterSettings;

/// The cluster for what would be in `dir`; `None` for the local backend.
pub fn cluster(dir: &Path) -> Option<ClusterSettings> {
    let nodes = std::env::var("AKIN_TEST_CLUSTER").ok()?;
    let nodes: Vec<&str> = nodes.split(',').collect();
    // Unique, as the names of temporary directories are.
    let name = dir.file_name()?.to_string_lossy().replace('.', "t");
    let settings = serde_json::json!({
        "nodes": nodes,
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
    std::env::var_os("AKIN_TEST_CLUSTER").is_some()
}
