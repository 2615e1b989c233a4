//! Rules for records that are not documents, and for empty and short documents.

use clap::{Args, ValueEnum};

use crate::failure::Failure;
use akin_core::text::{ShingleSettings, Shingler, Unit};
use akin_model::document::Content;

/// Options of every command that reads documents, but for `akin demo`.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct Screening {
    /// What to do with records that cannot be read as documents
    #[arg(long, value_name = "WHAT", default_value = "fail")]
    pub on_invalid: OnInvalid,
    /// Leave out documents with nothing to compare: their text is null, empty or without a word
    #[arg(long)]
    pub drop_empty: bool,
    /// Leave out texts with fewer words, as a reader counts them (1.6 letters of Han are a word)
    #[arg(long, value_name = "N", default_value = "0", hide_default_value = true)]
    pub min_words: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OnInvalid {
    /// Report them and fail: the command writes nothing; an import sends the valid records
    #[default]
    Fail,
    /// Report, count and leave them out
    Skip,
    /// Report, count and copy them unchanged; only for dedup and decontaminate
    Keep,
}

impl Screening {
    /// # Errors
    /// `--on-invalid keep`, which only dedup and decontaminate support.
    pub fn refuse_keeping(&self) -> Result<(), Failure> {
        if self.on_invalid != OnInvalid::Keep {
            return Ok(());
        }
        Err(Failure::with_hint(
            "--on-invalid keep is only for dedup and decontaminate, which copy records",
            "skip leaves out invalid records, and fail stops at them",
        ))
    }
}

/// Counts words by the default settings of shingles.
#[derive(Debug)]
pub struct WordCounter {
    shingler: Shingler,
    min: usize,
}

impl WordCounter {
    pub fn new(min: usize) -> Self {
        let settings = ShingleSettings { unit: Unit::Word, size: 1, ..ShingleSettings::default() };
        Self { shingler: Shingler::new(settings, 0, usize::MAX), min }
    }

    /// Whether a text has too few words, but some. Other contents have no words to count.
    pub fn is_short(&self, content: &Content) -> bool {
        let Content::Text(text) = content else { return false };
        if self.min == 0 {
            return false;
        }
        let words = self.shingler.words(text).unwrap_or_default();
        !words.is_empty() && words.readers_words(text, 0..words.len()) < self.min
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_texts_have_few_words() {
        let is_short =
            |text: &str, min| WordCounter::new(min).is_short(&Content::Text(text.into()));
        assert!(is_short("two words", 3) && !is_short("two words", 2));
        assert!(!is_short("one", 0) && is_short("don't", 2));
        assert!(!is_short(" . ", 1), "it is empty, not short");
        assert!(
            is_short("我们的世界", 4) && !is_short("我们的世界", 3),
            "3.1 words of 1.6 letters"
        );
        assert!(is_short("a a a", 4) && !is_short("a a a", 3), "words may repeat");
    }
}
