//! The sequences that share anchors with a probe, and how many words they can share with it.

use std::cmp::Reverse;

use super::block_index::BlockIndex;
use super::blocks::BlockPlace;
use super::grams::{each_gram, key};
use super::settings::GRAM_WORDS;
use crate::document::Ordinal;
use crate::scheme::Key;

/// A sequence of words to compare with the probe.
#[derive(Clone, Debug)]
pub struct PassageCandidate {
    /// The fingerprint of the sequence.
    pub(super) fingerprint: u64,
    pub(super) words: usize,
    pub(super) shared_max: usize,
    pub(super) blocks: Vec<(Ordinal, Option<BlockPlace>)>,
    pub(super) blocks_left_out: usize,
}

impl PassageCandidate {
    /// The number of its words.
    pub fn words(&self) -> usize {
        self.words
    }

    /// An upper bound of the words of the probe in guaranteed runs with the sequence.
    pub fn shared_max(&self) -> usize {
        self.shared_max
    }

    /// The documents with the sequence: each of them has its words, in the given block or, without
    /// a block, as the whole text.
    pub fn blocks(&self) -> &[(Ordinal, Option<BlockPlace>)] {
        &self.blocks
    }

    /// Keeps the documents that are wanted.
    ///
    /// # Errors
    /// The first error of `is_wanted`.
    pub fn retain<E>(
        &mut self,
        mut is_wanted: impl FnMut(Ordinal) -> Result<bool, E>,
    ) -> Result<(), E> {
        let mut kept = Vec::with_capacity(self.blocks.len());
        for block in self.blocks.drain(..) {
            if is_wanted(block.0)? {
                kept.push(block);
            }
        }
        self.blocks = kept;
        Ok(())
    }
}

/// An entry that is indexed under a gram of the probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CandidateEntry {
    pub number: u32,
    /// At most this many words of the probe are in guaranteed runs.
    pub shared_max: usize,
    /// Grams of the probe that are among its keys.
    hits: usize,
}

#[derive(Debug, Default)]
pub(super) struct CandidateEntries {
    /// Ordered by how many words they can share, the most first.
    pub found: Vec<CandidateEntry>,
    pub postings_read: usize,
    /// Postings were left out.
    pub truncated: bool,
}

/// A gram of the probe, and the words of the probe that a guaranteed run with this anchor can have.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct AnchorReach {
    key: Key,
    start: u32,
    end: u32,
}

/// A key of the probe, with its range in the list of reaches.
struct ProbeKey {
    key: Key,
    first: usize,
    reaches: usize,
    postings: usize,
}

/// The part of the probe that an entry can share because of a key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct AnchorHit {
    entry: u32,
    start: u32,
    end: u32,
    grams: u32,
}

/// All entries that share a key with the probe: the postings of the rarest keys are read first. In
/// a guaranteed run, an anchor has at most w − 1 words of the run before it, and L₀ words from its
/// start on: with more words, the run had another anchor there. So the words of a sequence's
/// guaranteed runs are in the union of the reaches of its hits, wherever its anchors are.
pub(super) fn candidate_entries(
    index: &BlockIndex,
    probe: &[u64],
    short_lengths: &[usize],
    postings_max: usize,
) -> CandidateEntries {
    let reaches = reaches(index, probe, short_lengths);
    let (merged, mut keys) = merge(index, &reaches);
    keys.sort_by_key(|key| (key.postings * key.reaches, key.first));
    let (mut hits, mut truncated) = (Vec::new(), false);
    for key in keys {
        let left = (postings_max - hits.len()) / key.reaches;
        truncated |= key.postings > left;
        let reaches = &merged[key.first..key.first + key.reaches];
        index.read(key.key, left, |entry| {
            hits.extend(reaches.iter().map(|(start, end, grams)| AnchorHit {
                entry,
                start: *start,
                end: *end,
                grams: *grams,
            }));
        });
    }
    let postings_read = hits.len();
    hits.sort_unstable();
    let same_entry = hits.chunk_by(|one, other| one.entry == other.entry);
    let mut found: Vec<CandidateEntry> = same_entry.map(candidate).collect();
    found.sort_unstable_by_key(|it| (Reverse(it.shared_max), Reverse(it.hits), it.number));
    CandidateEntries { found, postings_read, truncated }
}

/// Sorted by key, and by place in the probe.
fn reaches(index: &BlockIndex, probe: &[u64], short_lengths: &[usize]) -> Vec<AnchorReach> {
    let mut reaches = Vec::with_capacity(probe.len() * (1 + short_lengths.len()));
    let (run, stride) = (index.settings().run_words(), index.settings().stride());
    each_gram(probe, GRAM_WORDS, |at, gram| {
        let (start, end) = (at.saturating_sub(stride - 1), probe.len().min(at + run));
        reaches.push(AnchorReach { key: key(gram), start: start as u32, end: end as u32 });
    });
    for length in short_lengths {
        each_gram(probe, *length, |at, gram| {
            let (start, end) = (at as u32, (at + length) as u32);
            reaches.push(AnchorReach { key: key(gram), start, end });
        });
    }
    reaches.sort_unstable();
    reaches
}

/// The keys that have postings. The reaches of a key are merged where they overlap or touch, with
/// the number of grams, so that a repetitive probe is not searched for word by word.
fn merge(index: &BlockIndex, reaches: &[AnchorReach]) -> (Vec<(u32, u32, u32)>, Vec<ProbeKey>) {
    const AHEAD: usize = 16;
    let (mut merged, mut keys) = (Vec::<(u32, u32, u32)>::new(), Vec::new());
    let mut ahead = reaches.chunk_by(|one, other| one.key == other.key);
    ahead.by_ref().take(AHEAD).for_each(|same| index.prefetch(same[0].key));
    for same in reaches.chunk_by(|one, other| one.key == other.key) {
        if let Some(later) = ahead.next() {
            index.prefetch(later[0].key);
        }
        let (key, first) = (same[0].key, merged.len());
        let postings = index.postings_of(key);
        if postings == 0 {
            continue;
        }
        merged.push((same[0].start, same[0].end, 0));
        for AnchorReach { start, end, .. } in same {
            let last = merged.last_mut().expect("the first was pushed");
            match *start <= last.1 {
                true => *last = (last.0, last.1.max(*end), last.2 + 1),
                false => merged.push((*start, *end, 1)),
            }
        }
        keys.push(ProbeKey { key, first, reaches: merged.len() - first, postings });
    }
    (merged, keys)
}

fn candidate(hits: &[AnchorHit]) -> CandidateEntry {
    let (mut shared_max, mut grams, mut covered) = (0, 0, 0);
    for hit in hits {
        shared_max += hit.end.saturating_sub(hit.start.max(covered)) as usize;
        covered = covered.max(hit.end);
        grams += hit.grams as usize;
    }
    CandidateEntry { number: hits[0].entry, shared_max, hits: grams }
}
