//! akin: near-duplicate search as a service.
//!
//! The modules in reading order; each may use only those before it (`tests/architecture.rs` holds
//! them to it):
//!
//! - [`document`]: id, content, metadata.
//! - [`budget`]: the memory that requests may take together.
//! - [`connector`]: connections to other servers, and whom they trust.
//! - [`simd`]: the inner loops that vector instructions speed up.
//! - [`text`]: text → tokens → shingles → set.
//! - [`sketch`]: set → sketch, and what two sketches say of the resemblance of their sets.
//! - [`measure`]: exact resemblance and containment of two sets, points of two records.
//! - [`scheme`]: the keys a sketch is filed and looked up under, and how many of them a wanted
//!   recall takes.
//! - [`index`]: key → postings, in memory, concurrent.
//! - [`join`]: discovery: all pairs and clusters of a corpus.
//! - [`storage`]: what survives a crash: documents, operation log, snapshots.
//! - [`backend`]: the seam between the product and where its documents live.
//! - [`engine`]: the product: add, similar, compare, remove, snapshot.
//! - [`http`]: the engine over HTTP.
//! - `config`, `telemetry`, `app`, [`cli`]: composition.

mod app;
pub mod backend;
pub mod budget;
pub mod cli;
mod config;
pub mod connector;
pub mod document;
pub mod engine;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
pub mod http;
pub mod index;
pub mod join;
pub mod measure;
pub mod scheme;
pub mod simd;
pub mod sketch;
pub mod storage;
mod telemetry;
pub mod text;
