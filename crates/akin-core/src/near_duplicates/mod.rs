//! Near-duplicate texts in memory: an index of texts, and the deduplication of a list.
//!
//! This module composes the other modules. A text becomes a [`ShingleSet`](crate::text::ShingleSet)
//! and a [`Sketch`](crate::sketch::Sketch). The keys of the sketch find candidates in an
//! [`Index`](crate::index::Index) or a [`Join`](crate::join::Join), and the sets of the candidates
//! are compared exactly. To store sketches or to limit queries, compose those modules yourself, as
//! akin's server does.

mod deduplicate;
mod settings;
mod text_index;

pub use deduplicate::{DeduplicateError, Deduplicated, deduplicate};
pub use settings::{MatchSettings, SettingsError};
pub use text_index::{TextIndex, TextMatch};

#[cfg(test)]
mod tests;
