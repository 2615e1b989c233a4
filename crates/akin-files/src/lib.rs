//! Documents of files, and the work on them without a server.
//!
//! A library without async, HTTP and SQL: settings and analyses come from [`akin_model`], sketches
//! and joins from [`akin_core`]. The modules in reading order; each uses only the modules before it
//! (`tests/architecture.rs` checks that):
//!
//! - [`failure`], [`failures`], [`feature`]: the failures of a command, and their remedies.
//! - [`interrupt`], [`memory`], [`meter`]: the process: unfinished files, memory, progress.
//! - [`input`]: from paths to documents, in every format.
//! - [`output`]: where commands write.
//! - [`offline`]: near-duplicates among documents in temporary files.
//! - [`corpus`]: from files to a corpus, and threads that work on documents in order.
//! - [`templates`], [`dedup`], [`pairs`], [`evaluate`], [`decontaminate`], [`passages`],
//!   [`sketch`]: the commands.

pub mod corpus;
pub mod decontaminate;
pub mod dedup;
pub mod evaluate;
pub mod failure;
pub mod failures;
pub mod feature;
#[cfg(any(test, fuzzing, feature = "fuzzing"))]
pub mod fuzzing;
pub mod input;
pub mod interrupt;
pub mod memory;
pub mod meter;
pub mod offline;
pub mod output;
pub mod pairs;
pub mod passages;
pub mod sketch;
pub mod templates;
