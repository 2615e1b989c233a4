//! akin: near-duplicate search as a service.
//!
//! Sets, sketches, keys, the index and joins are in the crate [`akin_core`], what server, commands
//! and clients say to each other in [`akin_model`]. The modules of the
//! server in reading order; each uses only the core and the modules before it
//! (`tests/architecture.rs` checks that):
//!
//! - [`budget`]: the memory that requests may take together.
//! - `trusted_file`: files with keys and certificates.
//! - `background`: threads of lower priority, for long work.
//! - [`stored`]: stored documents and changes, as plain data.
//! - [`storage`]: documents, operation log and snapshots on disk.
//! - [`backend`]: the seam between the product and its data.
//! - [`engine`]: the product: documents, lookups, discoveries, clusters.
//! - [`http`]: the engine over HTTP.
//! - `config`, `telemetry`, `app`, [`cli`]: settings, logs, the server's start and stop, commands.

mod app;
pub mod backend;
mod background;
pub mod budget;
pub mod cli;
mod config;
pub use akin_model::document;
pub mod engine;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
pub mod http;
pub mod storage;
pub mod stored;
mod telemetry;
mod trusted_file;
