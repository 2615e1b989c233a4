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

    /// The words of phrases in a text, in ranges that ascend and do not touch.
    pub fn in_text(&self, words: &[u64]) -> Vec<Range<usize>> {
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

/// The parts of a span that are in none of these ranges, which ascend.
pub fn outside(span: &Range<usize>, ranges: &[Range<usize>]) -> Vec<Range<usize>> {
    let first = ranges.partition_point(|range| range.end <= span.start);
    let mut parts = Vec::new();
    let mut start = span.start;
    for range in ranges[first..].iter().take_while(|range| range.start < span.end) {
        parts.push(start..range.start);
        start = range.end;
    }
    parts.push(start..span.end);
    parts.retain(|part| part.start < part.end);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_cut_out_of_spans() {
        let by_first = HashMap::from([(1, vec![vec![1, 2], vec![1, 2, 3]]), (3, vec![vec![3, 4]])]);
        let phrases = IgnoredPhrases { by_first };
        let found = phrases.in_text(&[1, 2, 3, 4, 9, 1, 9, 1, 2]);
        assert_eq!(found, [0..4, 7..9]);
        for (span, part) in [(0..9, 4..7), (2..8, 4..7), (5..6, 5..6)] {
            assert!(outside(&span, &found).iter().eq([&part]), "{span:?}");
        }
        assert!(outside(&(1..3), &found).is_empty());
    }
}
