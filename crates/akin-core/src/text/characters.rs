//! The characters of a text, and the shingles made of them.

use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::words::TextRules;

/// A normalised text, prepared for shingles of characters: lowercased if letter case is ignored;
/// each run of white space becomes a space, and is dropped at the ends.
#[derive(Debug, Default)]
pub(super) struct SpacedText {
    text: String,
    /// Where each character starts, and the text's end.
    starts: Vec<usize>,
}

impl SpacedText {
    /// Visits the bytes that each character covers in the text. A run of white space is a single
    /// character. The characters that result from lowercasing a character cover that character.
    pub(super) fn new(text: &str, rules: TextRules, mut visit: impl FnMut(Range<usize>)) -> Self {
        let mut spaced = Self::with_capacity(text.len());
        let mut space: Option<Range<usize>> = None;
        for (at, character) in text.char_indices() {
            let end = at + character.len_utf8();
            if character.is_whitespace() {
                let start = space.map_or(at, |space| space.start);
                space = Some(start..end);
                continue;
            }
            // Space before the first character or after the last is never pushed.
            if let Some(range) = space.take().filter(|_| !spaced.text.is_empty()) {
                spaced.push(' ', rules, || visit(range.clone()));
            }
            spaced.push(character, rules, || visit(at..end));
        }
        spaced.starts.push(spaced.text.len());
        spaced
    }

    fn with_capacity(bytes: usize) -> Self {
        Self { text: String::with_capacity(bytes), starts: Vec::with_capacity(bytes + 1) }
    }

    fn push(&mut self, character: char, rules: TextRules, mut visit: impl FnMut()) {
        let start = self.text.len();
        rules.push_folded(character, &mut self.text);
        for (at, _) in self.text[start..].char_indices() {
            self.starts.push(start + at);
            visit();
        }
    }

    pub(super) fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// The hash of each window of `size` characters.
    pub(super) fn shingles(&self, size: usize, seed: u64) -> Vec<u64> {
        let bytes = self.text.as_bytes();
        let ends = self.starts.iter().skip(size);
        let windows = self.starts.iter().zip(ends);
        windows.map(|(&start, &end)| xxh3_64_with_seed(&bytes[start..end], seed)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Normalize;
    use super::*;

    fn space(text: &str) -> (String, Vec<&str>) {
        let mut covered = Vec::new();
        let rules = TextRules::new(Normalize::None, true);
        let spaced = SpacedText::new(text, rules, |range| covered.push(&text[range]));
        assert_eq!(spaced.count(), covered.len());
        (spaced.text, covered)
    }

    #[test]
    fn white_space_is_collapsed_and_trimmed() {
        let (text, covered) = space("\t A \r\n b\u{a0}\u{3000}c\n");
        assert_eq!(text, "a b c");
        assert_eq!(covered, ["A", " \r\n ", "b", "\u{a0}\u{3000}", "c"]);
        assert_eq!(space(" \n ").0, "");
        assert_eq!(space(""), (String::new(), vec![]));
    }

    #[test]
    fn characters_added_by_lowercasing_cover_their_origin() {
        let (text, covered) = space("İẞx");
        assert_eq!(text, "i\u{307}ßx");
        assert_eq!(covered, ["İ", "İ", "ẞ", "x"]);
    }
}
