//! The search: candidates, in bounded groups, and their comparison.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::mem;
use std::vec;

use super::block_index::BlockIndex;
use super::blocks::BlockPlace;
use super::candidates::{CandidateEntries, CandidateEntry, PassageCandidate};
use super::comparison::PassageComparison;
use super::runs::{Run, Seeds, merge};
use crate::document::Ordinal;
use crate::text::{ReaderWords, sequence_fingerprint};

/// Sequences, and documents of each, that are read to bound the missing words.
const BOUND_ENTRIES_MAX: usize = 10_000;
const BOUND_DOCUMENTS_MAX: usize = 64;

/// The limits of the work of a search and of its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassageLimits {
    /// The minimum number of equal words of a passage: by default the guaranteed length. A text or
    /// a probe of fewer words is found if it is shared as a whole.
    pub words_min: Option<usize>,
    /// The maximum number of postings that are read: the postings of the rarest keys first.
    pub postings_max: usize,
    /// The maximum number of distinct sequences of words that are compared.
    pub compared_max: usize,
    /// The maximum number of words of the compared sequences.
    pub words_max: usize,
    /// The maximum number of pairs of equal seeds and of words of runs, of all comparisons.
    pub pairs_max: usize,
    /// The maximum number of documents that are returned of each sequence.
    pub documents_max: usize,
}

impl Default for PassageLimits {
    fn default() -> Self {
        Self {
            words_min: None,
            postings_max: 100_000,
            compared_max: 100,
            words_max: 1_000_000,
            pairs_max: 1_000_000,
            documents_max: 1_000,
        }
    }
}

/// A running search. The caller takes groups of candidates, reads and cuts their texts, and hands
/// in the words; so there is no I/O in here, and a group can be read at once.
#[derive(Debug)]
pub struct BlockSearch<'a> {
    index: &'a BlockIndex,
    probe: &'a [u64],
    seeds: Seeds<'a>,
    words_min: usize,
    readers: Option<&'a ReaderWords>,
    limits: PassageLimits,
    postings_read: usize,
    entries: vec::IntoIter<CandidateEntry>,
    compared: usize,
    words_left: usize,
    pairs_left: usize,
    found: SearchResult,
    /// The runs of documents with several blocks.
    long: BTreeMap<Ordinal, Vec<Run>>,
}

/// Documents with equal words, and the words that they share with the probe.
#[derive(Clone, Debug)]
pub struct SearchMatch {
    /// The documents, ascending.
    pub ordinals: Vec<Ordinal>,
    /// The words that each document shares with the probe.
    pub comparison: PassageComparison,
}

/// The result of a search.
#[derive(Clone, Debug, Default)]
pub struct SearchResult {
    /// The documents that share the most words of the probe first.
    pub matches: Vec<SearchMatch>,
    /// A limit was reached, so documents or passages may be missing.
    pub truncated: bool,
    /// If only candidates were not compared, an upper bound of the words of the probe that a
    /// missing document has in guaranteed runs; otherwise the number of words of the probe. So the
    /// first n matches miss nothing if they share more words than that.
    pub missing_max: usize,
    /// The number of sequences that share a gram with the probe.
    pub candidates: usize,
    /// The number of sequences that were compared.
    pub compared: usize,
    /// The number of postings that were read.
    pub postings_read: usize,
}

impl<'a> BlockSearch<'a> {
    pub(super) fn new(
        index: &'a BlockIndex,
        probe: &'a [u64],
        limits: PassageLimits,
        entries: CandidateEntries,
    ) -> Self {
        let CandidateEntries { found, postings_read, truncated } = entries;
        let mut result = SearchResult { candidates: found.len(), ..SearchResult::default() };
        result.note_missing(truncated, probe.len());
        let words_min = limits.words_min.unwrap_or(index.settings().run_words());
        let seeds = Seeds::new(if found.is_empty() { &[] } else { probe });
        Self {
            index,
            probe,
            seeds,
            words_min,
            readers: None,
            limits,
            postings_read,
            entries: found.into_iter(),
            compared: 0,
            words_left: limits.words_max,
            pairs_left: limits.pairs_max,
            found: result,
            long: BTreeMap::new(),
        }
    }

    /// Counts the words of a passage as a reader of the probe counts them.
    #[must_use]
    pub fn counting(self, readers: Option<&'a ReaderWords>) -> Self {
        Self { readers, ..self }
    }

    /// Takes the candidates first that may share the largest part of their own words, instead of
    /// the most words: a short text that the probe has as a whole comes before a long text.
    #[must_use]
    pub fn by_share_of_match(mut self) -> Self {
        let mut entries: Vec<CandidateEntry> = self.entries.collect();
        entries.sort_by_cached_key(|entry| {
            let words = self.index.words(*entry).map_or(usize::MAX, |words| words as usize);
            Reverse(entry.shared_max.min(words) as u64 * u64::from(u32::MAX) / words as u64)
        });
        self.entries = entries.into_iter();
        self
    }

    /// The next candidates to compare, at most `max` of them; none if the search is at its end. The
    /// caller reads the text of one of the candidate's documents, cuts its block into words, and
    /// calls [`Self::compare`].
    pub fn next_group(&mut self, max: usize) -> Vec<PassageCandidate> {
        let mut group = Vec::new();
        while group.len() < max && self.compared < self.limits.compared_max && self.pairs_left > 0 {
            let Some(entry) = self.entries.as_slice().first().copied() else { break };
            let candidate = self.index.candidate(entry, self.limits.documents_max);
            if candidate.as_ref().is_some_and(|candidate| candidate.words > self.words_left) {
                break;
            }
            self.entries.next();
            let Some(candidate) = candidate.filter(|it| !it.blocks.is_empty()) else { continue };
            self.compared += 1;
            self.words_left -= candidate.words;
            group.push(candidate);
        }
        group
    }

