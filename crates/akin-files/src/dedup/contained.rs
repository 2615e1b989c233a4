//! `--rule contained`: a document is removed only if its survivor holds all of it.
//!
//! The survivor is not shorter, and has every shingle of the document. A text of fewer words than a
//! shingle, or of which most shingles are repetitions, has to be a run of the survivor's words:
//! its set says too little. Documents are decided in the order of their lengths, the longest first,
//! so that a survivor is kept.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::{io, iter};

use super::clusters::LEFT_OUT;
use crate::corpus::{Lengths, RecordOutcome, TextCutter, disk_failed, read, work_in_order};
use crate::failure::Failure;
use crate::input::{Item, Selection};
use crate::meter::Meter;
use crate::offline::{Containment, OfflineCorpus, OfflineDocuments, Settlement};

/// The survivors of documents, by their numbers; [`LEFT_OUT`] while there is none.
struct Survivors<'l> {
    of: Vec<u32>,
    lengths: &'l Lengths,
    first_new: u32,
    /// The longest document of each set.
    longest: Vec<u32>,
    /// Further documents of a set that may hold others: runs that are no run of the longest.
    further: HashMap<u32, Vec<u32>>,
    /// Texts that may be a run of another: the text, and the other.
    pending: Vec<(u32, u32)>,
    /// Texts that have to be runs; of equal texts the first.
    runs: Vec<u32>,
}

/// The texts of a corpus, to be read again.
pub struct TextsAgain<'t> {
    pub selections: &'t [(&'t Selection, &'t [RecordOutcome])],
    pub cutter: &'t TextCutter,
    pub threads: usize,
    pub meter: &'t Meter,
}

/// The representative of each document, by its number.
///
/// # Errors
/// A file cannot be read.
pub fn contained(
    corpus: &mut OfflineCorpus,
    lengths: &Lengths,
    texts: &TextsAgain<'_>,
) -> Result<Vec<u32>, Failure> {
    let numbers = corpus.documents().numbers();
    let mut survivors = Survivors {
        of: vec![LEFT_OUT; numbers as usize],
        lengths,
        first_new: corpus.first_new(),
        longest: Vec::with_capacity(corpus.sets() as usize),
        further: HashMap::new(),
        pending: Vec::new(),
        runs: Vec::new(),
    };
    survivors.find(corpus).map_err(|error| disk_failed(&error))?;
    let documents = corpus.documents();
    if !survivors.runs.is_empty() {
        survivors.find_runs(documents, texts)?;
    }
    let is_there = |number: &u32| documents.set_of(*number).is_some() || corpus.is_empty(*number);
    let mut of = vec![LEFT_OUT; numbers as usize];
    for number in (0..numbers).filter(is_there) {
        of[number as usize] = survivors.last(number);
    }
    Ok(of)
}

impl Containment for Survivors<'_> {
    fn may_hold(&self, outer: u32) -> bool {
        self.of[self.longest[outer as usize] as usize] == LEFT_OUT
    }

    fn found(&mut self, documents: &OfflineDocuments, outer: u32, inner: u32) -> Settlement {
        let holder = self.longest[outer as usize];
        let mut found = Settlement::Settled;
        for number in documents.of(inner).iter().copied() {
            if !self.is_open(number) {
                continue;
            }
            if self.words(number) > self.words(holder) {
                found = Settlement::Open;
            } else if self.lengths.run(number).is_some() {
                found = Settlement::Open;
                let further = self.further.get(&outer).into_iter().flatten();
                self.pending.extend(iter::once(&holder).chain(further).map(|it| (number, *it)));
            } else {
                self.of[number as usize] = holder;
            }
        }
        found
    }
}

