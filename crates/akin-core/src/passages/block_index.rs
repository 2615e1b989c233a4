//! Key → sequences of words, for many threads.

use std::sync::atomic::{AtomicUsize, Ordering};

use dashmap::DashMap;

use super::blocks::{BlockPlace, Sequence, TextBlocks};
use super::candidates::{CandidateEntry, PassageCandidate, candidate_entries};
use super::entries::{DocumentBlock, Entries, EntryChange, ONLY_BLOCK};
use super::search::{BlockSearch, PassageLimits};
use super::settings::{GRAM_WORDS, PassageSettings};
use crate::document::Ordinal;
use crate::index::Postings;
use crate::scheme::Key;

/// Bits of a key that select its page: there are 256 tables of as many pages.
const PAGE_BITS: u32 = 1;

/// An index of the blocks of texts under the keys of their anchors. It has no words: the caller
/// keeps the texts, and cuts a block again when a search compares it.
///
/// All methods take `&self`. After a call has returned, every later search sees its effect. To
/// replace a document, insert the new version under a new ordinal, then remove the old version:
/// a search finds the old or the new version or both. An index is restored by inserting the texts
/// again.
#[derive(Debug)]
pub struct BlockIndex {
    settings: PassageSettings,
    postings: Postings<()>,
    entries: Entries,
    /// The blocks of documents with several blocks.
    places: DashMap<Ordinal, Box<[BlockPlace]>>,
    /// For each length below a gram, the number of sequences: searches skip the other lengths.
    short: [AtomicUsize; GRAM_WORDS],
}

/// The size of an index of passages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = PassageIndex))]
pub struct BlockIndexStats {
    /// Distinct sequences of words: equal texts, and equal blocks of long texts, are indexed once.
    pub sequences: u64,
    pub postings: u64,
    /// The postings of the key that has most.
    pub postings_longest: u64,
    /// Its memory, which is a part of `index_bytes`.
    pub bytes: u64,
}

impl BlockIndex {
    /// An empty index.
    pub fn new(settings: PassageSettings) -> Self {
        Self {
            settings,
            postings: Postings::new(PAGE_BITS),
            entries: Entries::new(),
            places: DashMap::new(),
            short: Default::default(),
        }
    }

    /// The settings of the index.
    pub fn settings(&self) -> PassageSettings {
        self.settings
    }

    /// Adds a document. Adding it again changes nothing.
    pub fn insert(&self, ordinal: Ordinal, text: &TextBlocks) {
        if text.blocks().len() > 1 {
            self.places.insert(ordinal, text.blocks().into());
        }
        for (member, sequence) in members(ordinal, text).zip(text.sequences()) {
            let &Sequence { fingerprint, words, ref keys } = sequence;
            let _lock = self.entries.lock(fingerprint);
            if let EntryChange::Entry(number) = self.entries.add(fingerprint, words, member) {
                if let Some(short) = self.short.get(words as usize) {
                    short.fetch_add(1, Ordering::Relaxed);
                }
                for key in keys {
                    self.postings.prefetch_lock(*key);
                }
                self.postings.insert(number, keys.iter().map(|key| (*key, ())));
            }
        }
    }

    /// Removes a document: `text` is the text with which it was inserted.
    pub fn remove(&self, ordinal: Ordinal, text: &TextBlocks) {
        for (member, sequence) in members(ordinal, text).zip(text.sequences()) {
            let &Sequence { fingerprint, words, ref keys } = sequence;
            let _lock = self.entries.lock(fingerprint);
            if let EntryChange::Entry(number) = self.entries.remove(fingerprint, member) {
                self.postings.remove(number, keys.iter().copied());
                self.entries.give_back(number);
                if let Some(short) = self.short.get(words as usize) {
                    short.fetch_sub(1, Ordering::Relaxed);
                }
            }
        }
        if text.blocks().len() > 1 {
            self.places.remove(&ordinal);
        }
    }

    /// A search for the documents that share passages with a probe.
    pub fn search<'a>(&'a self, probe: &'a [u64], limits: PassageLimits) -> BlockSearch<'a> {
        let lengths = (1..GRAM_WORDS).filter(|n| self.short[*n].load(Ordering::Relaxed) > 0);
        let lengths: Vec<usize> = lengths.collect();
        let entries = candidate_entries(self, probe, &lengths, limits.postings_max);
        BlockSearch::new(self, probe, limits, entries)
    }

    /// The blocks of a document with several blocks, in order.
    pub fn blocks_of(&self, ordinal: Ordinal) -> Option<Box<[BlockPlace]>> {
        Some(self.places.get(&ordinal)?.clone())
    }

    /// Whether some document has several blocks.
    pub(super) fn has_long_texts(&self) -> bool {
        !self.places.is_empty()
    }

    pub(super) fn prefetch(&self, key: Key) {
        self.postings.prefetch(key);
    }

    /// The number of postings of a key.
    pub(super) fn postings_of(&self, key: Key) -> usize {
        self.postings.read(key, 0, |_, ()| ())
    }

    pub(super) fn read(&self, key: Key, max: usize, mut each: impl FnMut(u32)) {
        self.postings.read_some(key, 0, max, |entry, ()| each(entry));
    }

    /// The words of an entry; `None` if it was removed.
    pub(super) fn words(&self, entry: CandidateEntry) -> Option<u32> {
        self.entries.words(entry.number)
    }

    /// The candidate of an entry, with at most `members_max` members; `None` if it was removed.
    pub(super) fn candidate(
        &self,
        entry: CandidateEntry,
        members_max: usize,
    ) -> Option<PassageCandidate> {
        let copy = self.entries.get(entry.number, members_max)?;
        let places = copy.members.iter().filter_map(|member| self.block(*member));
        let blocks = places.collect();
        Some(PassageCandidate {
            fingerprint: copy.fingerprint,
            words: copy.words as usize,
            shared_max: entry.shared_max,
            blocks,
            blocks_left_out: copy.members_count - copy.members.len(),
        })
    }

    /// `None` if the document was removed.
    fn block(&self, member: DocumentBlock) -> Option<(Ordinal, Option<BlockPlace>)> {
        if member.block == ONLY_BLOCK {
            return Some((member.ordinal, None));
        }
        let places = self.places.get(&member.ordinal)?;
        Some((member.ordinal, Some(*places.get(member.block as usize)?)))
    }

    /// The size of the index.
    pub fn stats(&self) -> BlockIndexStats {
        let postings = self.postings.size();
        let places = self.places.capacity() * size_of::<(Ordinal, Box<[BlockPlace]>)>();
        let blocks: usize = self.places.iter().map(|it| it.len() * size_of::<BlockPlace>()).sum();
        BlockIndexStats {
            sequences: self.entries.len() as u64,
            postings: postings.postings,
            postings_longest: postings.longest,
            bytes: postings.bytes + (self.entries.bytes() + places + blocks) as u64,
        }
    }
}

fn members(ordinal: Ordinal, text: &TextBlocks) -> impl Iterator<Item = DocumentBlock> {
    let is_only = text.blocks().len() == 1;
    (0..).map(move |number| DocumentBlock {
        ordinal,
        block: if is_only { ONLY_BLOCK } else { number },
    })
}
