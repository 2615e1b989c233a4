//! The answers to searches for passages.

use akin_core::passages::{PassageComparison, PassageSettings, Span};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::document::{DocumentId, Metadata};

/// Shares of kept words for which the chance of an edited passage is computed.
const KEPT: [f64; 4] = [1.0, 0.95, 0.9, 0.8];

/// Which of two texts is contained in the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ContainedOf {
    #[default]
    Probe,
    Match,
}

/// The documents that share passages with a probe: the documents that share the most words first,
/// then by their longest run of equal words, then by their age.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PassageAnswer {
    pub matches: Vec<PassageMatch>,
    pub probe: PassageProbe,
    pub guarantee: Guarantee,
    /// The chances to find a passage of `words_min` words that was edited.
    pub chances: Vec<Chance>,
    /// There are more matches than `limit`.
    pub more: bool,
    /// A limit was hit, or a damaged text is not in the index: documents or passages may be
    /// missing.
    pub truncated: bool,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
pub struct PassageProbe {
    /// Its words.
    #[schema(example = 120)]
    pub words: usize,
}

/// What an answer that is not `truncated` is sure to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = PassageGuarantee)]
pub struct Guarantee {
    /// Every document that has a run of so many words of the probe is found, with all these words.
    #[schema(example = 32)]
    pub words: usize,
    /// With a `words_min` below the guarantee: passages from so many words up to the guarantee are
    /// found by chance only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best_effort_from: Option<usize>,
}

/// The chance that a passage of `words_min` words is found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = PassageChance)]
pub struct Chance {
    /// The probability with which each word was kept.
    #[schema(example = 0.9)]
    pub kept: f64,
    /// The computed probability that the passage is compared. It is returned if `words_min` of its
    /// words are equal.
    #[schema(example = 0.43)]
    pub probability: f64,
}

/// A document that shares passages with the probe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PassageMatch {
    pub id: DocumentId,
    /// Words of the probe in runs of equal words of the passages. Each counts once, in however many
    /// runs and passages it is; the words between the runs of a passage do not count.
    pub words_shared: usize,
    /// Words of the longest run of equal words.
    pub longest: usize,
    pub containment: PassageShares,
    /// The passages with the most equal words first.
    pub passages: Vec<SharedPassage>,
    /// By `include=metadata`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Metadata>,
}

/// Words in runs of equal words of the passages, as shares of all words of a text.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = PassageContainment)]
pub struct PassageShares {
    /// `words_shared`, divided by the probe's words.
    #[schema(example = 0.35)]
    pub of_probe: f64,
    /// The same of the match: its words in runs, each once, divided by all its words.
    #[schema(example = 0.04)]
    pub of_match: f64,
}

/// The documents that share passages with a document that is added: all that arrived before it, the
/// documents that share the most words first, then by their longest run of equal words, then by
/// their age.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AddedPassages {
    /// The document that is added is the `probe`.
    pub matches: Vec<PassageMatch>,
    pub guarantee: Guarantee,
    /// There are more matches than `limits.duplicates_max`.
    pub more: bool,
    /// A limit was hit, or a damaged text is not in the index: documents or passages may be
    /// missing.
    pub truncated: bool,
}

/// A part of the probe, and the part of the match that equals it, or nearly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SharedPassage {
    pub probe: PassagePlace,
    pub r#match: PassagePlace,
    /// Pairs of equal words, in order: a word of either part is in one pair at most. So where one
    /// of the texts repeats words that the other has once, `words_shared` can be more.
    pub words_equal: usize,
}

/// A part of a text as it was sent, in Unicode code points: the slice `text[start:end]` of Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PassagePlace {
    pub start: usize,
    pub end: usize,
    /// Its words.
    pub words: usize,
}

impl From<&Span> for PassagePlace {
    fn from(span: &Span) -> Self {
        Self { start: span.chars.start, end: span.chars.end, words: span.words.len() }
    }
}

impl From<&PassageComparison> for PassageShares {
    fn from(comparison: &PassageComparison) -> Self {
        Self {
            of_probe: comparison.of_probe.containment(),
            of_match: comparison.of_match.containment(),
        }
    }
}

impl Guarantee {
    pub fn new(settings: PassageSettings, words_min: usize) -> Self {
        let words = settings.run_words();
        Self {
            words: words.max(words_min),
            best_effort_from: (words_min < words).then_some(words_min),
        }
    }
}

impl Chance {
    pub fn of(settings: PassageSettings, words_min: usize) -> Vec<Self> {
        let rounded = |probability: f64| (probability * 10_000.0).round() / 10_000.0;
        let chance = |kept| Self { kept, probability: rounded(settings.chance(words_min, kept)) };
        KEPT.map(chance).to_vec()
    }
}
