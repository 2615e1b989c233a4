//! Words of earlier texts around anchors.

use std::num::NonZeroU32;
use std::ops::Range;

use super::anchors::Block;
use crate::simd::prefetch;

/// The number of a context, from 1 on.
pub(super) type ContextNumber = NonZeroU32;

/// The contexts of all texts before, and of the current text.
#[derive(Clone, Debug, Default)]
pub(super) struct Contexts {
    all: Vec<Context>,
    texts: Vec<KeptText>,
    /// The words of all kept texts.
    words: usize,
    /// The number of contexts of the texts before the current one.
    of_texts_before: usize,
}

/// The words of the spans of a [`Block`].
#[derive(Clone, Copy, Debug)]
struct Context {
    /// The place of the text among the kept texts.
    text: u32,
    /// The first word of the anchor: among the words that are kept of the text, or in the current
    /// text.
    anchor: u32,
    words_before: u16,
    /// With the anchor.
    words_after: u16,
    /// Another context of the same anchor, which was added later.
    next: Option<ContextNumber>,
}

/// The words of the contexts of a text.
#[derive(Clone, Debug)]
struct KeptText {
    number: u32,
    words: Box<[u64]>,
}

/// The spans of a block whose words a context has.
pub(super) struct CommonSpans {
    pub spans: Range<usize>,
    /// The number of the text with the context; `None` if the context is in the current text and
    /// overlaps the spans.
    pub first_in: Option<u32>,
}

impl Context {
    fn words(&self) -> Range<usize> {
        let anchor = self.anchor as usize;
        anchor - usize::from(self.words_before)..anchor + usize::from(self.words_after)
    }
}

impl Contexts {
    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn bytes(&self) -> usize {
        self.all.capacity() * size_of::<Context>()
            + self.texts.capacity() * size_of::<KeptText>()
            + self.words * size_of::<u64>()
    }

    /// Prefetches a context.
    #[inline]
    pub fn prefetch(&self, number: ContextNumber) {
        prefetch(&self.all[place(number)]);
    }

    /// Prefetches the words around the anchor of a context of a text before.
    #[inline]
    pub fn prefetch_words(&self, number: ContextNumber) {
        let context = &self.all[place(number)];
        let words = self.texts.get(context.text as usize).map(|text| &text.words);
        if let Some(word) = words.and_then(|words| words.get(context.anchor as usize)) {
            prefetch(word);
        }
    }

    /// The context that was added after this one for the same anchor.
    pub fn next(&self, number: ContextNumber) -> Option<ContextNumber> {
        self.all[place(number)].next
    }

    /// Compares the words around the anchor of a block of the current text with a context.
    pub fn common(
        &self,
        number: ContextNumber,
        block: &Block,
        (text, words): (u32, &[u64]),
        span_words: usize,
    ) -> CommonSpans {
        let context = &self.all[place(number)];
        let (kept, first_in) = if place(number) < self.of_texts_before {
            let kept = &self.texts[context.text as usize];
            (&kept.words[..], Some(kept.number))
        } else {
            let is_before = context.anchor as usize + span_words <= block.anchor;
            (words, is_before.then_some(text))
        };
        let (old, new) = (context.words(), block.words(span_words));
        let (anchor, at) = (context.anchor as usize, block.anchor);
        let before = common_suffix(&kept[old.start..anchor], &words[new.start..at]);
        let after = common_prefix(&kept[anchor..old.end], &words[at..new.end]);
        let spans = at - before..(at + after + 1).saturating_sub(span_words);
        let none = new.start..new.start;
        CommonSpans { spans: if spans.is_empty() { none } else { spans }, first_in }
    }

    /// Adds the words of a block of the current text, after the last context of the same anchor.
    /// `None` if there are as many contexts as there are numbers.
    pub fn add(
        &mut self,
        block: &Block,
        span_words: usize,
        last: Option<ContextNumber>,
    ) -> Option<ContextNumber> {
        let number = u32::try_from(self.all.len() + 1).ok().and_then(ContextNumber::new)?;
        let words = block.words(span_words);
        self.all.push(Context {
            text: self.texts.len() as u32,
            anchor: u32::try_from(block.anchor).expect("a text has less than 2³² words"),
            // A block has less spans than a span has words, of which there are at most 1,000.
            words_before: (block.anchor - words.start) as u16,
            words_after: (words.end - block.anchor) as u16,
            next: None,
        });
        if let Some(last) = last {
            self.all[place(last)].next = Some(number);
        }
        Some(number)
    }

    /// Keeps the words of the contexts of the current text, and begins the next text.
    pub fn end_text(&mut self, number: u32, words: &[u64]) {
        let own = &mut self.all[self.of_texts_before..];
        if own.is_empty() {
            return;
        }
        let (mut kept, mut end) = (Vec::new(), 0);
        for context in own {
            // Contexts come in the order of their words, and may overlap.
            let range = context.words();
            kept.extend_from_slice(&words[range.start.max(end)..range.end]);
            context.anchor = (kept.len() - usize::from(context.words_after)) as u32;
            end = range.end;
        }
        self.words += kept.len();
        self.texts.push(KeptText { number, words: kept.into_boxed_slice() });
        self.of_texts_before = self.all.len();
    }
}

fn place(number: ContextNumber) -> usize {
    number.get() as usize - 1
}

/// The number of words at the start of both.
fn common_prefix(a: &[u64], b: &[u64]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// The number of words at the end of both.
fn common_suffix(a: &[u64], b: &[u64]) -> usize {
    a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count()
}
