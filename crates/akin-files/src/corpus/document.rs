//! From a record to a document of a corpus.

use std::borrow::Cow;

use super::gather::Gathering;
use crate::input::{Item, OnInvalid, Record, Screening, WordCounter};
use akin_core::text::NormalisedFields;
use akin_model::analysis::{Analyser, Analysis, ContentError};
use akin_model::document::{Content, DocumentId};

/// Why a record is not compared.
pub enum NotCompared {
    /// The record has nothing to compare.
    Empty,
    /// The text has too few words.
    Short,
    /// The record is not a document that is compared: the reason.
    Invalid(String),
}

impl NotCompared {
    /// Whether the record is written unchanged, by `--on-invalid keep`.
    pub fn is_copied(&self, screening: Screening) -> bool {
        matches!(self, Self::Invalid(_)) && screening.on_invalid == OnInvalid::Keep
    }
}

/// A document of the corpus, before it has its number.
pub struct GatheredDocument {
    pub id: DocumentId,
    /// `None` if the document has nothing to make a set of.
    pub analysis: Option<Box<Analysis>>,
    /// The fields of a record.
    pub record: Option<NormalisedFields>,
    pub rank: u64,
    /// The value of the column with the source.
    pub source: Option<String>,
    /// The words of the text, if the rule `contained` needs them.
    pub text_words: Option<Vec<u64>>,
}

impl Gathering<'_> {
    /// # Errors
    /// The record is not compared.
    pub(super) fn document(
        &self,
        item: &Item,
        analyser: &Analyser,
        words: &WordCounter,
    ) -> Result<GatheredDocument, NotCompared> {
        let (record, analysis) = analysed(item, analyser, words)?;
        let text_words = match &record.content {
            _ if !self.needs_words => None,
            Content::Text(text) => {
                let words = analyser.shingler.words(text);
                let words = words.map_err(|error| NotCompared::Invalid(error.to_string()))?;
                Some(words.hashes().to_vec())
            }
            _ => {
                let reason = "the rule contained compares texts only".to_owned();
                return Err(NotCompared::Invalid(reason));
            }
        };
        let column = self.sources.source_column.as_deref();
        Ok(GatheredDocument {
            analysis,
            record: analyser.record(&record.content),
            rank: self.keep.rank(&record, item.bytes()),
            source: column.map(|column| value_of(&record, column)),
            text_words,
            id: record.id,
        })
    }
}

/// The document of a record, and the analysis of its content; `None` if it has nothing to make a
/// set of.
///
/// # Errors
/// The record is not a document, or a document with few words.
pub fn analysed<'i>(
    item: &'i Item,
    analyser: &Analyser,
    words: &WordCounter,
) -> Result<(Record<'i>, Option<Box<Analysis>>), NotCompared> {
    let record = item.record().map_err(NotCompared::Invalid)?;
    if words.is_short(&record.content) {
        return Err(NotCompared::Short);
    }
    match analyser.analyse(&record.content) {
        Ok(analysis) => Ok((record, Some(Box::new(analysis)))),
        Err(ContentError::Empty) => Ok((record, None)),
        Err(error) => Err(NotCompared::Invalid(error.to_string())),
    }
}

/// The value of a column as a text: empty if there is none.
pub fn value_of(record: &Record<'_>, column: &str) -> String {
    let value = record.value(column);
    let text = value.as_ref().and_then(|value| value.text().ok().flatten());
    let json = || value.as_ref().map_or_else(String::new, |value| value.json().get().into());
    text.map_or_else(json, Cow::into_owned)
}
