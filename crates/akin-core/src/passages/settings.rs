//! The guaranteed length of a run, and the anchors that follow from it.

use super::grams::{each_gram, gram, key};
use crate::scheme::Key;

/// Words of a gram. Shorter grams flood a search with candidates; longer grams are lost more often
/// to a changed word.
pub(super) const GRAM_WORDS: usize = 8;

/// Words of a block: comparing a block takes a fraction of a millisecond.
const BLOCK_WORDS: usize = 4_096;

/// The guaranteed lengths of runs that settings allow.
const RUN_WORDS: std::ops::RangeInclusive<usize> = 13..=100;

/// The length of the runs that are always found, in words.
///
/// Grams have k = 8 words. A text is indexed under every w-th of its grams, its **anchors**, with
/// w = L₀ − k + 1 for a guaranteed length of L₀ words. So the number of postings of a text of n
/// words is about n / w.
///
/// ```
/// use akin_core::passages::PassageSettings;
///
/// assert_eq!(PassageSettings::default().run_words(), 32);
/// assert_eq!(PassageSettings::new(20)?.run_words(), 20);
/// let error = PassageSettings::new(5).unwrap_err();
/// assert_eq!(error.to_string(), "the words of a passage must be from 13 to 100, not 5");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassageSettings {
    run_words: usize,
    /// Words of a block, where the text can be cut there.
    pub(super) block_words: usize,
}

/// A length that [`PassageSettings::new`] refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the words of a passage must be from {} to {}, not {found}",
    RUN_WORDS.start(),
    RUN_WORDS.end()
)]
pub struct RunWordsError {
    /// The refused length.
    pub found: usize,
}

impl Default for PassageSettings {
    fn default() -> Self {
        Self { run_words: 32, block_words: BLOCK_WORDS }
    }
}

impl PassageSettings {
    /// Every run of `run_words` words, 13 to 100, is found.
    ///
    /// # Errors
    /// [`RunWordsError`] for another length.
    pub fn new(run_words: usize) -> Result<Self, RunWordsError> {
        let is_allowed = RUN_WORDS.contains(&run_words);
        is_allowed
            .then_some(Self { run_words, ..Self::default() })
            .ok_or(RunWordsError { found: run_words })
    }

    /// L₀: the length of the runs that are always found.
    pub fn run_words(self) -> usize {
        self.run_words
    }

    /// w: of this many consecutive grams one is an anchor.
    pub(super) fn stride(self) -> usize {
        self.run_words - GRAM_WORDS + 1
    }

    /// The distinct keys of a sequence of words: the keys of its anchors. A sequence of fewer than
    /// w grams has one anchor, in the middle; a sequence of fewer than k words is a single gram.
    pub(super) fn keys(self, words: &[u64]) -> Vec<Key> {
        if words.len() < GRAM_WORDS {
            let is_any = !words.is_empty();
            return is_any.then(|| key(gram(words))).into_iter().collect();
        }
        let (grams, stride) = (words.len() - GRAM_WORDS + 1, self.stride());
        let first = if grams < stride { grams / 2 } else { stride - 1 };
        let mut keys = Vec::with_capacity(grams / stride + 1);
        let mut next = first;
        each_gram(words, GRAM_WORDS, |at, gram| {
            if at == next {
                keys.push(key(gram));
                next += stride;
            }
        });
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// The probability that a passage of `words` words is found if each word was kept with a
    /// probability of `kept`, 0 to 1, independently: p = 1 − (1 − q)^⌊x⌋ · (1 − (x − ⌊x⌋) q), with
    /// q = kept^k for an anchor without a change and x = (words − k + 1) / w anchors in the
    /// passage.
    ///
    /// The stored text around the passage is assumed to be long: texts of fewer than w grams have
    /// an anchor each, however short they are.
    ///
    /// ```
    /// use akin_core::passages::PassageSettings;
    ///
    /// let settings = PassageSettings::default();
    /// assert_eq!(settings.chance(32, 1.0), 1.0);
    /// assert_eq!((settings.chance(100, 0.9) * 100.0).round(), 87.0);
    /// ```
    pub fn chance(self, words: usize, kept: f64) -> f64 {
        let anchors = (words + 1).saturating_sub(GRAM_WORDS) as f64 / self.stride() as f64;
        let unchanged = kept.clamp(0.0, 1.0).powi(GRAM_WORDS as i32);
        let missed = (1.0 - unchanged).powf(anchors.floor());
        1.0 - missed * (1.0 - anchors.fract() * unchanged)
    }
}
