//! The characters of a text, and the shingles made of them.

use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::words::push_folded;

/// A text as its characters are shingled: lowercased if that is wanted, each run of white space
/// one space, none at the ends.
#[derive(Debug, Default)]
pub(super) struct Normalised {
    text: String,
    /// Where each character starts, and the text's end.
    starts: Vec<usize>,
}

impl Normalised {
    /// Visits each character's place in the original text on the way. A run of white space is one
    /// place; what lowercasing makes of a character has the place of that character.
    pub(super) fn new(text: &str, lowercase: bool, mut visit: impl FnMut(Range<usize>)) -> Self {
        let mut normalised = Self::with_capacity(text.len());
        let mut space: Option<Range<usize>> = None;
        for (at, character) in text.char_indices() {
            let end = at + character.len_utf8();
            if character.is_whitespace() {
                let start = space.map_or(at, |space| space.start);
                space = Some(start..end);
                continue;
            }
            // Space before the first character or after the last is never pushed.
            if let Some(place) = space.take().filter(|_| !normalised.text.is_empty()) {
                normalised.push(' ', false, || visit(place.clone()));
            }
            normalised.push(character, lowercase, || visit(at..end));
        }
        normalised.starts.push(normalised.text.len());
        normalised
    }

    fn with_capacity(bytes: usize) -> Self {
        Self { text: String::with_capacity(bytes), starts: Vec::with_capacity(bytes + 1) }
    }

    fn push(&mut self, character: char, lowercase: bool, mut visit: impl FnMut()) {
        let start = self.text.len();
        push_folded(character, lowercase, &mut self.text);
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
    use super::*;

    fn normalise(text: &str) -> (String, Vec<&str>) {
        let mut places = Vec::new();
        let normalised = Normalised::new(text, true, |place| places.push(&text[place]));
        assert_eq!(normalised.count(), places.len());
        (normalised.text, places)
    }

    #[test]
    fn white_space_is_collapsed_and_trimmed() {
        let (text, places) = normalise("\t A \r\n b\u{a0}\u{3000}c\n");
        assert_eq!(text, "a b c");
        assert_eq!(places, ["A", " \r\n ", "b", "\u{a0}\u{3000}", "c"]);
        assert_eq!(normalise(" \n ").0, "");
        assert_eq!(normalise(""), (String::new(), vec![]));
    }

    #[test]
    fn what_lowercasing_adds_has_the_place_of_its_character() {
        let (text, places) = normalise("İẞx");
        assert_eq!(text, "i\u{307}ßx");
        assert_eq!(places, ["İ", "İ", "ẞ", "x"]);
    }
}
