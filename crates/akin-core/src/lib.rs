#![doc = include_str!("../README.md")]
//!
//! # Modules
//! In reading order; each uses only the modules before it:
//!
//! - [`document`]: the id, the number and the content of a document.
//! - [`simd`]: the inner loops, with vector instructions; the only unsafe code.
//! - [`text`]: text → tokens → shingles → set.
//! - [`measure`]: exact similarities of sets, bags, strings and records.
//! - [`sketch`]: set → MinHash sketch; the estimate of a similarity from two sketches.
//! - [`scheme`]: sketch → keys, and the number of keys to look up for a wanted recall.
//! - [`index`]: key → sets, sharded for many threads.
//! - [`join`]: all pairs and clusters of a corpus.
//! - [`passages`]: which texts contain a part of a text, and where.

pub mod document;
pub mod index;
pub mod join;
pub mod measure;
pub mod passages;
pub mod scheme;
pub mod simd;
pub mod sketch;
pub mod text;

#[doc(inline)]
pub use measure::Overlap;
#[doc(inline)]
pub use passages::{PassageIndex, PassageSettings};
#[doc(inline)]
pub use sketch::{Estimate, Estimator, Sketch, Sketcher};
#[doc(inline)]
pub use text::{ShingleError, ShingleSet, Shingler, Unit};
