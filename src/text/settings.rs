//! How contents are cut.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::equivalents::Equivalents;
use super::hash::UNITS_MAX;
use super::normalize::Normalize;
use super::stop_words::{StopWords, WrittenStopWords};
use super::words::TextRules;
use crate::simd::WordMix;

const SAMPLE_MODULO_MAX: u32 = 65_536;

/// How texts are cut into shingles. Decides what is stored: fixed for a collection's life.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ShingleSettings {
    pub unit: Unit,
    /// How many units make a shingle.
    #[schema(minimum = 1, maximum = 64)]
    pub size: u32,
    /// Ignore the difference between upper and lower case.
    pub lowercase: bool,
    /// Unicode normalisation of texts and fields before they are cut. Ready-made tokens are never
    /// normalised.
    pub normalize: Normalize,
    pub word_hash: WordHash,
    /// Count repetitions: each occurrence of a shingle is an element of its own, so the Jaccard
    /// similarity is that of bags, Σmin / Σmax of the counts.
    pub multiset: bool,
    /// Keep a sample of each text's shingles, one of this many on average: those whose hash is 0
    /// modulo this. Ready-made tokens are all kept.
    #[schema(minimum = 1, maximum = 65_536)]
    pub sample_modulo: u32,
    /// For the unit `stopword`: the words that shingles begin with.
    #[schema(value_type = WrittenStopWords)]
    pub stopwords: StopWords,
    /// For the unit `field`: groups of words and whole values that mean the same.
    #[serde(skip_serializing_if = "Equivalents::is_empty")]
    pub equivalents: Equivalents,
}

impl ShingleSettings {
    /// What is wrong with the settings, a sentence a fault that starts with the key's name.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if !(1..=UNITS_MAX as u32).contains(&self.size) {
            faults.push(format!("size must be from 1 to {UNITS_MAX}, not {}", self.size));
        }
        if !(1..=SAMPLE_MODULO_MAX).contains(&self.sample_modulo) {
            faults.push(format!(
                "sample_modulo must be from 1 to {SAMPLE_MODULO_MAX}, not {}",
                self.sample_modulo
            ));
        }
        if self.unit != Unit::Field && !self.equivalents.is_empty() {
            faults.push("equivalents are for the unit field only".to_owned());
        }
        faults.extend(self.stopwords.fault(self.rules()));
        faults.extend(self.equivalents.faults(self.rules()));
        faults
    }

    pub(super) fn word_mix(&self, seed: u64) -> WordMix {
        match self.word_hash {
            WordHash::Keyed => WordMix::keyed(seed),
            WordHash::Unkeyed => WordMix::Unkeyed { seed },
        }
    }

    pub(super) fn rules(&self) -> TextRules {
        TextRules::new(self.normalize, self.lowercase)
    }
}

impl Default for ShingleSettings {
    fn default() -> Self {
        Self {
            unit: Unit::Word,
            size: 3,
            lowercase: true,
            normalize: Normalize::Nfkc,
            word_hash: WordHash::Keyed,
            multiset: false,
            sample_modulo: 1,
            stopwords: StopWords::default(),
            equivalents: Equivalents::default(),
        }
    }
}

/// The hash function of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WordHash {
    /// Nobody who does not know the sketch's seed can choose words whose hashes collide.
    Keyed,
    /// Words that collide are easily found; kept for existing collections.
    Unkeyed,
}

/// What a shingle is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ShingleUnit)]
pub enum Unit {
    /// Runs of letters, marks and digits of any script, with the apostrophes between them; in
    /// scripts that are written without spaces (Han, Kana, Thai, Lao, Khmer, Burmese, Javanese …)
    /// single letters with their marks. A hyphen separates words, with a line break or without.
    Word,
    /// Unicode characters, with each run of white space a single space.
    Character,
    /// Words, but only shingles that begin with a stop word: prose is full of them, navigation
    /// and advertisements have hardly any, so that pages are compared by their articles
    /// (Theobald, Siddharth and Paepcke 2008).
    Stopword,
    /// Pieces between white space as they are, punctuation and all. With size 1 each is the
    /// element that it would be as a ready-made token.
    Token,
    /// The fields of records, each as a whole; there are no shingles of several. Texts and tokens
    /// are refused.
    Field,
}
