//! Types that the server and the commands of akin share.
//!
//! Server and commands read and write these types as JSON, and `openapi.yaml` describes them. The
//! server's other replies are in its own module `http::response`.
//! The crate has neither I/O nor a clock. In reading order:
//!
//! - [`document`]: a document with its id, content, metadata and expiry.
//! - [`content`]: contents in JSON.
//! - [`json`]: any JSON.
//! - [`value_end`]: where a JSON value ends.
//! - [`time`]: times as RFC 3339.
//! - [`timed`]: a result with the time that it took.
//! - [`name`]: names of collections.
//! - [`settings`]: the settings of a collection.
//! - [`analysis`]: from contents to sets, sketches and joins.
//! - [`similarity`]: how similar two documents are; matches and pairs.
//! - [`passages`]: passages that documents share.
//! - [`answer`]: the answers to lookups and to additions.
//! - [`stats`]: collections and their sizes.
//! - [`problem`]: why a request failed.
//! - [`clusters`]: clusters, and the documents that may be missing in them.
//! - [`reindex`]: how far a reindex is.

pub mod analysis;
pub mod answer;
pub mod clusters;
pub mod content;
pub mod document;
pub mod json;
pub mod name;
pub mod passages;
pub mod problem;
pub mod reindex;
pub mod settings;
pub mod similarity;
pub mod stats;
pub mod time;
pub mod timed;
pub mod value_end;
