//! akin over a Valkey or Redis Cluster, on nodes of its own.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod at_once;
mod discoveries;
mod faults;
mod histories;
mod leases;
mod load;
mod moving;
mod nodes;
#[path = "../../crates/akin-core/benches/corpus/numbers.rs"]
mod numbers;
mod remains;
mod replacing;
mod servers;
#[path = "../serving/mod.rs"]
mod serving;
#[path = "../valkey_nodes/mod.rs"]
mod valkey_nodes;
