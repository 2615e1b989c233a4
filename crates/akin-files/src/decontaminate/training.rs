//! Scans a training document.

use std::ops::Range;

use super::phrases::IgnoredPhrases;
use crate::corpus::{NotCompared, TextCutter, WordedText};
use crate::dedup::without;
use crate::input::Item;
use akin_core::passages::contamination::{
    Contamination, DocumentCounts, EvaluationSet, FrequentGrams,
};
use akin_core::text::CharOffsets;
use akin_model::document::DocumentId;

/// When a document is contaminated, and whether its words are cut out.
pub struct Rule {
    /// At least this share of its words is in the evaluation set.
    pub share: Option<f64>,
    /// Or at least this many of its words in a row are.
    pub longest: Option<usize>,
    pub cuts: bool,
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
    pub cutter: &'s TextCutter,
    pub set: &'s EvaluationSet,
    /// Counts the grams of the spans that are found.
    pub counts: &'s DocumentCounts<'s>,
    /// The fewest words of a span, as a reader counts them.
    pub words: usize,
    /// Grams that are ignored.
    pub frequent: Option<&'s FrequentGrams>,
    /// Phrases: their words are in no gram.
    pub ignored: &'s IgnoredPhrases,
    pub rule: Rule,
}

/// A scanned document.
pub enum ScannedDocument {
    Clean { words: usize },
    Contaminated(Box<Contaminated>),
}

/// A contaminated document.
pub struct Contaminated {
    pub id: DocumentId,
    pub found: Contamination,
    /// The code points of each span.
    pub chars: Vec<Range<usize>>,
    /// The bytes of each span.
    pub bytes: Vec<Range<usize>>,
    /// The line without the spans, if they are cut out; `None` if the text cannot be replaced, too.
    pub line: Option<Vec<u8>>,
}

impl Scanner<'_> {
    /// # Errors
    /// The record has no text, or too short a text.
    pub fn scan(&self, item: &Item) -> Result<ScannedDocument, NotCompared> {
        let text = self.cutter.cut(item)?;
        let words = text.words.hashes();
        let parts = self.ignored.outside(words);
        let whole = self.set.scan_whole(words).filter(|_| !parts.is_empty());
        let found = whole.unwrap_or_else(|| self.found(&text, &parts));
        self.counts.add(words, &found.spans);
        if !self.rule.holds(&found) {
            return Ok(ScannedDocument::Clean { words: words.len() });
        }
        let contaminated = self.contaminated(item, text, found);
        Ok(ScannedDocument::Contaminated(Box::new(contaminated)))
    }

    /// The spans of enough words within these parts of a text.
    fn found(&self, text: &WordedText, parts: &[Range<usize>]) -> Contamination {
        let words = text.words.hashes();
        let found = self.set.scan_parts(words, parts, self.frequent);
        let is_long = |span: &&Range<usize>| {
            text.words.readers_words(&text.text, (*span).clone()) >= self.words
        };
        let long: Vec<_> = found.spans.iter().filter(is_long).cloned().collect();
        if long.len() == found.spans.len() {
            return found;
        }
        // Evaluation documents of the shorter spans are not reported.
        let counted = self.set.scan_parts(words, &long, self.frequent);
        Contamination { ignored: found.ignored, ..counted }
    }

    fn contaminated(
        &self,
        item: &Item,
        WordedText { id, text, words, .. }: WordedText,
        found: Contamination,
    ) -> Contaminated {
        let bytes: Vec<_> = found.spans.iter().map(|span| words.bytes(span.clone())).collect();
        let offsets = CharOffsets::new(&text);
        let chars = bytes.iter().map(|bytes| offsets.range(bytes.clone())).collect();
        let line = || item.with_text(&without(&text, &bytes)?);
        let line = self.rule.cuts.then(line).flatten();
        Contaminated { id, found, chars, bytes, line }
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
            Rule { share, longest, cuts: false }.holds(found)
        };
        assert!(holds(None, None, &found) && !holds(None, None, &Contamination::default()));
        assert!(holds(Some(0.1), None, &found) && !holds(Some(0.11), None, &found));
        assert!(holds(None, Some(13), &found) && !holds(None, Some(14), &found));
        assert!(holds(Some(0.5), Some(13), &found) && holds(Some(0.1), Some(50), &found));
        assert!(!holds(Some(0.5), Some(50), &found));
    }
}
