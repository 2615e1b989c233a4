//! The grams of an evaluation set.

use std::collections::HashMap;
use std::ops::Range;

use super::super::grams::each_gram;
use super::counts::FrequentGrams;
use crate::text::{HashesMap, sequence_fingerprint};

/// The lengths of grams that are allowed.
const GRAM_WORDS: std::ops::RangeInclusive<usize> = 1..=100;

/// Evaluation texts that are reported of a training text.
const TEXTS_MAX: usize = 100;

/// Collects the grams of evaluation texts.
#[derive(Clone, Debug)]
pub struct EvaluationSetBuilder {
    gram_words: usize,
    /// Each gram of each text once.
    grams: Vec<(u64, u32)>,
    /// The texts that are compared as a whole, by their fingerprints.
    whole: HashMap<u64, Vec<u32>>,
    texts: u32,
    too_short: u32,
}

/// A length that [`EvaluationSetBuilder::new`] refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the words of a gram must be from {} to {}, not {found}",
    GRAM_WORDS.start(),
    GRAM_WORDS.end()
)]
pub struct GramWordsError {
    /// The refused length.
    pub found: usize,
}

impl EvaluationSetBuilder {
    /// The usual length of a gram.
    pub const USUAL_WORDS: usize = 13;

    /// An empty set with grams of 1 to 100 words.
    ///
    /// # Errors
    /// [`GramWordsError`] for another length.
    pub fn new(gram_words: usize) -> Result<Self, GramWordsError> {
        if !GRAM_WORDS.contains(&gram_words) {
            return Err(GramWordsError { found: gram_words });
        }
        Ok(Self { gram_words, grams: Vec::new(), whole: HashMap::new(), texts: 0, too_short: 0 })
    }

    /// Adds a text that is too short for a gram: only a training text with these words and no
    /// others is contaminated with it. Returns its number.
    pub fn add_whole(&mut self, words: &[u64]) -> u32 {
        let number = self.texts;
        if !words.is_empty() {
            self.whole.entry(sequence_fingerprint(words)).or_default().push(number);
        }
        self.too_short += 1;
        self.texts += 1;
        number
    }

    /// Adds a text, given as the hashes of its words, and returns its number: texts are numbered
    /// from 0.
    pub fn add(&mut self, words: &[u64]) -> u32 {
        let (number, mut grams) = (self.texts, Vec::with_capacity(words.len()));
        each_gram(words, self.gram_words, |_, gram| grams.push((gram, number)));
        // A text that repeats a gram has it once.
        grams.sort_unstable();
        grams.dedup();
        self.grams.append(&mut grams);
        self.too_short += u32::from(words.len() < self.gram_words);
        self.texts += 1;
        number
    }

    /// The set of the texts that were added.
    pub fn build(mut self) -> EvaluationSet {
        self.grams.sort_unstable();
        let same = || self.grams.chunk_by(|one, other| one.0 == other.0);
        let (mut numbers, mut ends) = (HashesMap::default(), Vec::new());
        numbers.reserve(same().count());
        let mut end = 0;
        for same in same() {
            numbers.insert(same[0].0, ends.len() as u32);
            end += same.len() as u32;
            ends.push(end);
        }
        EvaluationSet {
            gram_words: self.gram_words,
            numbers,
            ends,
            texts_of_grams: self.grams.iter().map(|(_, text)| *text).collect(),
            whole: self.whole,
            texts: self.texts,
            too_short: self.too_short,
        }
    }
}

/// The grams of an evaluation set. Any number of threads can scan training texts at a time.
#[derive(Clone, Debug)]
pub struct EvaluationSet {
    gram_words: usize,
    /// The number of each distinct gram, in the order of their hashes.
    numbers: HashesMap<u32>,
    /// Where the texts of each gram end in `texts_of_grams`.
    ends: Vec<u32>,
    texts_of_grams: Vec<u32>,
    whole: HashMap<u64, Vec<u32>>,
    texts: u32,
    too_short: u32,
}

/// The size of an [`EvaluationSet`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EvaluationSetSize {
    /// The number of texts.
    pub texts: usize,
    /// The number of texts that are too short for a gram. They are compared as a whole if they were
    /// [added so](EvaluationSetBuilder::add_whole), else not at all.
    pub too_short: usize,
    /// The number of distinct grams.
    pub grams: usize,
    /// The bytes of memory.
    pub bytes: usize,
}

