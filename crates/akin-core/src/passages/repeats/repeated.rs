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

/// w: the grams of a span.
fn grams_of_span(span_words: usize) -> usize {
    span_words - gram_words(span_words) + 1
}

/// The hashes of all grams of a size.
fn hashes(words: &[u64], size: usize) -> Vec<u64> {
    let mut hashes = Vec::with_capacity(words.len());
    each_gram(words, size, |_, gram| hashes.push(gram));
    hashes
}

/// Visits the anchor of each span, the gram with the lowest hash and of equal grams the last, and
/// the spans that follow each other with the same anchor.
fn each_anchor(grams: &[u64], of_span: usize, mut visit: impl FnMut(Range<usize>, u64)) {
    let lowest = |grams: &[u64], first: usize| {
        let mut lowest = 0;
        for (at, gram) in grams.iter().enumerate() {
            if *gram <= grams[lowest] {
                lowest = at;
            }
        }
        first + lowest
    };
    let mut anchor = lowest(&grams[..of_span], 0);
    let mut first = 0;
    for span in 1..=grams.len() - of_span {
        let entered = span + of_span - 1;
        let next = if grams[entered] <= grams[anchor] {
            entered
        } else if anchor < span {
            lowest(&grams[span..=entered], span)
        } else {
            continue;
        };
        visit(first..span, grams[anchor]);
        (anchor, first) = (next, span);
    }
    visit(first..grams.len() + 1 - of_span, grams[anchor]);
}

/// The anchors of a text, each with the spans that follow each other with it.
fn anchors(words: &[u64], span_words: usize) -> Vec<(Range<usize>, u64)> {
    let (grams, mut anchors) = (hashes(words, gram_words(span_words)), Vec::new());
    each_anchor(&grams, grams_of_span(span_words), |spans, anchor| anchors.push((spans, anchor)));
    anchors
}

/// Prefetches the memory of an anchor that comes soon after this one.
#[inline]
fn prefetch_anchor(table: &HashTable<Markable>, anchors: &[(Range<usize>, u64)], at: usize) {
    if let Some((_, ahead)) = anchors.get(at + AHEAD) {
        table.prefetch(*ahead);
    }
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
        let anchors = anchors(words, self.span_words);
        for (at, (_, anchor)) in anchors.iter().enumerate() {
            prefetch_anchor(&self.anchors, &anchors, at);
            if !self.anchors.mark(*anchor) {
                self.anchors.insert(*anchor, ());
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
    /// The hashes of the words of spans that follow each other with the same anchor. A text with
    /// such words of an earlier text repeats all these spans. Only if nothing is kept of the text
    /// with the first occurrence.
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
        let mut blocks = self.blocks_of(words);
        if blocks.is_empty() {
            return found;
        }
        let hashes = RunHashes::new(words);
        if Self::IS_PLAIN {
            for SpanBlock { spans, hash, .. } in &mut blocks {
                *hash = hashes.at(spans.start..spans.end + span_words - 1);
            }
        }
        let (spans, count) = (hashes.of_words(span_words), words.len() + 1 - span_words);
        let mut tasks = vec![SpanTask::default(); count];
        for (at, SpanBlock { spans, task, hash }) in blocks.iter().enumerate() {
            if let Some(ahead) = blocks.get(at + AHEAD).filter(|_| Self::IS_PLAIN) {
                self.blocks.prefetch(ahead.hash);
            }
            let is_known = task.is_looked_up && Self::IS_PLAIN && self.blocks.get(*hash).is_some();
            let task = if is_known { SpanTask { is_known, ..SpanTask::default() } } else { *task };
            tasks[spans.clone()].fill(task);
        }
        // A span is stored when the span that begins at its end is looked up: a span is no repeat
        // of a span that it overlaps.
        for at in 0..count + span_words {
            let ahead = at + AHEAD;
            if tasks.get(ahead).is_some_and(|task| task.is_looked_up) {
                self.spans.prefetch(spans.at(ahead));
            }
            if let Some(ahead) = ahead.checked_sub(span_words)
                && tasks.get(ahead).is_some_and(|task| task.is_stored)
            {
                self.spans.prefetch(spans.at(ahead));
            }
            if let Some(before) = at.checked_sub(span_words).filter(|it| tasks[*it].is_stored) {
                self.spans.insert(spans.at(before), text);
            }
            let Some(task) = tasks.get(at) else { continue };
            if task.is_known {
                Repeat::extend(&mut found, at..at + span_words, text);
            } else if task.is_looked_up
                && let Some(first) = self.spans.get(spans.at(at))
            {
                Repeat::extend(&mut found, at..at + span_words, first);
            }
        }
        for SpanBlock { spans, hash, .. } in blocks {
            if Self::IS_PLAIN && tasks[spans.start].is_stored {
                self.blocks.insert(hash, ());
            }
        }
        for repeat in &mut found {
            repeat.first_in.sort_unstable();
            repeat.first_in.dedup();
        }
        found
    }

    /// The spans of a text whose anchor occurs again, anywhere in the corpus, by their anchors.
    fn blocks_of(&mut self, words: &[u64]) -> Vec<SpanBlock> {
        let anchors = anchors(words, self.span_words);
        let mut blocks = Vec::new();
        for (at, (spans, anchor)) in anchors.iter().enumerate() {
            prefetch_anchor(&self.anchors, &anchors, at);
            let is_looked_up = self.anchors.is_marked(*anchor);
            if self.anchors.mark(*anchor) {
                let task = SpanTask { is_looked_up, is_stored: true, is_known: false };
                blocks.push(SpanBlock { spans: spans.clone(), task, hash: 0 });
            }
        }
        blocks
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

/// Spans that follow each other with the same anchor.
struct SpanBlock {
    spans: Range<usize>,
    task: SpanTask,
    /// Of the words of all its spans, if such hashes are kept.
    hash: u64,
}

/// What is done with a span.
#[derive(Clone, Copy, Default)]
struct SpanTask {
    /// A span before has the same anchor.
    is_looked_up: bool,
    /// The anchor occurs again.
    is_stored: bool,
    /// The span occurs in an earlier text, as all spans of its block do.
    is_known: bool,
}
