//! What the server, the commands and the clients of akin say to each other.
//!
//! Each type is here once: the server writes it, commands read it, and `openapi.yaml` describes it.
//! The crate has neither I/O nor a clock. In reading order:
//!
//! - [`document`]: a document with its id, content, metadata and expiry.
//! - [`time`]: times as RFC 3339.
//! - [`name`]: names of collections.
//! - [`settings`]: the settings of a collection.
//! - [`problem`]: why a request failed.
//! - [`clusters`]: clusters, and what may be missing in them.
//! - [`reindex`]: how far a reindex is.

pub mod clusters;
pub mod document;
pub mod name;
pub mod problem;
pub mod reindex;
pub mod settings;
pub mod time;
