//! Decontamination: which parts of training texts occur in an evaluation set.
//!
//! The grams of the evaluation texts, runs of 13 words by default (Brown et al. 2020, appendix C),
//! are indexed; training texts are streamed. Memory grows with the evaluation set only: 27 to 47
//! bytes for each distinct gram, and 4 bytes for each further text with the gram.
//!
//! # The promise
//! Every word of a training text is reported that is in a run of 13 (or the chosen number of) words
//! that an evaluation text has, too, word for word; and, up to collisions of 64-bit hashes, no
//! other word. Evaluation texts of fewer words can be compared as a whole.
//!
//! Some grams are boilerplate that many training texts have. They are ignored only if the caller
//! wants that: a first pass over the training texts counts them ([`DocumentCounts`]), and the
//! second pass ignores all grams that are too frequent ([`FrequentGrams`]). Two passes, because
//! counting along the way would treat the first training texts differently from the last.
//!
//! ```
//! use akin_core::passages::contamination::EvaluationSetBuilder;
//! use akin_core::text::{ShingleSettings, Shingler};
//!
//! let shingler = Shingler::new(ShingleSettings::default(), 0, usize::MAX);
//! let mut builder = EvaluationSetBuilder::new(5)?;
//! builder.add(shingler.words("What is the capital of the Republic of France?")?.hashes());
//! let evaluation = builder.build();
//!
//! let text = "Quiz night: what is the capital of the republic? Paris.";
//! let words = shingler.words(text)?;
//! let found = evaluation.scan(words.hashes());
//! assert_eq!(&text[words.bytes(found.spans[0].clone())], "what is the capital of the republic");
//! assert_eq!((found.covered, found.words, found.texts), (7, 10, vec![0]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod counts;
mod evaluation_set;

pub use counts::{DocumentCounts, FrequentGrams, GramShare};
pub use evaluation_set::{
    Contamination, EvaluationSet, EvaluationSetBuilder, EvaluationSetSize, GramWordsError,
};

#[cfg(test)]
mod tests;
