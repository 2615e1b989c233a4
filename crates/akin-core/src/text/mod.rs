//! Text → tokens → shingles → set.

mod bag;
mod characters;
mod classes;
mod cut;
mod cut_shingles;
mod equivalents;
mod fields;
mod fold;
mod hash;
mod ignored;
mod normalize;
mod sequence;
mod set;
mod settings;
mod stop_words;
mod unit;
mod words;

pub use bag::Bag;
pub use equivalents::Equivalents;
pub use fields::NormalisedFields;
pub use fold::Fold;
pub(crate) use hash::{HashesMap, finalise};
pub use ignored::IgnoredTexts;
pub use normalize::Normalize;
pub(crate) use sequence::sequence_fingerprint;
pub use sequence::{CharOffsets, ReaderWords, WordSequence};
pub use set::ShingleSet;
pub use settings::ShingleSettings;
pub use stop_words::StopWords;
pub use unit::Unit;

use std::ops::Range;

use crate::document::{Content, Token};
use crate::simd::Level;

use self::bag::Occurrences;
use self::cut::Cutter;
use self::fields::FieldNormaliser;
use self::hash::{token_element, value_element};

/// The version of how texts are normalised and cut into words, for the same settings. A change that
/// gives any text other shingles increments it: stores that were made before are refused then, and
/// have to be reindexed. The golden tests notice the change.
pub const CUTTING_VERSION: u32 = 2;

/// Cuts contents into sets.
///
/// ```
/// use akin_core::Shingler;
/// use akin_core::text::ShingleSettings;
///
/// let shingler = Shingler::new(ShingleSettings::default(), 0, 1_000_000);
/// let set = shingler.text("One two three four!")?.set;
/// assert_eq!(set.count(), 2);
/// assert_eq!(set, shingler.text("one, two, three, four")?.set);
/// # Ok::<(), akin_core::ShingleError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Shingler {
    cutter: Cutter,
    /// Where the unit is a field.
    fields: Option<FieldNormaliser>,
    seed: u64,
    multiset: bool,
    elements_max: usize,
}

/// A content's set, and how it came about.
#[derive(Clone, Debug)]
pub struct Shingled {
    /// The set of the content.
    pub set: ShingleSet,
    /// The text was shorter than a shingle, or had no stop word to begin a shingle, so the whole
    /// text became its only shingle.
    pub whole_document: bool,
}

/// Why a content has no set.
///
/// ```
/// # use akin_core::{ShingleError, Shingler, text::ShingleSettings};
/// let shingler = Shingler::new(ShingleSettings::default(), 0, 3);
/// assert_eq!(shingler.text("?!").unwrap_err(), ShingleError::Empty);
/// let error = shingler.text("one two three four five six seven").unwrap_err();
/// assert_eq!(error, ShingleError::TooMany { found: 5, max: 3 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShingleError {
    /// It has no word, no character, no token.
    #[error("the document is empty: it has nothing to make a shingle of")]
    Empty,
    /// The set has more elements than a set may have.
    #[error("the document has {found} shingles, more than {max}")]
    TooMany { found: usize, max: usize },
    /// The text is longer than the limit once it is normalised.
    #[error(
        "the document is too long: normalised it has more than {max} bytes; split it, or take \
         shingles.normalize = none, which lengthens nothing"
    )]
    TooLong { max: usize },
    /// The unit is a field, and this is a text or tokens.
    #[error("the collection takes records: a document there has fields, not text or tokens")]
    FieldsWanted,
    /// These are fields, and the unit is another.
    #[error("the collection takes text or tokens, not fields: those are for the unit field")]
    NoFieldsWanted,
}

impl Shingler {
    /// A set may have `elements_max` elements.
    ///
    /// # Panics
    /// If the settings have [`ShingleSettings::faults`].
    #[expect(clippy::needless_pass_by_value, reason = "a shingler has its settings for itself")]
    pub fn new(settings: ShingleSettings, seed: u64, elements_max: usize) -> Self {
        assert!(settings.faults().is_empty(), "{:?}", settings.faults());
        let multiset = settings.multiset;
        let fields = (settings.unit == Unit::Field)
            .then(|| FieldNormaliser::new(&settings.equivalents, settings.rules()));
        let cutter = Cutter::new(&settings, seed);
        Self { cutter, fields, seed, multiset, elements_max }
    }

    /// Ignores these shingles, too: they are in no set of a text that has others. The set of a text
    /// that has no others is whole, so that it can be compared with its copies.
    #[must_use]
    pub fn ignoring(mut self, shingles: &[u64]) -> Self {
        self.cutter.ignore_templates(shingles);
        self
    }

    /// Uses no more than a level's instructions, for tests and benches. Sets do not depend on the
    /// level.
    #[must_use]
    pub fn with_level(mut self, level: Level) -> Self {
        self.cutter.level = level;
        self
    }

    /// # Errors
    /// [`ShingleError`]
    pub fn shingle(&self, content: &Content) -> Result<Shingled, ShingleError> {
        match content {
            Content::Fields(_) => self.whole(self.fields(content)?.elements(self.seed).collect()),
            _ if self.fields.is_some() => Err(ShingleError::FieldsWanted),
            Content::Text(text) => self.text(text),
            Content::Tokens(tokens) => self.tokens(tokens),
            Content::Signature(values) => self.whole(self.value_elements(values).collect()),
        }
    }

