//! The two passes.

use std::collections::VecDeque;
use std::ops::Range;

use super::super::grams::RunHashes;
use super::anchors::{Block, each_block};
use super::contexts::{CommonSpans, ContextNumber, Contexts};
use super::table::{HashTable, Markable};

/// Prefetch distance, in blocks.
const AHEAD: usize = 4;

/// How many contexts of an anchor are compared with each text.
pub(super) const CONTEXTS_MAX: usize = 4;

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
        let mut anchors = Vec::new();
        each_block(words, self.span_words, |block| {
            self.anchors.prefetch(block.hash);
            anchors.push(block.hash);
        });
        for anchor in anchors {
            self.anchors.insert_or_mark(anchor);
        }
    }

    /// The bytes of memory.
    pub fn bytes(&self) -> usize {
        self.anchors.bytes()
    }

    /// The second pass, before its first text.
    pub fn into_repeats(self) -> Repeats {
        Repeats {
            span_words: self.span_words,
            anchors: self.anchors.into_marked(),
            contexts: Contexts::default(),
            spans: HashTable::new(),
        }
    }
}

/// The second pass over a corpus, in the same order: finds the spans that occur earlier.
#[derive(Clone, Debug)]
pub struct Repeats {
    span_words: usize,
    /// The anchors that occur again, anywhere in the corpus, each with its first context.
    anchors: HashTable<Markable, Option<ContextNumber>>,
    contexts: Contexts,
    /// The hashes of spans that are in no context because their anchors have as many contexts as
    /// are allowed, each with the number of the text with its first occurrence.
    pub(super) spans: HashTable<u64, u32>,
}

/// Words of a text that are in spans that occur earlier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeat {
    /// The numbers of the words: at least N.
    pub words: Range<usize>,
    /// The distinct texts with the first occurrences of the spans, ascending.
    pub first_in: Vec<u32>,
}

impl Repeats {
    /// The words of the next text, given as its number and the hashes of its words, that are in
    /// spans that occur earlier: repeats in order that neither overlap nor touch.
    pub fn find(&mut self, text: u32, words: &[u64]) -> Vec<Repeat> {
        let blocks = self.repeated_blocks(words);
        let hashes = None;
        let (found, states, waiting) = (Vec::new(), Vec::new(), VecDeque::new());
        let mut search = TextSearch { of: self, text, words, hashes, found, states, waiting };
        for (at, (block, first)) in blocks.iter().enumerate() {
            if let Some((_, Some(ahead))) = blocks.get(at + AHEAD) {
                search.of.contexts.prefetch_words(*ahead);
            }
            search.find(block, *first);
        }
        search.finish()
    }

    /// The spans of a text whose anchor occurs again, with the first context of the anchor in the
    /// texts before.
    fn repeated_blocks(&self, words: &[u64]) -> Vec<(Block, Option<ContextNumber>)> {
        let mut blocks = Vec::new();
        each_block(words, self.span_words, |block| {
            self.anchors.prefetch(block.hash);
            blocks.push((block, None));
        });
        blocks.retain_mut(|(block, first)| {
            let context = self.anchors.get(block.hash);
            *first = context.flatten();
            if let Some(context) = first {
                self.contexts.prefetch(*context);
            }
            context.is_some()
        });
        blocks
    }

    /// How many contexts and spans are kept of all texts before.
    pub fn kept(&self) -> usize {
        self.contexts.len() + self.spans.len()
    }

    /// The bytes of memory.
    pub fn bytes(&self) -> usize {
        self.anchors.bytes() + self.contexts.bytes() + self.spans.bytes()
    }
}

impl Repeat {
    /// Adds words that do not begin before the last repeat.
    fn extend(repeats: &mut Vec<Self>, words: Range<usize>, first_in: u32) {
        match repeats.last_mut() {
            Some(last) if words.start <= last.words.end => {
                last.words.end = words.end;
                // Neighbouring spans mostly have the same text.
                if last.first_in.last() != Some(&first_in) {
                    last.first_in.push(first_in);
                }
            }
            _ => repeats.push(Self { words, first_in: vec![first_in] }),
        }
    }
}

