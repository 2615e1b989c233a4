//! The words of a text in order, and where they are in it.

use std::ops::Range;
use std::sync::Arc;

use super::classes::letters_of_word;
use super::hash::combine_whole;

/// The hashes of a text's words in order, each with its range of bytes in the original text.
///
/// ```
/// use akin_core::text::{CharOffsets, ShingleSettings, Shingler};
///
/// let shingler = Shingler::new(ShingleSettings::default(), 0, 1_000_000);
/// let text = "Ünder the SEA";
/// let words = shingler.words(text)?;
/// assert_eq!(&text[words.bytes(1..3)], "the SEA");
/// assert_eq!(words.hashes()[2], shingler.words("sea")?.hashes()[0]);
/// assert_eq!(CharOffsets::new(text).range(words.bytes(1..3)), 6..13);
/// # Ok::<(), akin_core::ShingleError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WordSequence {
    pub(super) hashes: Vec<u64>,
    /// Start and end. A piece of text that normalisation rewrites counts as a whole, so the ranges
    /// of neighbouring words may overlap; starts and ends never decrease.
    pub(super) ranges: Vec<[u32; 2]>,
}

impl WordSequence {
    /// The hash of each word.
    pub fn hashes(&self) -> &[u64] {
        &self.hashes
    }

    /// The number of words.
    pub fn len(&self) -> usize {
        self.hashes.len()
    }

    /// Whether the text has no word.
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// The bytes of the original text from the first to the last word of a range of words.
    ///
    /// # Panics
    /// If the range is empty or ends after the last word.
    pub fn bytes(&self, words: Range<usize>) -> Range<usize> {
        assert!(!words.is_empty(), "an empty range of words has no place in a text");
        self.ranges[words.start][0] as usize..self.ranges[words.end - 1][1] as usize
    }

    /// How many words a reader counts in a range of words: in scripts without spaces, where each
    /// letter is a word here, as many letters as make a word on average count as one.
    /// `text`: the original text.
    pub fn readers_words(&self, text: &str, words: Range<usize>) -> usize {
        let (mut whole, mut parts) = (0, 0.0);
        for range in &self.ranges[words] {
            match text.as_bytes()[range[0] as usize].is_ascii() {
                true => whole += 1,
                false => parts += share_of_word(text, *range),
            }
        }
        whole + (parts + ROUNDING) as usize
    }

    /// The words of a reader, if the text has letters of scripts without spaces. `text`: the
    /// original text.
    pub fn readers(&self, text: &str) -> Option<ReaderWords> {
        if text.is_ascii() {
            return None;
        }
        let mut sums = Vec::with_capacity(self.ranges.len() + 1);
        sums.push(0.0);
        for range in &self.ranges {
            sums.push(sums[sums.len() - 1] + share_of_word(text, *range));
        }
        (sums[self.len()] < self.len() as f64).then(|| ReaderWords(sums.into()))
    }

    /// Whether the text can be cut before a word: no byte belongs to the words before it and to
    /// the words from it on. A text can be cut before its first word and after its last.
    pub(crate) fn can_cut_before(&self, word: usize) -> bool {
        match (self.ranges.get(word.wrapping_sub(1)), self.ranges.get(word)) {
            (Some(before), Some(after)) => before[1] <= after[0],
            _ => true,
        }
    }
}

/// Halves and tenths have no exact sums.
const ROUNDING: f64 = 1e-6;

/// The part of a reader's word that a word here is.
fn share_of_word(text: &str, [start, _]: [u32; 2]) -> f64 {
    1.0 / letters_of_word(text[start as usize..].chars().next().unwrap_or(' '))
}

/// How many words a reader counts in each part of a text.
#[derive(Clone, Debug, PartialEq)]
pub struct ReaderWords(Arc<[f64]>);

impl ReaderWords {
    /// How many words a reader counts in a range of words. Parts of words count.
    ///
    /// # Panics
    /// If the text has fewer words.
    pub fn count(&self, words: Range<usize>) -> f64 {
        self.0[words.end] - self.0[words.start] + ROUNDING
    }
}

/// The fingerprint of a sequence of words: a hash that depends on the order of the words.
pub(crate) fn sequence_fingerprint(hashes: &[u64]) -> u64 {
    combine_whole(hashes)
}

/// Converts offsets in bytes to offsets in Unicode code points.
///
/// Making it takes a pass over the text; a conversion reads at most a kilobyte of the text.
#[derive(Clone, Debug)]
pub struct CharOffsets<'t> {
    text: &'t str,
    /// The number of code points before each multiple of [`CHUNK_BYTES`].
    before: Vec<u32>,
}

const CHUNK_BYTES: usize = 1_024;

