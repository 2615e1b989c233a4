//! A handler is extract → one engine call → reply.

pub mod backup;
pub mod changes;
pub mod collapse;
pub mod collections;
pub mod curve;
pub mod discovery;
pub mod document;
pub mod documents;
pub mod fetch;
pub mod health;
pub mod metrics;
pub mod openapi;
pub mod passages;
pub mod recall;
pub mod reindex;
pub mod removal;
pub mod resemblance;
pub mod similar;
pub mod snapshots;
pub mod stats;
