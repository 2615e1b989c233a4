//! Runs of equal words of two sequences.

use super::grams::{each_gram, gram};

/// Runs of fewer words are not found, except in sequences of fewer words.
pub(super) const SEED_WORDS: usize = 3;

/// Equal words of the probe and of a match: from `probe` on in the probe, from `matched` on in the
/// match. A run cannot be extended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Run {
    pub matched: usize,
    pub probe: usize,
    pub words: usize,
}

impl Run {
    pub fn probe_end(&self) -> usize {
        self.probe + self.words
    }

    pub fn matched_end(&self) -> usize {
        self.matched + self.words
    }
}

/// The seeds of a probe, its grams of [`SEED_WORDS`] words: a hash table with chains.
#[derive(Debug)]
pub(super) struct Seeds<'p> {
    probe: &'p [u64],
    grams: Vec<u64>,
    heads: Vec<u32>,
    next: Vec<u32>,
    shift: u32,
}

const NONE: u32 = u32::MAX;

impl<'p> Seeds<'p> {
    pub fn new(probe: &'p [u64]) -> Self {
        let mut grams = Vec::with_capacity(probe.len());
        each_gram(probe, SEED_WORDS, |_, gram| grams.push(gram));
        let bits = (grams.len() * 2).next_power_of_two().trailing_zeros().max(6);
        let shift = u64::BITS - bits;
        let (mut heads, mut next) = (vec![NONE; 1 << bits], vec![NONE; grams.len()]);
        for (at, gram) in grams.iter().enumerate().rev() {
            next[at] = std::mem::replace(&mut heads[(gram >> shift) as usize], at as u32);
        }
        Self { probe, grams, heads, next, shift }
    }

    /// The places of the probe in the chain of a gram: the places of the gram, and a few
    /// places of other grams.
    fn chain(&self, gram: u64) -> impl Iterator<Item = usize> {
        let mut at = self.heads[(gram >> self.shift) as usize];
        std::iter::from_fn(move || {
            let place = (at != NONE).then_some(at as usize)?;
            at = self.next[place];
            Some(place)
        })
    }

    /// Adds all runs with another sequence to `runs`, in its order. Each pair of equal seeds and
    /// each word of a run takes one of `pairs_left`. Returns false if more had been needed: then
    /// some runs are missing.
    pub fn runs(&self, matched: &[u64], pairs_left: &mut usize, runs: &mut Vec<Run>) -> bool {
        if matched.len() < SEED_WORDS {
            return self.short_runs(matched, pairs_left, runs);
        }
        let mut is_complete = true;
        each_gram(matched, SEED_WORDS, |at, gram| {
            for place in self.chain(gram) {
                is_complete &= *pairs_left > 0;
                if !is_complete {
                    return;
                }
                *pairs_left -= 1;
                if self.grams[place] == gram {
                    runs.extend(self.run_at(place, matched, at, pairs_left));
                }
            }
        });
        is_complete
    }

    /// The run that begins at a pair of places; `None` within a run.
    fn run_at(&self, place: usize, matched: &[u64], at: usize, pairs: &mut usize) -> Option<Run> {
        if place > 0 && at > 0 && self.probe[place - 1] == matched[at - 1] {
            return None;
        }
        let both = self.probe[place..].iter().zip(&matched[at..]);
        let words = both.take_while(|(one, other)| one == other).count();
        *pairs = pairs.saturating_sub(words);
        (words >= SEED_WORDS).then_some(Run { matched: at, probe: place, words })
    }

    /// The occurrences of a whole sequence of one or two words.
    fn short_runs(&self, matched: &[u64], pairs_left: &mut usize, runs: &mut Vec<Run>) -> bool {
        if matched.is_empty() {
            return true;
        }
        let wanted = gram(matched);
        each_gram(self.probe, matched.len(), |probe, gram| {
            if gram == wanted {
                runs.push(Run { matched: 0, probe, words: matched.len() });
            }
        });
        let is_complete = *pairs_left >= self.probe.len();
        *pairs_left = pairs_left.saturating_sub(self.probe.len());
        is_complete
    }
}

/// Merges runs of overlapping blocks of a text, in numbers of the words of the text, to the runs of
/// the text. The runs are sorted afterwards.
pub(super) fn merge(runs: &mut Vec<Run>) {
    let diagonal = |run: &Run| run.probe.wrapping_sub(run.matched);
    runs.sort_unstable_by_key(|run| (diagonal(run), run.matched));
    runs.dedup_by(|run, before| {
        let is_same = diagonal(run) == diagonal(before) && run.matched <= before.matched_end();
        if is_same {
            before.words = before.words.max(run.matched_end() - before.matched);
        }
        is_same
    });
    runs.sort_unstable();
}
