//! akin: near-duplicate search as a service.
//!
//! Sets, sketches, keys, the index and joins are in the crate [`akin_core`], types that server
//! and commands share in [`akin_model`], collections of documents in [`akin_engine`].
//! The modules in reading order; each uses only those crates and the modules before it
//! (`tests/architecture.rs` checks that):
//!
//! - `trusted_file`: files with keys and certificates.
//! - [`http`]: the engine over HTTP.
//! - `config`, `telemetry`, `app`, [`cli`]: settings, logs, the server's start and stop, commands.

mod app;
pub mod cli;
mod config;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
pub mod http;
mod telemetry;
mod trusted_file;

pub use akin_engine::{backend, budget, engine, storage, stored};
pub use akin_model::document;

use akin_engine::background;
