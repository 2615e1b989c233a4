//! The passages that a document shares with the corpus.

use std::io::{self, Write};
use std::ops::Range;

use serde::Serialize;

use super::Whose;
use super::corpus::PassageCorpus;
use crate::corpus::WordedText;
use crate::input::Item;
use akin_core::passages::{
    MatchedPassage, MatchingText, PassageComparison, PassageLimits, PassageMatches, Span, WordShare,
};

/// Characters of a passage that are shown.
const SHOWN_CHARS: usize = 60;

/// Which documents of the corpus are listed.
pub struct WantedPassages {
    pub limits: PassageLimits,
    pub containment_min: f64,
    pub of: Whose,
    pub count_max: usize,
}

impl WantedPassages {
    pub fn contains(&self, comparison: &PassageComparison) -> bool {
        let share = match self.of {
            Whose::Probe => comparison.of_probe,
            Whose::Match => comparison.of_match,
        };
        share.containment() >= self.containment_min
    }

    /// The fewest words that a listed document shares with a document of so many words.
    pub fn shared_min(&self, words: usize) -> usize {
        match self.of {
            Whose::Probe => (self.containment_min * words as f64).ceil() as usize,
            Whose::Match => 0,
        }
    }
}

/// A document and its matches in the corpus, by their numbers there.
pub struct SearchedDocument {
    pub text: WordedText,
    pub matches: Vec<MatchingText<u32>>,
    /// Matches may be missing that would be listed.
    pub is_truncated: bool,
}

impl SearchedDocument {
    pub fn new(text: WordedText, found: PassageMatches<u32>, wanted: &WantedPassages) -> Self {
        let PassageMatches { matches, truncated, missing_max } = found;
        // The fewest words that a missing document needs in order to be listed.
        let last = matches.last().filter(|_| matches.len() == wanted.count_max);
        let by_count = last.map_or(0, |last| last.of_probe.shared + 1);
        let by_containment = wanted.shared_min(text.words.len());
        let is_truncated = truncated && missing_max >= by_count.max(by_containment);
        Self { text, matches, is_truncated }
    }
}

/// A document with its matches, as a line of JSON.
#[derive(Serialize)]
pub struct FoundLine<'f> {
    id: &'f str,
    file: &'f str,
    words: usize,
    matches: Vec<FoundMatch<'f>>,
    /// The search reached a limit of work, so matches may be missing.
    truncated: bool,
}

#[derive(Serialize)]
struct FoundMatch<'f> {
    id: &'f str,
    file: &'f str,
    words: usize,
    /// Words of the document that are in passages, and of the match.
    shared: Both<usize>,
    containment: Both<f64>,
    /// The words of the longest run.
    longest: usize,
    passages: Vec<FoundPassage>,
}

#[derive(Serialize)]
struct Both<T> {
    of_probe: T,
    of_match: T,
}

#[derive(Serialize)]
struct FoundPassage {
    probe: CodePoints,
    #[serde(rename = "match")]
    matched: CodePoints,
    /// Equal words, and words between them that differ.
    equal: usize,
    differing: usize,
    #[serde(skip)]
    bytes: Range<usize>,
}

/// Unicode code points of a text.
#[derive(Serialize)]
struct CodePoints {
    start: usize,
    end: usize,
}

impl From<&Span> for CodePoints {
    fn from(span: &Span) -> Self {
        Self { start: span.chars.start, end: span.chars.end }
    }
}

impl From<&MatchedPassage> for FoundPassage {
    fn from(passage: &MatchedPassage) -> Self {
        let MatchedPassage { probe, matched, equal, differing } = passage;
        let bytes = probe.bytes.clone();
        Self {
            probe: probe.into(),
            matched: matched.into(),
            equal: *equal,
            differing: *differing,
            bytes,
        }
    }
}

impl<'f> FoundLine<'f> {
    pub fn new(item: &'f Item, searched: &'f SearchedDocument, corpus: &'f PassageCorpus) -> Self {
        let found = |found: &MatchingText<u32>| {
            let MatchingText { id, of_probe, of_match, longest, ref passages } = *found;
            let (id, file) = corpus.document(id);
            let both = |of: fn(WordShare) -> usize| Both {
                of_probe: of(of_probe),
                of_match: of(of_match),
            };
            FoundMatch {
                id: id.as_str(),
                file,
                words: of_match.words,
                shared: both(|share| share.shared),
                containment: Both {
                    of_probe: of_probe.containment(),
                    of_match: of_match.containment(),
                },
                longest,
                passages: passages.iter().map(FoundPassage::from).collect(),
            }
        };
        Self {
            id: searched.text.id.as_str(),
            file: &item.origin.file,
            words: searched.text.words.len(),
            matches: searched.matches.iter().map(found).collect(),
            truncated: searched.is_truncated,
        }
    }

    /// Writes the document and its matches for people, if there are any.
    pub fn print(&self, text: &str, out: &mut impl Write) -> io::Result<()> {
        if self.matches.is_empty() && !self.truncated {
            return Ok(());
        }
        let more = if self.truncated { "; matches may be missing" } else { "" };
        writeln!(out, "{}  {} words{more}", self.id, self.words)?;
        for FoundMatch { id, words, shared, containment, longest, passages, .. } in &self.matches {
            let [of_probe, of_match] =
                [containment.of_probe, containment.of_match].map(|share| share * 100.0);
            writeln!(
                out,
                "  {id}  {} words shared: {of_probe:.1} % of the document, {of_match:.1} % of \
                 {words} words; longest run {longest}",
                shared.of_probe
            )?;
            for FoundPassage { probe, matched, bytes, .. } in passages {
                let shown = shown(&text[bytes.clone()]);
                let [a, b, c, d] = [probe.start, probe.end, matched.start, matched.end];
                writeln!(out, "    {a}..{b} is {c}..{d}  {shown}")?;
            }
        }
        Ok(())
    }
}

/// The beginning of a passage on a line.
fn shown(passage: &str) -> String {
    let mut words = passage.split_whitespace();
    let mut shown = words.next().unwrap_or_default().to_owned();
    for word in words {
        if shown.chars().count() + word.chars().count() >= SHOWN_CHARS {
            return shown + " …";
        }
        shown.extend([" ", word]);
    }
    shown
}
