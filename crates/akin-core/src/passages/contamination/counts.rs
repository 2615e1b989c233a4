//! How many training texts have each gram of the evaluation set.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use super::evaluation_set::EvaluationSet;

/// Counts the training texts with each gram, from any number of threads: 4 bytes for each gram.
#[derive(Debug)]
pub struct DocumentCounts<'e> {
    set: &'e EvaluationSet,
    counts: Vec<AtomicU32>,
}

/// The grams that more training texts have than a limit: a bit for each gram of the set.
#[derive(Clone, Debug)]
pub struct FrequentGrams {
    bits: Vec<u64>,
}

/// How many grams of an evaluation text the training texts have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GramShare {
    /// The number of distinct grams that some training text has.
    pub seen: usize,
    /// The number of distinct grams of the evaluation text.
    pub grams: usize,
}

impl<'e> DocumentCounts<'e> {
    /// All counts are 0.
    pub fn new(set: &'e EvaluationSet) -> Self {
        let counts = (0..set.grams()).map(|_| AtomicU32::new(0)).collect();
        Self { set, counts }
    }

    /// Counts the grams in these ranges of a training text, given as the hashes of its words. The
    /// text counts once for each gram, however often it repeats the gram.
    pub fn add(&self, words: &[u64], parts: &[Range<usize>]) {
        let mut known = Vec::new();
        for part in parts {
            self.set.each_known(&words[part.clone()], |_, gram| known.push(gram as u32));
        }
        known.sort_unstable();
        known.dedup();
        for gram in known {
            self.counts[gram as usize].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The grams that more than `max` training texts have.
    pub fn frequent(&self, max: u32) -> FrequentGrams {
        let mut bits = vec![0; self.counts.len().div_ceil(64)];
        for (gram, count) in self.counts.iter().enumerate() {
            bits[gram / 64] |= u64::from(count.load(Ordering::Relaxed) > max) << (gram % 64);
        }
        FrequentGrams { bits }
    }

    /// For each evaluation text, in the order of their numbers: how many of its grams the training
    /// texts have. Grams that are frequent count only without `ignored`.
    pub fn seen(&self, ignored: Option<&FrequentGrams>) -> Vec<GramShare> {
        let mut shares = vec![GramShare::default(); self.set.texts()];
        for (gram, count) in self.counts.iter().enumerate() {
            let is_ignored = ignored.is_some_and(|ignored| ignored.contains(gram));
            let is_seen = count.load(Ordering::Relaxed) > 0 && !is_ignored;
            for text in self.set.texts_of(gram) {
                let share = &mut shares[*text as usize];
                share.grams += 1;
                share.seen += usize::from(is_seen);
            }
        }
        shares
    }
}

impl FrequentGrams {
    /// The number of frequent grams.
    pub fn count(&self) -> usize {
        self.bits.iter().map(|bits| bits.count_ones() as usize).sum()
    }

    pub(super) fn contains(&self, gram: usize) -> bool {
        self.bits[gram / 64] >> (gram % 64) & 1 == 1
    }
}
