//! Text → tokens → shingles → set.

mod characters;
mod classes;
mod hash;
mod set;
mod words;

pub use set::ShingleSet;

use std::ops::Range;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::document::{Content, Token};

use self::characters::Normalised;
use self::hash::{UNITS_MAX, WordHasher, combine_in_place, combine_whole};
use self::words::for_each_word;

/// What a shingle is made of. Decides what is stored: fixed for a collection's life.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShingleSettings {
    pub unit: Unit,
    /// How many units make a shingle: 1..=64.
    pub size: u32,
    pub lowercase: bool,
}

impl ShingleSettings {
    /// What is wrong with the settings, a sentence a fault that starts with the key's name.
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        if (1..=UNITS_MAX as u32).contains(&self.size) {
            return Vec::new();
        }
        vec![format!("size must be from 1 to {UNITS_MAX}, not {}", self.size)]
    }
}

impl Default for ShingleSettings {
    fn default() -> Self {
        Self { unit: Unit::Word, size: 3, lowercase: true }
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
}

/// Cuts contents into sets.
#[derive(Clone, Debug)]
pub struct Shingler {
    settings: ShingleSettings,
    seed: u64,
}

/// A content's set, and how it came about.
#[derive(Clone, Debug)]
pub struct Shingled {
    pub set: ShingleSet,
    /// The text was shorter than one shingle, so the whole of it became the only one.
    pub whole_document: bool,
}

/// The content has no word, no character, no token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the document is empty: it has nothing to make a shingle of")]
pub struct EmptyDocument;

/// The shingles of a text in its order, and the number of units they were made of.
struct Cut {
    shingles: Vec<u64>,
    units: usize,
}

impl Shingler {
    /// # Panics
    /// If the settings have [`ShingleSettings::faults`].
    #[must_use]
    pub fn new(settings: ShingleSettings, seed: u64) -> Self {
        assert!(settings.faults().is_empty(), "{:?}", settings.faults());
        Self { settings, seed }
    }

    /// # Errors
    /// [`EmptyDocument`] if there is nothing to make a shingle of.
    pub fn shingle(&self, content: &Content) -> Result<Shingled, EmptyDocument> {
        match content {
            Content::Text(text) => self.text(text),
            Content::Tokens(tokens) => self.tokens(tokens),
        }
    }

    /// A text with fewer units than a shingle has becomes one shingle.
    ///
    /// # Errors
    /// [`EmptyDocument`] for a text without a unit.
    pub fn text(&self, text: &str) -> Result<Shingled, EmptyDocument> {
        let Cut { shingles, units } = self.cut(text, |_| ());
        let set = ShingleSet::from_shingles(shingles).ok_or(EmptyDocument)?;
        Ok(Shingled { set, whole_document: units < self.size() })
    }

    /// The set of the tokens as they are: neither lowercased nor joined, and however often they
    /// occur.
    ///
    /// # Errors
    /// [`EmptyDocument`] for no tokens.
    pub fn tokens(&self, tokens: &[Token]) -> Result<Shingled, EmptyDocument> {
        let elements =
            tokens.iter().map(|token| xxh3_64_with_seed(token.text.as_bytes(), self.seed));
        let set = ShingleSet::from_shingles(elements.collect()).ok_or(EmptyDocument)?;
        Ok(Shingled { set, whole_document: false })
    }

    /// Every shingle of the text in order, repetitions and all: what the set is made of.
    #[must_use]
    pub fn shingles(&self, text: &str) -> Vec<u64> {
        self.cut(text, |_| ()).shingles
    }

    /// Every shingle of the text in order, with the bytes of the text that it covers: from the
    /// first of its first unit to the last of its last.
    pub fn spans(&self, text: &str, mut visit: impl FnMut(u64, Range<usize>)) {
        let mut places = Vec::new();
        let cut = self.cut(text, |place| places.push(place));
        let last = self.size().min(cut.units).saturating_sub(1);
        let spans = places.iter().zip(places.iter().skip(last));
        for (shingle, (first, last)) in cut.shingles.into_iter().zip(spans) {
            visit(shingle, first.start..last.end);
        }
    }

    /// Units in a shingle.
    fn size(&self) -> usize {
        self.settings.size as usize
    }

    /// Visits the place of each unit on the way, so that sets and spans are cut by the same code.
    fn cut(&self, text: &str, visit: impl FnMut(Range<usize>)) -> Cut {
        match self.settings.unit {
            Unit::Word => self.cut_words(text, visit),
            Unit::Character => self.cut_characters(text, visit),
        }
    }

    fn cut_words(&self, text: &str, mut visit: impl FnMut(Range<usize>)) -> Cut {
        // English has a word in six bytes; a guess too low costs one more allocation.
        let mut hashes = Vec::with_capacity(text.len() / 6 + 1);
        let words = WordHasher::new(self.settings.lowercase, self.seed);
        for_each_word(text, self.settings.lowercase, words, |hash, place| {
            hashes.push(hash);
            visit(place);
        });
        let units = hashes.len();
        if units >= self.size() {
            combine_in_place(&mut hashes, self.size());
        } else if units > 0 {
            hashes = vec![combine_whole(&hashes)];
        }
        Cut { shingles: hashes, units }
    }

    fn cut_characters(&self, text: &str, visit: impl FnMut(Range<usize>)) -> Cut {
        let normalised = Normalised::new(text, self.settings.lowercase, visit);
        let units = normalised.count();
        // A text with fewer characters is one window, and no window of others has as few.
        let size = self.size().min(units.max(1));
        Cut { shingles: normalised.shingles(size, self.seed), units }
    }
}

#[cfg(test)]
mod golden;
#[cfg(test)]
mod tests;
