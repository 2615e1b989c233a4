//! Exact-substring deduplication: spans of words that occur earlier in a corpus.
//!
//! Training corpora are deduplicated by removing every long span but its first occurrence (Lee et
//! al. 2022, "Deduplicating training data makes language models better", with a suffix array). Here
//! the corpus is read twice, in the same order, and long grams are sampled by winnowing (Schleimer,
//! Wilkerson and Aiken 2003, "Winnowing: local algorithms for document fingerprinting"):
//!
//! 1. [`RepeatedGrams`] keeps the anchor of every span of N words: of its w grams of k words the
//!    gram with the lowest hash. It marks the anchors that occur again later. With k = ⌈N / 2⌉ a
//!    span has w = N − k + 1 grams. Equal spans have equal anchors, and neighbouring spans
//!    mostly have the same anchor.
//! 2. [`Repeats`] compares the words around each marked anchor with the words around its first
//!    occurrences before, which it keeps: the contexts of the anchor. Of an anchor that occurs in
//!    more contexts than are compared, such as a phrase of a licence in texts that differ around
//!    it, the hashes of all further spans are kept and looked up instead.
//!
//! No list of all occurrences is kept, so the time is linear, for any number of repetitions.
//! Memory: about 5 bytes for each distinct anchor (two of w + 1 grams are anchors, so 0.4 bytes for
//! each word of the corpus, for N = 50), 8 bytes for each word of a context, 16 for each context,
//! and about 15 bytes for each distinct span that is in no context.
//!
//! # The promise
//! A word is reported if, and up to collisions of 64-bit hashes only if, it is in a span of N words
//! that occurs earlier: in an earlier text, or in the same text, ending before the span begins. So
//! a text that repeats a period keeps the first span of N words or a little more, and of all equal
//! spans of N words the first is kept as long as its words are not in a repeat of an other span.
//!
//! ```
//! use akin_core::passages::repeats::RepeatedGrams;
//! use akin_core::text::{ShingleSettings, Shingler};
//!
//! let shingler = Shingler::new(ShingleSettings::default(), 0, usize::MAX);
//! let texts = [
//!     "All rights reserved. No part of this book may be reproduced in any form.",
//!     "Chapter one. No part of this book may be reproduced in any form, they say.",
//! ];
//! let mut grams = RepeatedGrams::new(10)?;
//! for text in texts {
//!     grams.add(shingler.words(text)?.hashes());
//! }
//! let mut repeats = grams.into_repeats();
//! assert!(repeats.find(0, shingler.words(texts[0])?.hashes()).is_empty());
//! let words = shingler.words(texts[1])?;
//! let found = repeats.find(1, words.hashes());
//! assert_eq!(
//!     &texts[1][words.bytes(found[0].words.clone())],
//!     "No part of this book may be reproduced in any form",
//! );
//! assert_eq!(found[0].first_in, [0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod anchors;
mod contexts;
mod repeated;
mod table;

pub use repeated::{Repeat, RepeatedGrams, Repeats, SpanWordsError};

#[cfg(test)]
mod tests;
