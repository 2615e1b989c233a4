mod blocks;
mod chance;
mod limits;
#[path = "../../../benches/corpus/numbers.rs"]
mod numbers;
mod oracle;
mod threads;

use std::ops::Range;

use super::*;
use crate::text::{ShingleSettings, Shingler};
pub(super) use numbers::Numbers;

fn shingler() -> Shingler {
    Shingler::new(ShingleSettings::default(), 0, usize::MAX)
}

/// A text with a word for each number.
fn text(words: &[u32]) -> String {
    let mut text = String::new();
    for word in words {
        text.extend(["w", &word.to_string(), " "]);
    }
    text
}

/// No limit that a test reaches.
fn unlimited() -> PassageLimits {
    PassageLimits {
        words_min: None,
        postings_max: 1 << 30,
        compared_max: usize::MAX,
        words_max: usize::MAX,
        pairs_max: 1 << 40,
        documents_max: usize::MAX,
    }
}

/// All maximal runs of at least `words_min` equal words, by comparing every pair of words: places
/// in the probe and in the text, and lengths.
fn brute_runs(probe: &[u32], text: &[u32], words_min: usize) -> Vec<(usize, usize, usize)> {
    let mut runs = Vec::new();
    let mut before = vec![0_usize; text.len() + 1];
    for (at, word) in probe.iter().enumerate() {
        let mut lengths = vec![0; text.len() + 1];
        for (place, other) in text.iter().enumerate() {
            if word == other {
                let length = before[place] + 1;
                lengths[place + 1] = length;
                let ends = probe.get(at + 1).is_none_or(|next| text.get(place + 1) != Some(next));
                if ends && length >= words_min {
                    runs.push((at + 1 - length, place + 1 - length, length));
                }
            }
        }
        before = lengths;
    }
    runs
}

/// Which words of a text some ranges cover.
pub(super) fn covered(ranges: impl IntoIterator<Item = Range<usize>>, words: usize) -> Vec<bool> {
    let mut covered = vec![false; words];
    for range in ranges {
        covered[range].fill(true);
    }
    covered
}
