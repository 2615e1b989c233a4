//! Text → tokens → shingles → set.

mod set;

pub use set::ShingleSet;

use serde::{Deserialize, Serialize};
use std::ops::Range;

use crate::document::{Content, Token};

/// What a shingle is made of. Decides what is stored: fixed for a collection's life.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShingleSettings {
    pub unit: Unit,
    /// How many units make a shingle: 1..=64.
    pub size: u32,
    pub lowercase: bool,
}

impl Default for ShingleSettings {
    fn default() -> Self {
        Self { unit: Unit::Word, size: 3, lowercase: true }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    Word,
    Character,
}

/// Cuts contents into sets.
#[derive(Clone, Debug)]
pub struct Shingler {
    _settings: ShingleSettings,
    _seed: u64,
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

impl Shingler {
    #[must_use]
    pub fn new(settings: ShingleSettings, seed: u64) -> Self {
        Self { _settings: settings, _seed: seed }
    }

    pub fn shingle(&self, content: &Content) -> Result<Shingled, EmptyDocument> {
        match content {
            Content::Text(text) => self.text(text),
            Content::Tokens(tokens) => self.tokens(tokens),
        }
    }

    pub fn text(&self, _text: &str) -> Result<Shingled, EmptyDocument> {
        todo!()
    }

    pub fn tokens(&self, _tokens: &[Token]) -> Result<Shingled, EmptyDocument> {
        todo!()
    }

    /// Every shingle of the text in order, with the bytes of the text that it covers.
    pub fn spans(&self, _text: &str, _visit: impl FnMut(u64, Range<usize>)) {
        todo!()
    }
}