    /// A record's fields as they are compared.
    ///
    /// # Errors
    /// [`ShingleError`], if none of them has a word or the content is no record.
    pub fn fields(&self, content: &Content) -> Result<NormalisedFields, ShingleError> {
        let normaliser = self.fields.as_ref().ok_or(ShingleError::NoFieldsWanted)?;
        let Content::Fields(fields) = content else { return Err(ShingleError::FieldsWanted) };
        normaliser.normalise_all(fields).ok_or(ShingleError::Empty)
    }

    /// The set of a text. A text that is shorter than a shingle becomes a shingle as a whole.
    ///
    /// # Errors
    /// [`ShingleError`]
    pub fn text(&self, text: &str) -> Result<Shingled, ShingleError> {
        let cut = self.cutter.cut(text)?;
        let set = match self.multiset {
            true => self.set_of_bag(Bag::from_shingles(cut.shingles)),
            false => self.set(cut.shingles),
        }?;
        Ok(Shingled { set, whole_document: cut.whole_document })
    }

    /// The set of the tokens as they are: neither lowercased nor joined. How often they occur
    /// matters in multisets only.
    ///
    /// # Errors
    /// [`ShingleError`]
    pub fn tokens(&self, tokens: &[Token]) -> Result<Shingled, ShingleError> {
        let counted = self.counted(tokens);
        let set = match self.multiset {
            true => self.set_of_bag(Bag::from_counted(counted)),
            false => self.set(counted.map(|(element, _)| element).collect()),
        }?;
        Ok(Shingled { set, whole_document: false })
    }

    /// The set of the elements of a record or a signature, which are never counted.
    fn whole(&self, elements: Vec<u64>) -> Result<Shingled, ShingleError> {
        Ok(Shingled { set: self.set(elements)?, whole_document: false })
    }

    /// The elements of a signature: its values, each with its place.
    fn value_elements(&self, values: &[u64]) -> impl Iterator<Item = u64> {
        let numbered = values.iter().enumerate();
        numbered.map(|(place, value)| value_element(place, *value, self.seed))
    }

    /// The content's shingles and how often each occurs, whether sets are multisets or not.
    ///
    /// # Errors
    /// [`ShingleError`]
    pub fn bag(&self, content: &Content) -> Result<Bag, ShingleError> {
        let bag = match content {
            Content::Tokens(tokens) => Bag::from_counted(self.counted(tokens)),
            Content::Text(text) => Bag::from_shingles(self.cutter.cut(text)?.shingles),
            Content::Fields(_) => {
                Bag::from_shingles(self.fields(content)?.elements(self.seed).collect())
            }
            Content::Signature(values) => Bag::from_shingles(self.value_elements(values).collect()),
        }
        .ok_or(ShingleError::Empty)?;
        self.within_limit(bag.as_slice().len() as u64)?;
        Ok(bag)
    }

    /// Every shingle of the text in order, before they are counted: enough for a sketch of the
    /// text's set, unless that is a multiset.
    ///
    /// # Errors
    /// [`ShingleError::TooLong`]
    pub fn shingles(&self, text: &str) -> Result<Vec<u64>, ShingleError> {
        Ok(self.cutter.cut(text)?.shingles)
    }

    /// Every element of the text's set in order, as often as it occurs, with the bytes of the
    /// text that it covers: from the first of its first unit to the last of its last.
    ///
    /// # Errors
    /// [`ShingleError::TooLong`]
    pub fn spans(
        &self,
        text: &str,
        mut visit: impl FnMut(u64, Range<usize>),
    ) -> Result<(), ShingleError> {
        let (cut, ranges) = self.cutter.cut_with_ranges(text)?;
        let mut occurrences = self.multiset.then(Occurrences::default);
        for (number, &shingle) in cut.shingles.iter().enumerate() {
            let element = occurrences.as_mut().map_or(shingle, |known| known.next(shingle));
            let units = cut.units_of(number);
            let [start, end] = [ranges[units.start][0], ranges[units.end - 1][1]];
            visit(element, start as usize..end as usize);
        }
        Ok(())
    }

    /// The bytes of a text that ignored shingles cover.
    ///
    /// # Errors
    /// [`ShingleError::TooLong`]
    pub fn ignored(&self, text: &str) -> Result<Vec<Range<usize>>, ShingleError> {
        self.cutter.ignored(text)
    }

    /// The words of a text in order, with the range of bytes of each. Texts are normalised and cut
    /// by the rules of [`Unit::Word`], whatever the unit is.
    ///
    /// # Errors
    /// [`ShingleError::TooLong`]
    pub fn words(&self, text: &str) -> Result<WordSequence, ShingleError> {
        self.cutter.word_sequence(text)
    }

    fn counted(&self, tokens: &[Token]) -> impl Iterator<Item = (u64, u32)> {
        tokens.iter().map(|token| (token_element(&token.text, self.seed), token.count))
    }

    fn set(&self, elements: Vec<u64>) -> Result<ShingleSet, ShingleError> {
        let set = ShingleSet::of(elements, self.cutter.level).ok_or(ShingleError::Empty)?;
        self.within_limit(set.count() as u64)?;
        Ok(set)
    }

    /// Counts are a client's to choose: nothing is made of them before their sum is known to be
    /// within the limit.
    fn set_of_bag(&self, bag: Option<Bag>) -> Result<ShingleSet, ShingleError> {
        let bag = bag.ok_or(ShingleError::Empty)?;
        self.within_limit(bag.total())?;
        self.set(bag.elements())
    }

    fn within_limit(&self, elements: u64) -> Result<(), ShingleError> {
        let (found, max) = (elements as usize, self.elements_max);
        if found > max { Err(ShingleError::TooMany { found, max }) } else { Ok(()) }
    }
}

#[cfg(test)]
mod golden;
#[cfg(test)]
mod tests;
