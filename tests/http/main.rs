//! The HTTP contract, in process and, where streaming matters, over a real socket.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod access;
mod adversaries;
mod app;
mod backends;
mod backup;
mod bulk;
mod changes;
mod client_shares;
mod clusters;
mod collapse;
mod collections;
mod conformance;
mod connections;
mod console;
mod contained;
mod containment;
mod contract;
mod costs;
mod curve;
mod decoys;
mod discovery;
mod documents;
mod failing;
mod fuzz;
mod highlights;
mod lifecycle;
mod limits;
mod lookups;
mod measures;
mod memory;
mod nearest;
#[path = "../not_run/mod.rs"]
mod not_run;
#[path = "../../crates/akin-core/benches/corpus/numbers.rs"]
mod numbers;
mod openapi;
mod operating;
mod options;
mod pages;
mod passages;
mod places;
#[path = "../postgres_server/mod.rs"]
mod postgres_server;
mod previous;
mod recall;
mod records;
mod refusals;
mod reindex;
mod schema;
mod signatures;
mod socket;
#[path = "../store_under_test/mod.rs"]
mod store_under_test;
mod thresholds;
mod transport;
