//! The anchors of the spans of a text.

use std::ops::Range;

use super::super::grams::each_gram;

/// Spans that follow each other with the same anchor.
pub(super) struct Block {
    /// The first word of each span.
    pub spans: Range<usize>,
    /// The first word of the anchor.
    pub anchor: usize,
    /// The hash of the anchor.
    pub hash: u64,
}

impl Block {
    /// The words of the spans.
    pub fn words(&self, span_words: usize) -> Range<usize> {
        self.spans.start..self.spans.end - 1 + span_words
    }
}

/// k: words of a gram.
fn gram_words(span_words: usize) -> usize {
    span_words.div_ceil(2)
}

/// w: the grams of a span.
fn grams_of_span(span_words: usize) -> usize {
    span_words - gram_words(span_words) + 1
}

/// Visits the anchor of each span, the gram with the lowest hash and of equal grams the last.
pub(super) fn each_block(words: &[u64], span_words: usize, mut visit: impl FnMut(Block)) {
    if words.len() < span_words {
        return;
    }
    let mut grams = Vec::with_capacity(words.len());
    each_gram(words, gram_words(span_words), |_, gram| grams.push(gram));
    let lowest = |grams: &[u64], first: usize| {
        let mut lowest = 0;
        for (at, gram) in grams.iter().enumerate() {
            if *gram <= grams[lowest] {
                lowest = at;
            }
        }
        first + lowest
    };
    let of_span = grams_of_span(span_words);
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
        visit(Block { spans: first..span, anchor, hash: grams[anchor] });
        (anchor, first) = (next, span);
    }
    visit(Block { spans: first..grams.len() + 1 - of_span, anchor, hash: grams[anchor] });
}
