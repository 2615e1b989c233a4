//! The HTTP contract, in process and, where streaming matters, over a real socket.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod app;
mod backup;
mod bulk;
mod collections;
mod documents;
mod failing;
mod fuzz;
mod limits;
mod lookups;
mod openapi;
mod operating;
mod refusals;
mod socket;
mod transport;
