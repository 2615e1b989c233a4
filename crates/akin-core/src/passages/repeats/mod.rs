//! Exact-substring deduplication: spans of words that occur earlier in a corpus.
//!
//! Training corpora are deduplicated by removing every long span but its first occurrence (Lee et
//! al. 2022, "Deduplicating training data makes language models better", with a suffix array). Here
//! the corpus is read twice, in the same order, and long grams are sampled:
//!
//! 1. [`RepeatedGrams`] keeps every w-th gram of k words, an anchor, and marks the anchors that
//!    occur again later. With k = ⌈N / 2⌉ and w = N − k + 1 for spans of N words, every span of N
//!    words has exactly one anchor of its text.
//! 2. [`Repeats`] keeps the hash of every span of N words around a marked anchor, once, and looks
//!    up the spans with a gram that was the anchor of an earlier span.
//!
//! Where the texts with first occurrences do not matter, the second pass also keeps a hash of the
//! words of all w spans around an anchor: a later text with these words repeats all w spans.
//!
//! No list of occurrences is kept, so the time is linear, for any number of repetitions.
//! Memory: about 5 bytes for each anchor (so a fifth of a byte for each word of the corpus, for
//! N = 50), and about 10 bytes for each distinct span of N words around a marked anchor; with the
//! number of the text with the first occurrence ([`Repeats`]), about 15.
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

mod repeated;
mod table;

pub use repeated::{Repeat, RepeatedGrams, Repeats, SpanWordsError};

#[cfg(test)]
mod tests;