/// The search of a text for the spans that occur earlier.
struct TextSearch<'r> {
    of: &'r mut Repeats,
    text: u32,
    words: &'r [u64],
    hashes: Option<RunHashes>,
    found: Vec<Repeat>,
    /// Of the spans of a block.
    states: Vec<SpanState>,
    /// Spans whose hashes are kept once the spans that they overlap have been looked up.
    waiting: VecDeque<usize>,
}

/// The state of a span.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SpanState {
    New,
    /// The span occurs earlier only where it overlaps itself.
    Overlapping,
    /// The number of the text with the first occurrence.
    FoundIn(u32),
}

impl TextSearch<'_> {
    /// Finds the spans of a block, and keeps its new spans. `first`: the first context of the
    /// anchor in the texts before.
    fn find(&mut self, block: &Block, first: Option<ContextNumber>) {
        let span_words = self.of.span_words;
        self.states.clear();
        self.states.resize(block.spans.len(), SpanState::New);
        let first = first.or_else(|| self.of.anchors.get(block.hash).flatten());
        let (mut last, mut next, mut count) = (None, first, 0);
        while let Some(number) = next {
            let text = (self.text, self.words);
            let common = self.of.contexts.common(number, block, text, span_words);
            if let Some(first_in) = common.first_in.filter(|_| common.spans == block.spans)
                && count == 0
            {
                Repeat::extend(&mut self.found, block.words(span_words), first_in);
                return;
            }
            self.take(&common, block);
            (last, next, count) = (next, self.of.contexts.next(number), count + 1);
        }
        if self.states.contains(&SpanState::New) {
            self.keep(block, last, count);
        }
        for (at, state) in block.spans.clone().zip(&self.states) {
            if let SpanState::FoundIn(first_in) = state {
                Repeat::extend(&mut self.found, at..at + span_words, *first_in);
            }
        }
    }

    /// Takes the spans that a context has. Contexts come in the order of their texts.
    fn take(&mut self, common: &CommonSpans, block: &Block) {
        let [start, end] = [common.spans.start, common.spans.end].map(|at| at - block.spans.start);
        for state in &mut self.states[start..end] {
            *state = match (*state, common.first_in) {
                (SpanState::FoundIn(text), _) | (_, Some(text)) => SpanState::FoundIn(text),
                (_, None) => SpanState::Overlapping,
            };
        }
    }

    /// Keeps the new spans of a block whose anchor has this last context and so many contexts.
    fn keep(&mut self, block: &Block, last: Option<ContextNumber>, count: usize) {
        if count < CONTEXTS_MAX
            && let Some(added) = self.of.contexts.add(block, self.of.span_words, last)
        {
            if last.is_none() {
                self.of.anchors.set(block.hash, Some(added));
            }
            return;
        }
        let hashes = self.hashes.get_or_insert_with(|| RunHashes::new(self.words));
        let hashes = hashes.of_words(self.of.span_words);
        let kept = &mut self.of.spans;
        block.spans.clone().for_each(|span| kept.prefetch(hashes.at(span)));
        for (at, state) in block.spans.clone().zip(&mut self.states) {
            if *state != SpanState::New {
                continue;
            }
            // A span is no repeat of a span that it overlaps.
            let is_before = |span: &usize| *span + self.of.span_words <= at;
            while let Some(span) = self.waiting.front().copied().filter(is_before) {
                kept.insert(hashes.at(span), self.text);
                self.waiting.pop_front();
            }
            match kept.get(hashes.at(at)) {
                Some(text) => *state = SpanState::FoundIn(text),
                None => self.waiting.push_back(at),
            }
        }
    }

    /// The repeats of the text. Keeps the words of its contexts, and the spans that wait.
    fn finish(self) -> Vec<Repeat> {
        let Self { of, text, words, hashes, mut found, waiting, .. } = self;
        if let Some(hashes) = hashes {
            let hashes = hashes.of_words(of.span_words);
            for span in waiting {
                of.spans.insert(hashes.at(span), text);
            }
        }
        of.contexts.end_text(text, words);
        for repeat in &mut found {
            repeat.first_in.sort_unstable();
            repeat.first_in.dedup();
        }
        found
    }
}
