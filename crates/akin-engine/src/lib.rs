//! The engine of akin: collections of documents, without HTTP.
//!
//! Sets, sketches, keys, the index and joins are in [`akin_core`]; documents and settings are in
//! [`akin_model`]. The modules in reading order; each uses only the modules before it
//! (`tests/architecture.rs` checks that):
//!
//! - [`budget`]: the memory that requests may take together.
//! - [`background`]: threads of lower priority, for long work.
//! - [`stored`]: stored documents and changes, as plain data.
//! - [`storage`]: documents, operation log and snapshots on disk.
//! - [`backend`]: the seam between the engine and its data.
//! - [`engine`]: the product: documents, lookups, discoveries, clusters.

pub mod backend;
pub mod background;
pub mod budget;
pub mod engine;
pub mod storage;
pub mod stored;

use akin_model::document;