/// The parts of a training text that are in the evaluation set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contamination {
    /// The covered words, in ranges that do not touch.
    pub spans: Vec<Range<usize>>,
    /// The number of covered words.
    pub covered: usize,
    /// The number of all words.
    pub words: usize,
    /// The number of words of the longest span.
    pub longest: usize,
    /// The numbers of the evaluation texts with a gram of the training text, ascending; at most
    /// 100.
    pub texts: Vec<u32>,
    /// Further evaluation texts have a gram of the training text.
    pub has_more_texts: bool,
    /// The number of grams that were ignored because they are frequent.
    pub ignored: usize,
}

impl Contamination {
    fn count_covered(&mut self) {
        self.covered = self.spans.iter().map(Range::len).sum();
        self.longest = self.spans.iter().map(Range::len).max().unwrap_or(0);
    }

    /// The share of the words that are covered.
    pub fn share(&self) -> f64 {
        self.covered as f64 / self.words.max(1) as f64
    }
}

impl EvaluationSet {
    /// The number of distinct grams.
    pub(super) fn grams(&self) -> usize {
        self.ends.len()
    }

    /// Visits the grams of a training text that the set has: the number of the first word, and the
    /// number of the gram.
    #[inline]
    pub(super) fn each_known(&self, words: &[u64], mut visit: impl FnMut(usize, usize)) {
        each_gram(words, self.gram_words, |at, gram| {
            if let Some(number) = self.numbers.get(&gram) {
                visit(at, *number as usize);
            }
        });
    }

    /// The numbers of the texts with a gram.
    pub(super) fn texts_of(&self, gram: usize) -> &[u32] {
        let start = gram.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.texts_of_grams[start as usize..self.ends[gram] as usize]
    }

    /// The parts of a training text, given as the hashes of its words, that are in the set.
    pub fn scan(&self, words: &[u64]) -> Contamination {
        self.scan_parts(words, std::slice::from_ref(&(0..words.len())), None)
    }

    /// Like [`Self::scan`], with those grams only that lie in one of these ranges of words, which
    /// ascend, and that are not frequent in the training texts.
    pub fn scan_parts(
        &self,
        words: &[u64],
        parts: &[Range<usize>],
        frequent: Option<&FrequentGrams>,
    ) -> Contamination {
        let mut found = Contamination { words: words.len(), ..Contamination::default() };
        let mut last: &[u32] = &[];
        for part in parts {
            self.each_known(&words[part.clone()], |at, gram| {
                if frequent.is_some_and(|frequent| frequent.contains(gram)) {
                    found.ignored += 1;
                    return;
                }
                let start = part.start + at;
                found.cover(start..start + self.gram_words);
                // The grams of a passage mostly have the same texts.
                let texts = self.texts_of(gram);
                if texts != last {
                    found.add_texts(texts);
                    last = texts;
                }
            });
        }
        found.count_covered();
        found
    }

    /// A training text that equals evaluation texts that are compared as a whole.
    pub fn scan_whole(&self, words: &[u64]) -> Option<Contamination> {
        if self.whole.is_empty() {
            return None;
        }
        let texts = self.whole.get(&sequence_fingerprint(words))?;
        let mut found = Contamination { words: words.len(), ..Contamination::default() };
        found.cover(0..words.len());
        found.add_texts(texts);
        found.count_covered();
        Some(found)
    }

    /// The number of texts.
    pub(super) fn texts(&self) -> usize {
        self.texts as usize
    }

    /// The size of the set.
    pub fn size(&self) -> EvaluationSetSize {
        let bytes = self.numbers.capacity() * (size_of::<(u64, u32)>() + 1)
            + size_of_val(&self.ends[..])
            + size_of_val(&self.texts_of_grams[..])
            + self.whole.len() * size_of::<(u64, Vec<u32>)>();
        EvaluationSetSize {
            texts: self.texts(),
            too_short: self.too_short as usize,
            grams: self.grams(),
            bytes,
        }
    }
}

impl Contamination {
    /// Covers a range that does not begin before the last.
    fn cover(&mut self, range: Range<usize>) {
        match self.spans.last_mut() {
            Some(last) if range.start <= last.end => last.end = range.end,
            _ => self.spans.push(range),
        }
    }

    /// Reads no more texts than are reported, and one: many evaluation texts may share a gram.
    fn add_texts(&mut self, texts: &[u32]) {
        if self.has_more_texts {
            return;
        }
        for text in texts.iter().take(TEXTS_MAX + 1) {
            if let Err(place) = self.texts.binary_search(text) {
                match self.texts.len() < TEXTS_MAX {
                    true => self.texts.insert(place, *text),
                    false => self.has_more_texts = true,
                }
            }
        }
    }
}