    /// Takes a candidate back that the caller does not compare, as it wants none of its documents:
    /// the candidate counts towards no limit.
    pub fn pass_over(&mut self, candidate: &PassageCandidate) {
        self.compared -= 1;
        self.words_left += candidate.words;
    }

    /// Compares the words of a candidate's block with the probe. Returns false, and does nothing,
    /// if they are not the candidate's words: the document was replaced after the search began, so
    /// the caller may try another document of the candidate.
    pub fn compare(&mut self, candidate: &PassageCandidate, words: &[u64]) -> bool {
        if sequence_fingerprint(words) != candidate.fingerprint {
            return false;
        }
        let mut runs = Vec::new();
        let is_complete = self.seeds.runs(words, &mut self.pairs_left, &mut runs);
        self.found.note_missing(!is_complete || candidate.blocks_left_out > 0, self.probe.len());
        if runs.is_empty() {
            return true;
        }
        let mut ordinals = Vec::new();
        for (ordinal, place) in &candidate.blocks {
            match place {
                None => ordinals.push(*ordinal),
                Some(place) => self.add_runs(*ordinal, place, &runs),
            }
        }
        if !ordinals.is_empty() {
            self.add_match(ordinals, &runs, words.len());
        }
        true
    }

    /// The runs of a document's blocks count as pairs, too: a block that a text repeats has them
    /// at several places.
    fn add_runs(&mut self, ordinal: Ordinal, place: &BlockPlace, runs: &[Run]) {
        let is_within = runs.len() <= self.pairs_left;
        self.found.note_missing(!is_within, self.probe.len());
        let taken = &runs[..runs.len().min(self.pairs_left)];
        self.pairs_left -= taken.len();
        let first = place.words().start;
        let of_text = taken.iter().map(|run| Run { matched: run.matched + first, ..*run });
        self.long.entry(ordinal).or_default().extend(of_text);
    }

    fn add_match(&mut self, ordinals: Vec<Ordinal>, runs: &[Run], words: usize) {
        let (lengths, min) = ([self.probe.len(), words], (self.words_min, self.readers));
        let comparison = PassageComparison::new(runs, lengths, min);
        if !comparison.passages.is_empty() {
            self.found.matches.push(SearchMatch { ordinals, comparison });
        }
    }

    /// The documents of one block that were found, in the order of their comparison.
    pub(super) fn found(&self) -> &[SearchMatch] {
        &self.found.matches
    }

    /// Whether no document can have as many words of the probe in guaranteed runs, unless it was
    /// found already.
    pub(super) fn is_left_below(&self, words: usize) -> bool {
        let left = self.entries.as_slice();
        // The first may share the most.
        let is_below = left.first().is_some_and(|entry| entry.shared_max < words);
        is_below && self.missing_max(left).is_some_and(|missing_max| missing_max < words)
    }

    /// An upper bound of the words of the probe that a document shares with sequences that were not
    /// compared; of a document that was found in part, with all its words that were found. `None`
    /// if computing the bound would take too long.
    fn missing_max(&self, left: &[CandidateEntry]) -> Option<usize> {
        let most = left.iter().map(|entry| entry.shared_max).max()?;
        if !self.index.has_long_texts() {
            return Some(most);
        }
        if left.len() > BOUND_ENTRIES_MAX {
            return None;
        }
        let mut of_long = HashMap::<Ordinal, usize>::new();
        for entry in left {
            let candidate = self.index.candidate(*entry, BOUND_DOCUMENTS_MAX);
            let Some(candidate) = candidate else { continue };
            if candidate.blocks_left_out > 0 {
                return None;
            }
            for (ordinal, _) in candidate.blocks.iter().filter(|(_, place)| place.is_some()) {
                *of_long.entry(*ordinal).or_default() += entry.shared_max;
            }
        }
        for found in &self.found.matches {
            for ordinal in &found.ordinals {
                if let Some(shared) = of_long.get_mut(ordinal) {
                    *shared += found.comparison.of_probe.shared;
                }
            }
        }
        let of_long = of_long.into_values().max().unwrap_or(0);
        Some(most.max(of_long).min(self.probe.len()))
    }

    /// The matches among the candidates that were compared.
    pub fn finish(mut self) -> SearchResult {
        for (ordinal, mut runs) in mem::take(&mut self.long) {
            // A document that was removed has no blocks any more.
            let Some(blocks) = self.index.blocks_of(ordinal) else { continue };
            let words = blocks.last().map_or(0, |block| block.words().end);
            merge(&mut runs);
            runs.retain(|run| run.matched_end() <= words);
            self.add_match(vec![ordinal], &runs, words);
        }
        let left = self.entries.as_slice();
        if !left.is_empty() {
            let missing_max = self.missing_max(left).unwrap_or(self.probe.len());
            self.found.note_missing(true, missing_max);
        }
        let order = |it: &SearchMatch| {
            let PassageComparison { of_probe, longest, .. } = it.comparison;
            (Reverse(of_probe.shared), Reverse(longest), it.ordinals[0])
        };
        self.found.matches.sort_by_key(order);
        let (compared, postings_read) = (self.compared, self.postings_read);
        SearchResult { compared, postings_read, ..self.found }
    }
}

impl SearchResult {
    fn note_missing(&mut self, is_missing: bool, shared_max: usize) {
        if is_missing {
            self.truncated = true;
            self.missing_max = self.missing_max.max(shared_max);
        }
    }
}