impl Survivors<'_> {
    fn words(&self, number: u32) -> u32 {
        self.lengths.words(number)
    }

    fn is_open(&self, number: u32) -> bool {
        number >= self.first_new && self.of[number as usize] == LEFT_OUT
    }

    /// The document that is kept in the place of a document.
    fn last(&self, mut number: u32) -> u32 {
        while self.of[number as usize] != LEFT_OUT {
            number = self.of[number as usize];
        }
        number
    }

    /// Finds the survivors by sets. Texts that have to be runs stay open.
    fn find(&mut self, corpus: &mut OfflineCorpus) -> io::Result<()> {
        for set in 0..corpus.sets() {
            let mut members = corpus.documents().of(set).to_vec();
            members.sort_by_key(|number| (Reverse(self.words(*number)), *number >= self.first_new));
            self.find_within(set, &members);
        }
        let mut order: Vec<u32> = (0..corpus.sets()).collect();
        order.sort_by_key(|set| {
            let words = self.words(self.longest[*set as usize]);
            (Reverse(words), Reverse(corpus.size(*set)), *set)
        });
        corpus.contained(&order, self)
    }

    /// Decides among documents with equal sets, the longest first.
    fn find_within(&mut self, set: u32, members: &[u32]) {
        let longest = members[0];
        self.longest.push(longest);
        let lengths = self.lengths;
        let mut known: HashMap<&[u64], u32> = HashMap::new();
        for number in members.iter().copied() {
            let equal = match lengths.run(number) {
                None => Some(longest),
                Some(run) => known.get(run).copied(),
            };
            match (equal, lengths.run(number)) {
                (Some(equal), _) if number != longest && number >= self.first_new => {
                    self.of[number as usize] = equal;
                }
                (None, Some(run)) => {
                    known.insert(run, number);
                    self.runs.push(number);
                    if number != longest {
                        let further = self.further.entry(set).or_default();
                        let holders = iter::once(&longest).chain(&*further);
                        self.pending.extend(holders.map(|holder| (number, *holder)));
                        further.push(number);
                    }
                }
                _ => {}
            }
        }
    }

    /// Finds the survivors of texts that have to be runs, in the texts.
    fn find_runs(
        &mut self,
        documents: &OfflineDocuments,
        texts: &TextsAgain<'_>,
    ) -> Result<(), Failure> {
        let short = ShortRuns::of(&self.runs, self.lengths);
        let mut by_holder: HashMap<u32, Vec<u32>> = HashMap::new();
        for (number, holder) in &self.pending {
            by_holder.entry(*holder).or_default().push(*number);
        }
        let mut holds: HashMap<u32, Vec<u32>> = HashMap::new();
        let mut longest: HashMap<u32, u32> = HashMap::new();
        let mut next = 0;
        for (selection, outcomes) in texts.selections {
            let mut outcomes = outcomes.iter();
            let cut = |item: &Item| {
                let words = texts.cutter.cut(item).ok()?.words.hashes().to_vec();
                Some((short.within(&words, self.lengths), words))
            };
            work_in_order(read(selection), texts.threads, texts.meter, cut, |_, cut| {
                let Some(cut) = cut else { return Ok(()) };
                if outcomes.next() != Some(&RecordOutcome::Numbered) {
                    return Ok(());
                }
                let number = next;
                next += 1;
                let Some((found, words)) = cut.filter(|_| documents.set_of(number).is_some())
                else {
                    return Ok::<_, Failure>(());
                };
                for run in found.into_iter().filter(|run| *run != number) {
                    let best = longest.entry(run).or_insert(number);
                    let rank = |number: u32| (Reverse(self.words(number)), number);
                    if rank(number) < rank(*best) {
                        *best = number;
                    }
                }
                for run in by_holder.remove(&number).unwrap_or_default() {
                    if self.lengths.run(run).is_some_and(|run| is_run(run, &words)) {
                        holds.entry(run).or_default().push(number);
                    }
                }
                Ok(())
            })?;
        }
        let mut runs = std::mem::take(&mut self.runs);
        runs.sort_by_key(|number| (Reverse(self.words(*number)), *number));
        for number in runs {
            let by_set = holds.remove(&number).unwrap_or_default();
            let holder = by_set.into_iter().find(|holder| self.of[*holder as usize] == LEFT_OUT);
            let by_words = longest
                .get(&number)
                .copied()
                .filter(|holder| self.words(*holder) > self.words(number));
            if let Some(holder) = holder.or(by_words).filter(|_| self.is_open(number)) {
                self.of[number as usize] = holder;
            }
        }
        Ok(())
    }
}

/// Texts of fewer words than a shingle, by their words.
struct ShortRuns {
    by_hash: HashMap<u64, Vec<u32>>,
    /// The lengths that occur.
    lengths: Vec<usize>,
}

impl ShortRuns {
    fn of(runs: &[u32], lengths: &Lengths) -> Self {
        let mut short = Self { by_hash: HashMap::new(), lengths: Vec::new() };
        for number in runs.iter().copied().filter(|number| lengths.is_short(*number)) {
            let Some(run) = lengths.run(number) else { continue };
            short.by_hash.entry(hash(run)).or_default().push(number);
            if !short.lengths.contains(&run.len()) {
                short.lengths.push(run.len());
            }
        }
        short
    }

    /// The texts that are runs of these words.
    fn within(&self, words: &[u64], lengths: &Lengths) -> Vec<u32> {
        let mut found = Vec::new();
        for length in self.lengths.iter().copied().filter(|length| *length <= words.len()) {
            for window in words.windows(length) {
                let known = self.by_hash.get(&hash(window)).into_iter().flatten();
                found.extend(known.filter(|number| lengths.run(**number) == Some(window)));
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

fn hash(words: &[u64]) -> u64 {
    words
        .iter()
        .fold(0, |hash: u64, word| (hash.rotate_left(5) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

/// Whether `run` is consecutive in `words` (Knuth, Morris and Pratt 1977).
fn is_run(run: &[u64], words: &[u64]) -> bool {
    let mut fallback = vec![0; run.len()];
    let mut matched = 0;
    for at in 1..run.len() {
        while matched > 0 && run[at] != run[matched] {
            matched = fallback[matched - 1];
        }
        matched += usize::from(run[at] == run[matched]);
        fallback[at] = matched;
    }
    let mut matched = 0;
    words.iter().any(|word| {
        while matched > 0 && run[matched] != *word {
            matched = fallback[matched - 1];
        }
        matched += usize::from(run[matched] == *word);
        let is_whole = matched == run.len();
        if is_whole {
            matched = fallback[matched - 1];
        }
        is_whole
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_consecutive() {
        let words = [1, 2, 1, 2, 1, 3, 1];
        for at in 0..words.len() {
            for end in at + 1..=words.len() {
                assert!(is_run(&words[at..end], &words));
            }
        }
        assert!(!is_run(&[2, 3], &words) && !is_run(&[1, 2, 1, 2, 1, 2], &words));
    }
}
