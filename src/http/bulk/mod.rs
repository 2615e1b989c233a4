//! Bulk import: a stream of documents in, a stream of results out.

pub mod array;
pub mod import;
pub mod intake;
pub mod ndjson;
pub mod report;
pub mod split;
