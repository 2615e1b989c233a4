//! Passages: which texts contain a run of a probe's words, where, and how much of it.
//!
//! Words are normalised and cut as for shingles of words. A **gram** is k = 8 consecutive words. A
//! text is indexed under every w-th of its grams, its **anchors**, and a probe looks up all its
//! grams. For a guaranteed length of L₀ words, w = L₀ − k + 1: each run of L₀ words has w
//! consecutive grams, so one of them is an anchor. This fixed stride takes half as many postings as
//! winnowing (Schleimer, Wilkerson and Aiken 2003) with the same guarantee. Postings have no
//! positions, because the anchors of a run are w apart in the probe, too, which bounds the words
//! that a text can share with the probe; candidates are compared in the order of that bound.
//!
//! # The promise
//! Of a search that is not `truncated`:
//!
//! - Every document that shares a run of L₀ words with the probe is found, and all words of the run
//!   are in passages of the match, in the probe and in the document. L₀ is 32 by default, and 13 to
//!   100 by [`PassageSettings::new`].
//! - A document of fewer than L₀ words, but at least one, is found if the probe has all its words
//!   in a row. If a probe has part of it only, nothing is promised.
//! - A probe of fewer than L₀ words is promised nothing but the documents that it contains as a
//!   whole. Its own passages of at least 8 words may be found: [`PassageSettings::chance`].
//! - A run of fewer words, and a run with changed words, is found with the probability
//!   [`PassageSettings::chance`], and reported if its passage has
//!   [`words_min`](PassageLimits::words_min) equal words.
//! - No match is false, up to collisions of 64-bit hashes of words: words are compared one by one.
//!
//! # Entries
//! The index has an **entry** for each distinct sequence of words: documents with equal words share
//! an entry. A text of more than 4,096 words is divided into blocks, each with an entry, that
//! overlap by L₀ − 1 words. [`BlockIndex`] is the index, without texts: its caller reads the texts
//! of the candidates. [`PassageIndex`] keeps texts in memory.
//!
//! [`contamination`] finds parts of training texts that are in an evaluation set, and [`repeats`]
//! finds spans that a corpus repeats.

mod block_index;
mod blocks;
mod candidates;
mod comparison;
pub mod contamination;
mod coverage;
mod entries;
mod grams;
mod kept_words;
mod locate;
mod passage_index;
pub mod repeats;
mod runs;
mod search;
mod settings;

pub use block_index::{BlockIndex, BlockIndexStats};
pub use blocks::{BlockPlace, TextBlocks};
pub use candidates::PassageCandidate;
pub use comparison::{Passage, PassageComparison, WordShare};
pub use locate::{Span, block_words, locate};
pub use passage_index::{MatchedPassage, MatchingText, PassageIndex, PassageMatches};
pub use search::{BlockSearch, PassageLimits, SearchMatch, SearchResult};
pub use settings::{PassageSettings, RunWordsError};

#[cfg(test)]
mod tests;