impl<'t> CharOffsets<'t> {
    /// Reads a text once.
    pub fn new(text: &'t str) -> Self {
        let (mut sum, chunks) = (0, text.as_bytes().chunks(CHUNK_BYTES));
        let mut before = Vec::with_capacity(text.len() / CHUNK_BYTES + 2);
        for chunk in chunks {
            before.push(sum);
            sum += chars(chunk);
        }
        before.push(sum);
        Self { text, before }
    }

    /// The number of code points before a byte. Within a character, the character counts.
    ///
    /// # Panics
    /// If the text has fewer bytes.
    pub fn at(&self, byte: usize) -> usize {
        let chunk = byte / CHUNK_BYTES;
        let rest = &self.text.as_bytes()[chunk * CHUNK_BYTES..byte];
        (self.before[chunk.min(self.before.len() - 1)] + chars(rest)) as usize
    }

    /// The code points of a range of bytes.
    pub fn range(&self, bytes: Range<usize>) -> Range<usize> {
        self.at(bytes.start)..self.at(bytes.end)
    }
}

/// The number of bytes that begin a code point.
fn chars(bytes: &[u8]) -> u32 {
    bytes.iter().map(|byte| u32::from((*byte as i8) >= -0x40)).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Normalize, ShingleSettings, Shingler};
    use super::*;

    fn shingler(normalize: Normalize, lowercase: bool) -> Shingler {
        let settings = ShingleSettings { normalize, lowercase, size: 1, ..Default::default() };
        Shingler::new(settings, 0, usize::MAX)
    }

    #[test]
    fn words_are_the_shingles_of_one_word() {
        for lowercase in [true, false] {
            for normalize in [Normalize::Nfkc, Normalize::Nfc, Normalize::None] {
                let shingler = shingler(normalize, lowercase);
                let text =
                    "It\u{2019}s ½ of the ﬁrst İstanbul, «Straße» e\u{301}té 我是 ﷺ!".repeat(300);
                let words = shingler.words(&text).unwrap();
                let mut ranges = Vec::new();
                shingler.spans(&text, |_, range| ranges.push(range)).unwrap();
                let found: Vec<_> = (0..words.len()).map(|at| words.bytes(at..at + 1)).collect();
                assert_eq!(found, ranges, "{normalize:?} {lowercase}");
                let alone = |range: &Range<usize>| shingler.words(&text[range.clone()]).unwrap();
                assert_eq!(alone(&ranges[0]).hashes()[0], words.hashes()[0]);
            }
        }
    }

    #[test]
    fn a_reader_counts_fewer_words_than_letters_in_scripts_without_spaces() {
        let shingler = shingler(Normalize::Nfkc, true);
        for (text, tokens, readers) in [
            ("It’s 13 ordinary words", 4, 4),
            ("我们的世界很大很美丽也很小啊好", 15, 9),
            ("すごいスピード", 7, 3),
            ("ประเทศไทย", 9, 3),
            ("한글 단어", 2, 2),
            ("အပြည်ပြည်ဆိုင်ရာ လူ့အခွင့်အရေး", 14, 6),
            ("ꪁꪫꪱꪣ ꪜꪱꪫ ꪹꪕꪸꪉ", 10, 4),
            ("ᨠᩣ᩠ᩁᨷᨯ", 4, 2),
            ("ꀀꀁꀂꀃꀄꀅꀆ", 7, 5),
            ("ꦲꦗꦶꦮꦺꦴꦁ", 3, 1),
            ("twenty 二十個", 4, 2),
        ] {
            let words = shingler.words(text).unwrap();
            assert_eq!(words.len(), tokens, "{text}");
            assert_eq!(words.readers_words(text, 0..tokens), readers, "{text}");
            assert_eq!(words.readers_words(text, 0..0), 0);
            let counted = words.readers(text).map(|readers| readers.count(0..tokens) as usize);
            assert_eq!(counted, (tokens > readers).then_some(readers), "{text}");
        }
    }

    proptest! {
        #[test]
        fn ranges_are_equal_on_both_paths(text in "[a-zA-ZéßİK ﬁ中'.\u{301}½０-９]{0,200}") {
            for normalize in [Normalize::Nfkc, Normalize::Nfc, Normalize::None] {
                let shingler = shingler(normalize, true);
                let words = shingler.words(&text).unwrap();
                let mut ranges = Vec::new();
                let whole = shingler.spans(&text, |_, range| ranges.push(range));
                prop_assert_eq!(whole, Ok(()));
                let found: Vec<_> = (0..words.len()).map(|at| words.bytes(at..at + 1)).collect();
                prop_assert_eq!(found, ranges);
            }
        }

        #[test]
        fn code_points_are_counted_at_every_byte(text in "[a中é𝒜]{0,900}") {
            let offsets = CharOffsets::new(&text);
            for (number, (byte, _)) in text.char_indices().enumerate() {
                prop_assert_eq!(offsets.at(byte), number);
            }
            prop_assert_eq!(offsets.at(text.len()), text.chars().count());
        }
    }
}
