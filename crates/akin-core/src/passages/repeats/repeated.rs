//! The two passes.

use std::ops::Range;

use super::super::grams::{RunHashes, each_gram};
use super::table::{HashTable, Markable};

/// Prefetch distance, in hashes.
const AHEAD: usize = 12;

/// The lengths of spans that are allowed.
const SPAN_WORDS: std::ops::RangeInclusive<usize> = 10..=1_000;

/// The first pass over a corpus: which of its grams occur again.
#[derive(Clone, Debug)]
pub struct RepeatedGrams {
    span_words: usize,
    anchors: HashTable<Markable>,
}

/// A length that [`RepeatedGrams::new`] refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the words of a span must be from {} to {}, not {found}",
    SPAN_WORDS.start(),
    SPAN_WORDS.end()
)]
pub struct SpanWordsError {
    /// The refused length.
    pub found: usize,
}

/// k: words of a gram.
fn gram_words(span_words: usize) -> usize {
    span_words.div_ceil(2)
}

/// w: of so many consecutive grams, as many as a span has, one is an anchor.
fn stride(span_words: usize) -> usize {
    span_words - gram_words(span_words) + 1
}

/// The hashes of all grams of a size.
fn hashes(words: &[u64], size: usize) -> Vec<u64> {
    let mut hashes = Vec::with_capacity(words.len());
    each_gram(words, size, |_, gram| hashes.push(gram));
    hashes
}

impl RepeatedGrams {
    /// The usual length of a span.
    pub const USUAL_WORDS: usize = 50;

    /// Before the first text. Spans have 10 to 1,000 words.
    ///
    /// # Errors
    /// [`SpanWordsError`] for another length.
    pub fn new(span_words: usize) -> Result<Self, SpanWordsError> {
        if !SPAN_WORDS.contains(&span_words) {
            return Err(SpanWordsError { found: span_words });
        }
        Ok(Self { span_words, anchors: HashTable::new() })
    }

    /// Reads the next text, given as the hashes of its words.
    pub fn add(&mut self, words: &[u64]) {
        if words.len() < self.span_words {
            return;
        }
        let stride = stride(self.span_words);
        let grams = hashes(words, gram_words(self.span_words));
        let mut next_anchor = stride - 1;
        for (at, gram) in grams.iter().enumerate() {
            if let Some(later) = grams.get(at + AHEAD) {
                self.anchors.prefetch(*later);
            }
            self.anchors.mark(*gram);
            if at == next_anchor {
                self.anchors.insert(*gram, ());
                next_anchor += stride;
            }
        }
    }

    /// The bytes of memory.
    pub fn bytes(&self) -> usize {
        self.anchors.bytes()
    }

    /// The second pass, before its first text.
    pub fn into_repeats<T: Copy + Default + Ord>(mut self) -> Repeats<T> {
        self.anchors.keep_marked();
        let (span_words, anchors) = (self.span_words, self.anchors);
        Repeats { span_words, anchors, spans: HashTable::new(), blocks: HashTable::new() }
    }
}

/// The second pass over a corpus, in the same order: finds the spans that occur earlier.
///
/// `T` is what is kept of the text with the first occurrence of each span: its number, or `()`,
/// which takes no memory.
#[derive(Clone, Debug)]
pub struct Repeats<T = ()> {
    span_words: usize,
    anchors: HashTable<Markable>,
    /// The hashes of the spans of N words around marked anchors, of all texts before.
    spans: HashTable<u64, T>,
    /// The hashes of blocks: the words of all spans with the same anchor. A text with a block of
    /// an earlier text repeats all spans of the block. Only if nothing is kept of first texts.
    blocks: HashTable<u64>,
}

/// Words of a text that are in spans that occur earlier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeat<T = ()> {
    /// The numbers of the words: at least N.
    pub words: Range<usize>,
    /// The distinct texts with the first occurrences of the spans, ascending.
    pub first_in: Vec<T>,
}

impl<T: Copy + Default + Ord> Repeats<T> {
    /// Whether nothing is kept of the text with the first occurrence of a span.
    const IS_PLAIN: bool = size_of::<T>() == 0;

