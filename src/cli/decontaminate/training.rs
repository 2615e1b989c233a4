//! Scans a training document.

use std::ops::Range;

use super::evaluation::Evaluation;
use crate::cli::dedup::without;
use crate::cli::input::{Columns, Item};
use crate::document::{Content, DocumentId};
use crate::http::corpus_document;
use akin_core::passages::contamination::{Contamination, DocumentCounts, FrequentGrams};
use akin_core::text::{CharOffsets, WordSequence};

/// When a document is contaminated, and whether its words are cut out.
pub struct Rule {
    /// At least this share of its words is in the evaluation set.
    pub share: Option<f64>,
    /// Or at least this many of its words in a row are.
    pub longest: Option<usize>,
    pub cuts: bool,
    /// Documents with fewer words, but some, are short.
    pub min_words: usize,
}

impl Rule {
    fn holds(&self, found: &Contamination) -> bool {
        let by_share = self.share.map(|min| found.share() >= min);
        let by_longest = self.longest.map(|min| found.longest >= min);
        found.covered > 0
            && match (by_share, by_longest) {
                (None, None) => true,
                (one, other) => one == Some(true) || other == Some(true),
            }
    }
}

/// Scans training documents, from any number of threads.
pub struct Scanner<'s> {
    pub evaluation: &'s Evaluation,
    pub columns: &'s Columns,
    /// Counts the grams of the documents; `None` if they were counted before.
    pub counts: Option<&'s DocumentCounts<'s>>,
    /// Grams that are ignored.
    pub frequent: Option<&'s FrequentGrams>,
    pub rule: Rule,
}

/// A scanned document.
pub enum Scanned {
    Clean {
        words: usize,
    },
    Contaminated(Box<Contaminated>),
    /// The document has too few words.
    Short,
    /// The record is not a document with a text: the reason.
    Invalid(String),
}

/// A contaminated document.
pub struct Contaminated {
    pub id: DocumentId,
    pub found: Contamination,
    /// The code points of each span.
    pub chars: Vec<Range<usize>>,
    /// The bytes of each span.
    pub bytes: Vec<Range<usize>>,
    /// The line without the spans, if they are cut out.
    pub line: Option<Vec<u8>>,
}

/// The id and the text of a document.
///
/// # Errors
/// The record is not a document, or has no text.
pub fn text_of(item: &Item) -> Result<(DocumentId, String), String> {
    let (id, content) = corpus_document(&item.json)?;
    let Content::Text(text) = content else {
        return Err("the document has no text: only texts are compared".to_owned());
    };
    let named = || DocumentId::new(item.origin.to_string()).map_err(|error| error.to_string());
    Ok((id.map_or_else(named, Ok)?, text))
}

impl Scanner<'_> {
    pub fn scan(&self, item: &Item) -> Scanned {
        self.scanned(item).unwrap_or_else(Scanned::Invalid)
    }

    fn scanned(&self, item: &Item) -> Result<Scanned, String> {
        let (id, text) = text_of(item)?;
        let words = self.evaluation.shingler.words(&text).map_err(|error| error.to_string())?;
        if (1..self.rule.min_words).contains(&words.len()) {
            return Ok(Scanned::Short);
        }
        let found = match self.frequent {
            Some(frequent) => self.evaluation.set.scan_ignoring(words.hashes(), frequent),
            None => self.evaluation.set.scan(words.hashes()),
        };
        if let (Some(counts), 1..) = (self.counts, found.covered) {
            counts.add(words.hashes());
        }
        if !self.rule.holds(&found) {
            return Ok(Scanned::Clean { words: words.len() });
        }
        let contaminated = self.contaminated(item, id, (&text, &words), found)?;
        Ok(Scanned::Contaminated(Box::new(contaminated)))
    }

    fn contaminated(
        &self,
        item: &Item,
        id: DocumentId,
        (text, words): (&str, &WordSequence),
        found: Contamination,
    ) -> Result<Contaminated, String> {
        let bytes: Vec<_> = found.spans.iter().map(|span| words.bytes(span.clone())).collect();
        let offsets = CharOffsets::new(text);
        let chars = bytes.iter().map(|bytes| offsets.range(bytes.clone())).collect();
        let line = || {
            let left = without(text, &bytes)?;
            self.columns.with_text(item, &left)
        };
        let line = self.rule.cuts.then(|| line().ok_or("its text cannot be replaced"));
        Ok(Contaminated { id, found, chars, line: line.transpose()?, bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_criterion_makes_a_document_contaminated() {
        let found =
            Contamination { covered: 13, words: 130, longest: 13, ..Contamination::default() };
        let holds = |share, longest, found: &Contamination| {
            Rule { share, longest, cuts: false, min_words: 0 }.holds(found)
        };
        assert!(holds(None, None, &found) && !holds(None, None, &Contamination::default()));
        assert!(holds(Some(0.1), None, &found) && !holds(Some(0.11), None, &found));
        assert!(holds(None, Some(13), &found) && !holds(None, Some(14), &found));
        assert!(holds(Some(0.5), Some(13), &found) && holds(Some(0.1), Some(50), &found));
        assert!(!holds(Some(0.5), Some(50), &found));
    }
}
