//! Many documents at once: a stream of them in, a stream of what became of them out.

pub mod array;
pub mod import;
pub mod intake;
pub mod ndjson;
pub mod split;
