//! Long texts are indexed in blocks, so that comparing a passage does not cut the whole text.

use std::cell::LazyCell;
use std::ops::Range;

use super::settings::PassageSettings;
use crate::scheme::Key;
use crate::text::{CharOffsets, WordSequence, sequence_fingerprint};

/// Where a block is in its text. Blocks overlap by the guaranteed length of a run less one word, so
/// every run of that length is in a block as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockPlace {
    first_word: u32,
    words: u32,
    bytes: [u32; 2],
    chars: u32,
}

impl BlockPlace {
    /// The numbers of its words in the text.
    pub fn words(&self) -> Range<usize> {
        self.first_word as usize..(self.first_word + self.words) as usize
    }

    /// The bytes of the text that have to be cut into words to get the words of the block: of the
    /// only block of a text, all bytes.
    pub fn bytes(&self) -> Range<usize> {
        self.bytes[0] as usize..self.bytes[1] as usize
    }

    /// The number of Unicode code points before the block.
    pub fn chars_before(&self) -> usize {
        self.chars as usize
    }
}

impl BlockPlace {
    /// The part of a text from the block with the first word of a range to the block with its last.
    pub(super) fn covering(blocks: &[Self], words: &Range<usize>) -> Self {
        let first = blocks.partition_point(|block| block.words().start <= words.start);
        let last = blocks.partition_point(|block| block.words().end < words.end);
        let (first, last) = (&blocks[first.max(1) - 1], &blocks[last.min(blocks.len() - 1)]);
        let words = (last.first_word + last.words).saturating_sub(first.first_word);
        Self { words, bytes: [first.bytes[0], last.bytes[1].max(first.bytes[1])], ..*first }
    }
}

/// The blocks of a text with their keys: all that the index needs of a text to add or remove it. It
/// has no words, so it takes about a tenth of the memory of a text.
#[derive(Clone, Debug)]
pub struct TextBlocks {
    blocks: Vec<BlockPlace>,
    sequences: Vec<Sequence>,
}

/// The words of a block, for the index.
#[derive(Clone, Debug)]
pub(super) struct Sequence {
    pub fingerprint: u64,
    /// The number of words.
    pub words: u32,
    pub keys: Vec<Key>,
}

impl TextBlocks {
    /// Divides the words of a text, which [`Shingler::words`](crate::Shingler::words) returns for
    /// the text. A text of up to 4,096 words is one block.
    pub fn new(settings: PassageSettings, text: &str, words: &WordSequence) -> Self {
        let blocks = places(settings, text, words);
        let sequence = |block: &BlockPlace| {
            let hashes = &words.hashes()[block.words()];
            Sequence {
                fingerprint: sequence_fingerprint(hashes),
                words: block.words,
                keys: settings.keys(hashes),
            }
        };
        let sequences = blocks.iter().map(sequence).collect();
        Self { blocks, sequences }
    }

    /// The number of words of the text.
    pub fn words(&self) -> usize {
        self.blocks.last().map_or(0, |block| block.words().end)
    }

    /// The blocks in the order of the text.
    pub fn blocks(&self) -> &[BlockPlace] {
        &self.blocks
    }

    /// The sequence of each block.
    pub(super) fn sequences(&self) -> &[Sequence] {
        &self.sequences
    }
}

/// Blocks begin and end where the text can be cut: normalisation rewrites some pieces of text as a
/// whole, and a block has all words of a piece. A block that a long piece fills is longer.
fn places(settings: PassageSettings, text: &str, words: &WordSequence) -> Vec<BlockPlace> {
    let offsets = LazyCell::new(|| CharOffsets::new(text));
    let chars_before = |byte| offsets.at(byte) as u32;
    let overlap = settings.run_words() - 1;
    let (mut blocks, mut first, mut size) = (Vec::new(), 0, settings.block_words);
    while first < words.len() {
        let mut end = (first + size).min(words.len());
        while !words.can_cut_before(end) {
            end += 1;
        }
        let mut next = if end == words.len() { end } else { end - overlap };
        while !words.can_cut_before(next) {
            next -= 1;
        }
        if next <= first {
            size *= 2;
            continue;
        }
        let bytes = words.bytes(first..end);
        let from = if first == 0 { 0 } else { bytes.start };
        let to = if end == words.len() { text.len() } else { bytes.end };
        blocks.push(BlockPlace {
            first_word: first as u32,
            words: (end - first) as u32,
            bytes: [from as u32, to as u32],
            chars: if from == 0 { 0 } else { chars_before(from) },
        });
        (first, size) = (next, settings.block_words);
    }
    blocks
}
