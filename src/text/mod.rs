//! Text → tokens → shingles → set.

mod characters;
mod classes;
mod cut;
mod hash;
mod set;
mod settings;
mod stop_words;
mod words;

pub use set::ShingleSet;
pub use settings::{ShingleSettings, Unit};
pub use stop_words::{StopWords, StopWordsError};

use std::ops::Range;

use crate::document::{Content, Token};

use self::cut::Cutter;
use self::hash::token_element;

/// Cuts contents into sets.
#[derive(Clone, Debug)]
pub struct Shingler {
    cutter: Cutter,
    seed: u64,
}

/// A content's set, and how it came about.
#[derive(Clone, Debug)]
pub struct Shingled {
    pub set: ShingleSet,
    /// The text was shorter than one shingle or had no stop word to begin one, so the whole of it
    /// became the only one.
    pub whole_document: bool,
}

/// The content has no word, no character, no token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the document is empty: it has nothing to make a shingle of")]
pub struct EmptyDocument;

impl Shingler {
    /// # Panics
    /// If the settings have [`ShingleSettings::faults`].
    #[must_use]
    pub fn new(settings: ShingleSettings, seed: u64) -> Self {
        assert!(settings.faults().is_empty(), "{:?}", settings.faults());
        Self { cutter: Cutter::new(settings, seed), seed }
    }

    /// # Errors
    /// [`EmptyDocument`] if there is nothing to make a shingle of.
    pub fn shingle(&self, content: &Content) -> Result<Shingled, EmptyDocument> {
        match content {
            Content::Text(text) => self.text(text),
            Content::Tokens(tokens) => self.tokens(tokens),
        }
    }

    /// A text that has no shingle becomes one as a whole.
    ///
    /// # Errors
    /// [`EmptyDocument`] for a text without a unit.
    pub fn text(&self, text: &str) -> Result<Shingled, EmptyDocument> {
        let cut = self.cutter.cut(text, |_| ());
        let set = ShingleSet::from_shingles(cut.shingles).ok_or(EmptyDocument)?;
        Ok(Shingled { set, whole_document: cut.whole_document })
    }

    /// The set of the tokens as they are: neither lowercased nor joined, and however often they
    /// occur.
    ///
    /// # Errors
    /// [`EmptyDocument`] for no tokens.
    pub fn tokens(&self, tokens: &[Token]) -> Result<Shingled, EmptyDocument> {
        let elements = tokens.iter().map(|token| token_element(&token.text, self.seed));
        let set = ShingleSet::from_shingles(elements.collect()).ok_or(EmptyDocument)?;
        Ok(Shingled { set, whole_document: false })
    }

    /// Every shingle of the text in order, repetitions and all: what the set is made of.
    #[must_use]
    pub fn shingles(&self, text: &str) -> Vec<u64> {
        self.cutter.cut(text, |_| ()).shingles
    }

    /// Every shingle of the text in order, with the bytes of the text that it covers: from the
    /// first of its first unit to the last of its last.
    pub fn spans(&self, text: &str, mut visit: impl FnMut(u64, Range<usize>)) {
        let mut places = Vec::new();
        let cut = self.cutter.cut(text, |place| places.push(place));
        for (number, &shingle) in cut.shingles.iter().enumerate() {
            let units = cut.units_of(number);
            visit(shingle, places[units.start].start..places[units.end - 1].end);
        }
    }
}

#[cfg(test)]
mod golden;
#[cfg(test)]
mod tests;
