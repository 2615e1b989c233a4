//! `--ignore`: phrases that are no contamination, such as a licence or a quotation.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use crate::corpus::TextCutter;
use crate::failure::Failure;
use crate::input::read_text_file;

/// Phrases, by their words.
#[derive(Default)]
pub struct IgnoredPhrases {
    /// By the first word of each.
    by_first: HashMap<u64, Vec<Vec<u64>>>,
}

impl IgnoredPhrases {
    /// Reads a phrase from each line.
    ///
    /// # Errors
    /// The file cannot be read, or has no phrase.
    pub fn read(path: &Path, cutter: &TextCutter) -> Result<Self, Failure> {
        let mut phrases = Self::default();
        for line in read_text_file(path)?.lines() {
            let words = cutter.words(line)?;
            if let Some(first) = words.hashes().first() {
                phrases.by_first.entry(*first).or_default().push(words.hashes().to_vec());
            }
        }
        match phrases.by_first.is_empty() {
            true => Err(Failure::new(format!("{} has no phrase on a line", path.display()))),
            false => Ok(phrases),
        }
    }

    /// The words of a text that are in no phrase, in ranges that ascend and do not touch.
    pub fn outside(&self, words: &[u64]) -> Vec<Range<usize>> {
        let mut start = 0;
        let mut parts = Vec::new();
        for phrase in self.in_text(words) {
            parts.push(start..phrase.start);
            start = phrase.end;
        }
        parts.push(start..words.len());
        parts.retain(|part| !part.is_empty());
        parts
    }

    /// The words of phrases in a text, in ranges that ascend and do not touch.
    fn in_text(&self, words: &[u64]) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        if self.by_first.is_empty() {
            return found;
        }
        for (at, word) in words.iter().enumerate() {
            let phrases = self.by_first.get(word).into_iter().flatten();
            let here = phrases.filter(|phrase| words[at..].starts_with(phrase));
            let Some(end) = here.map(|phrase| at + phrase.len()).max() else { continue };
            match found.last_mut().filter(|last| at <= last.end) {
                Some(last) => last.end = last.end.max(end),
                None => found.push(at..end),
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_outside_of_phrases_count() {
        let by_first = HashMap::from([(1, vec![vec![1, 2], vec![1, 2, 3]]), (3, vec![vec![3, 4]])]);
        let phrases = IgnoredPhrases { by_first };
        let words = [1, 2, 3, 4, 9, 1, 9, 1, 2];
        assert_eq!(phrases.in_text(&words), [0..4, 7..9]);
        assert!(phrases.outside(&words).iter().eq([&(4..7)]));
        assert!(phrases.outside(&words[..3]).is_empty() && phrases.outside(&[]).is_empty());
        assert_eq!(phrases.outside(&[9, 1, 2, 9]), [0..1, 3..4]);
        assert!(IgnoredPhrases::default().outside(&[1, 2]).iter().eq([&(0..2)]));
    }
}
