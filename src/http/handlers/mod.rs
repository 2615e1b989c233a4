//! A handler is extract → one engine call → reply.

pub mod backup;
pub mod changes;
pub mod clusters;
pub mod collapse;
pub mod collections;
pub mod curve;
pub mod discovery;
pub mod document;
pub mod documents;
pub mod fetch;
pub mod operate;
pub mod recall;
pub mod reindex;
pub mod removal;
pub mod resemblance;
pub mod similar;