    /// The words of the next text, given as the hashes of its words, that are in spans that occur
    /// earlier: repeats in order that neither overlap nor touch.
    pub fn find(&mut self, text: T, words: &[u64]) -> Vec<Repeat<T>> {
        let span_words = self.span_words;
        let mut found = Vec::new();
        if words.len() < span_words {
            return found;
        }
        let grams = AnchoredGrams::new(&mut self.anchors, words, span_words);
        if grams.repeated.is_empty() && !grams.own.contains(&true) {
            return found;
        }
        let hashes = RunHashes::new(words);
        let (spans, count) = (hashes.of_words(span_words), words.len() + 1 - span_words);
        let known = self.known_spans(&grams, &hashes);
        let is_stored = |at: usize| grams.own[at / grams.stride] && !known[at];
        let is_looked_up = |at: usize| !known[at] && grams.is_any(at..at + grams.stride);
        // A span is stored when the span that begins at its end is looked up: a span is no repeat
        // of a span that it overlaps.
        for at in 0..count + span_words {
            let ahead = at + AHEAD;
            if ahead < count && is_looked_up(ahead) {
                self.spans.prefetch(spans.at(ahead));
            }
            if let Some(ahead) = ahead.checked_sub(span_words).filter(|ahead| *ahead < count)
                && is_stored(ahead)
            {
                self.spans.prefetch(spans.at(ahead));
            }
            if let Some(before) = at.checked_sub(span_words).filter(|before| is_stored(*before)) {
                self.spans.insert(spans.at(before), text);
            }
            if at >= count {
                continue;
            }
            if known[at] {
                Repeat::extend(&mut found, at..at + span_words, text);
            } else if is_looked_up(at)
                && let Some(first) = self.spans.get(spans.at(at))
            {
                Repeat::extend(&mut found, at..at + span_words, first);
            }
        }
        self.store_blocks(&grams, &hashes, &known);
        for repeat in &mut found {
            repeat.first_in.sort_unstable();
            repeat.first_in.dedup();
        }
        found
    }

    /// Whether each span is known to occur in an earlier text, because it is in a block of spans
    /// that does.
    fn known_spans(&self, grams: &AnchoredGrams, hashes: &RunHashes) -> Vec<bool> {
        let mut known = vec![false; hashes.of_words(self.span_words).count()];
        if !Self::IS_PLAIN {
            return known;
        }
        let blocks = hashes.of_words(self.span_words + grams.stride - 1);
        let first = |gram: &u32| (*gram as usize + 1).checked_sub(grams.stride);
        let firsts = grams.repeated.iter().filter_map(first);
        for first in firsts.take_while(|first| *first < blocks.count()) {
            if self.blocks.get(blocks.at(first)).is_some() {
                known[first..first + grams.stride].fill(true);
            }
        }
        known
    }

    /// Stores the blocks of a text of which all spans are stored.
    fn store_blocks(&mut self, grams: &AnchoredGrams, hashes: &RunHashes, known: &[bool]) {
        if !Self::IS_PLAIN {
            return;
        }
        let blocks = hashes.of_words(self.span_words + grams.stride - 1);
        let firsts = (0..blocks.count()).step_by(grams.stride);
        for (first, _) in firsts.zip(&grams.own).filter(|(_, is_kept)| **is_kept) {
            if known[first..first + grams.stride].contains(&false) {
                self.blocks.insert(blocks.at(first), ());
            }
        }
    }

    /// The number of distinct spans that are kept, of all texts before.
    pub fn spans(&self) -> usize {
        self.spans.len()
    }

    /// The bytes of memory.
    pub fn bytes(&self) -> usize {
        self.anchors.bytes() + self.spans.bytes() + self.blocks.bytes()
    }
}

impl<T: Copy + Ord> Repeat<T> {
    /// Adds a span that does not begin before the last repeat.
    fn extend(repeats: &mut Vec<Self>, span: Range<usize>, first_in: T) {
        match repeats.last_mut() {
            Some(last) if span.start <= last.words.end => {
                last.words.end = span.end;
                // Neighbouring spans mostly have the same text.
                if last.first_in.last() != Some(&first_in) {
                    last.first_in.push(first_in);
                }
            }
            _ => repeats.push(Self { words: span, first_in: vec![first_in] }),
        }
    }
}

/// The grams of a text that are anchors.
struct AnchoredGrams {
    /// The grams that are anchors of texts before, or of the text before them, ascending.
    repeated: Vec<u32>,
    /// For each gram, the number of repeated grams up to it.
    up_to: Vec<u32>,
    /// Whether each anchor of the text occurs again, anywhere in the corpus.
    own: Vec<bool>,
    stride: usize,
}

impl AnchoredGrams {
    /// Marks the anchors of the text.
    fn new(anchors: &mut HashTable<Markable>, words: &[u64], span_words: usize) -> Self {
        let (grams, stride) = (hashes(words, gram_words(span_words)), stride(span_words));
        let mut up_to = Vec::with_capacity(grams.len());
        let (mut repeated, mut own) = (Vec::new(), Vec::with_capacity(grams.len() / stride));
        let mut next_anchor = stride - 1;
        for (at, gram) in grams.iter().enumerate() {
            if let Some(later) = grams.get(at + AHEAD) {
                anchors.prefetch(*later);
            }
            if anchors.is_marked(*gram) {
                repeated.push(at as u32);
            }
            up_to.push(repeated.len() as u32);
            if at == next_anchor {
                own.push(anchors.mark(*gram));
                next_anchor += stride;
            }
        }
        Self { repeated, up_to, own, stride }
    }

    /// Whether any gram of a range is repeated.
    #[inline]
    fn is_any(&self, grams: Range<usize>) -> bool {
        let before = grams.start.checked_sub(1).map_or(0, |before| self.up_to[before]);
        self.up_to[grams.end - 1] > before
    }
}
