//! How contents are cut.

use serde::{Deserialize, Serialize};

use super::equivalents::Equivalents;
use super::hash::UNITS_MAX;
use super::stop_words::StopWords;

const SAMPLE_MODULO_MAX: u32 = 65_536;

/// What a shingle is made of. Decides what is stored: fixed for a collection's life.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ShingleSettings {
    pub unit: Unit,
    /// How many units make a shingle: 1..=64.
    pub size: u32,
    pub lowercase: bool,
    /// Each occurrence of a shingle is an element of its own, so that the resemblance of sets is
    /// that of bags: Σmin / Σmax of the counts.
    pub multiset: bool,
    /// Of a text's shingles only those are kept that are 0 modulo this: 1..=65536. Ready-made
    /// tokens are all kept.
    pub sample_modulo: u32,
    /// The words that shingles of the unit `stopword` begin with; other units do without.
    pub stopwords: StopWords,
    /// What means the same in the fields of records; other units have none.
    #[serde(skip_serializing_if = "Equivalents::is_empty")]
    pub equivalents: Equivalents,
}

impl ShingleSettings {
    /// What is wrong with the settings, a sentence a fault that starts with the key's name.
    #[must_use]
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
        faults.extend(self.equivalents.faults(self.lowercase));
        faults
    }
}

impl Default for ShingleSettings {
    fn default() -> Self {
        Self {
            unit: Unit::Word,
            size: 3,
            lowercase: true,
            multiset: false,
            sample_modulo: 1,
            stopwords: StopWords::default(),
            equivalents: Equivalents::default(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Runs of letters, marks and digits of any script; in scripts that are written without
    /// spaces (Han, Kana, Thai, Lao, Khmer, Burmese) single letters.
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
