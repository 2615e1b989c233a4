//! The units of which shingles are made.

use serde::{Deserialize, Serialize};

use super::cut::{Cutter, UnitRanges};
use super::cut_shingles::Cut;

/// The units of which shingles are made. Help, pages, tests and benches go over [`Unit::ALL`].
///
/// ```
/// use akin_core::text::ShingleSettings;
/// use akin_core::{Overlap, Shingler, Unit};
///
/// let settings = ShingleSettings { unit: Unit::Character, size: 3, ..ShingleSettings::default() };
/// let shingler = Shingler::new(settings, 0, usize::MAX);
/// let [a, b] = ["Katherine Johnson", "Kathrine Johnson"].map(|name| shingler.text(name));
/// assert!(Overlap::of(&a?.set, &b?.set).resemblance() > 0.7);
/// # Ok::<(), akin_core::ShingleError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "clap", value(rename_all = "snake_case"))]
#[cfg_attr(
    feature = "schema",
    schema(as = ShingleUnit, description = "The units of which shingles are made.")
)]
pub enum Unit {
    /// Words, and single letters of scripts that are written without spaces
    ///
    /// Runs of letters, marks and digits of any script, with the apostrophes between letters or
    /// digits; of scripts that are written without spaces (Han, kana, Thai, Lao, Khmer, Burmese,
    /// Yi, Balinese and others, by Unicode's classes of line breaking) single letters with their
    /// marks. A hyphen separates words, with a line break or without, unless `fold` has
    /// `line_end_hyphens`.
    Word,
    /// Unicode characters, with each run of white space a single space
    Character,
    /// Words, but only shingles that begin with a stop word: pages are compared by their prose
    ///
    /// Prose is full of stop words, navigation and advertisements have hardly any (Theobald,
    /// Siddharth and Paepcke 2008).
    Stopword,
    /// Pieces between white space as they are, punctuation and all
    ///
    /// With size 1 each is the element that it would be as a ready-made token.
    Token,
    /// The fields of records, each as a whole; there are no shingles of several
    ///
    /// Texts and tokens are refused.
    Field,
}

/// How a text is cut into shingles.
pub(super) enum Cutting {
    /// By the hashes of its words. The words of most texts are the same before and after
    /// normalisation.
    Words(fn(&Cutter, Vec<u64>) -> Cut),
    /// By the normalised text; the range of bytes of each unit is wanted or not.
    Text(fn(&Cutter, &str, Option<&mut UnitRanges>) -> Cut),
}

impl Unit {
    /// Every unit.
    pub const ALL: [Self; 5] =
        [Self::Word, Self::Character, Self::Stopword, Self::Token, Self::Field];

    /// The units of texts.
    pub fn of_texts() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|unit| *unit != Self::Field)
    }

    pub(super) fn cutting(self) -> Cutting {
        match self {
            Self::Word => Cutting::Words(Cutter::cut_words),
            Self::Character => Cutting::Text(Cutter::cut_characters),
            Self::Stopword => Cutting::Words(Cutter::cut_at_stop_words),
            Self::Token => Cutting::Text(Cutter::cut_tokens),
            // A text has no fields.
            Self::Field => Cutting::Text(|_, _, _| Cut::whole(&[])),
        }
    }
}
