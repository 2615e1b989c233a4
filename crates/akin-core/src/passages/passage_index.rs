//! An index of texts by id that finds passages.

use std::borrow::Borrow;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dashmap::{DashMap, Entry};

use super::block_index::{BlockIndex, BlockIndexStats};
use super::blocks::{BlockPlace, TextBlocks};
use super::comparison::{PassageComparison, WordShare};
use super::kept_words::KeptWords;
use super::locate::{Span, block_words, locate};
use super::search::{BlockSearch, PassageLimits, SearchMatch, SearchResult};
use super::settings::PassageSettings;
use crate::document::Ordinal;
use crate::text::{ShingleError, ShingleSettings, Shingler};

/// Candidates that are compared at a time.
const GROUP: usize = 16;

/// An index of texts in memory that finds which texts contain a part of another text, and where.
///
/// Every run of 32 words (by default) that a text shares with the query is found, always. All
/// methods take `&self`, so threads share an index by reference or in an `Arc`.
///
/// ```
/// use akin_core::passages::{PassageIndex, PassageSettings};
///
/// let index = PassageIndex::new(PassageSettings::new(13)?);
/// index.insert("act", "Article 1. All human beings are born free and equal in dignity and \
///     rights. They are endowed with reason and conscience.")?;
///
/// let essay = "As it says: «all human beings are born free and equal in dignity and rights, \
///     they are endowed with reason» and so on.";
/// let found = index.query(essay)?;
/// assert_eq!(found.matches[0].id, "act");
/// assert_eq!(found.matches[0].longest, 18);
/// let passage = &found.matches[0].passages[0];
/// assert!(essay[passage.probe.bytes.clone()].starts_with("all human beings"));
/// assert_eq!(passage.probe.chars.start, 13);
/// assert_eq!(passage.matched.bytes.start, 11);
/// assert!(!found.truncated);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct PassageIndex<Id: Eq + Hash> {
    shingler: Shingler,
    index: BlockIndex,
    next_ordinal: AtomicU64,
    texts: DashMap<Id, Ordinal>,
    by_ordinal: DashMap<Ordinal, KeptText<Id>>,
    pub(super) kept_words: KeptWords,
}

#[derive(Clone, Debug)]
struct KeptText<Id> {
    id: Id,
    text: Arc<str>,
}

/// The result of a query.
#[derive(Clone, Debug)]
pub struct PassageMatches<Id> {
    /// The texts that share the most words of the query first.
    pub matches: Vec<MatchingText<Id>>,
    /// A limit was reached, so texts or passages may be missing.
    pub truncated: bool,
    /// [`SearchResult::missing_max`].
    pub missing_max: usize,
}

/// A text that shares passages with a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchingText<Id> {
    /// The id of the text.
    pub id: Id,
    /// The words of the query in runs of passages, and all its words.
    pub of_probe: WordShare,
    /// The words of the text in runs of passages, and all its words.
    pub of_match: WordShare,
    /// The number of words of the longest run of equal words.
    pub longest: usize,
    /// The passages with the most equal words first.
    pub passages: Vec<MatchedPassage>,
}

/// A part of a query and the part of a text that equals it, or nearly: see
/// [`Passage`](super::Passage).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchedPassage {
    /// The part of the query.
    pub probe: Span,
    /// The part of the text.
    pub matched: Span,
    /// The number of pairs of equal words, in order: each word is in one pair at most.
    pub equal: usize,
    /// The number of words between the runs of equal words.
    pub differing: usize,
}

/// The words that the first matches share, while a search goes on.
struct First {
    count: usize,
    shared_min: usize,
    /// The fewest words first.
    most: BinaryHeap<Reverse<usize>>,
    /// Matches of the search that were taken.
    seen: usize,
}

impl First {
    /// Takes matches that share so many words.
    fn take(&mut self, shared: usize, matches: usize) {
        for _ in 0..matches.min(self.count) {
            self.most.push(Reverse(shared));
            if self.most.len() > self.count {
                self.most.pop();
            }
        }
    }

    /// A match is among the first only if it shares as many words.
    fn least(&self) -> usize {
        let last = self.most.peek().filter(|_| self.most.len() == self.count);
        self.shared_min.max(last.map_or(0, |Reverse(shared)| *shared))
    }
}

impl<Id: Eq + Hash + Clone> PassageIndex<Id> {
    /// An empty index. Texts are normalised and cut by the default [`ShingleSettings`].
    pub fn new(settings: PassageSettings) -> Self {
        Self::with_shingler(settings, Shingler::new(ShingleSettings::default(), 0, usize::MAX))
    }

    /// An empty index of texts that a shingler normalises and cuts into words, with its seed.
    pub fn with_shingler(settings: PassageSettings, shingler: Shingler) -> Self {
        Self {
            shingler,
            index: BlockIndex::new(settings),
            next_ordinal: AtomicU64::new(0),
            texts: DashMap::new(),
            by_ordinal: DashMap::new(),
            kept_words: KeptWords::default(),
        }
    }

    /// Lets queries keep so many bytes of the words of texts that they compared, by default none.
    /// It makes queries several times as fast that share boilerplate with thousands of texts.
    pub fn keep_words(&self, bytes: usize) {
        self.kept_words.allow(bytes);
    }

    /// Adds a text, or replaces the text with this id. Returns whether the id is new.
    ///
    /// # Errors
    /// [`ShingleError::Empty`] for a text without a word, and [`ShingleError::TooLong`] for a text
    /// of more than half a gigabyte. The index has not changed then.
    pub fn insert(&self, id: Id, text: &str) -> Result<bool, ShingleError> {
        self.insert_blocks(id, text, &self.blocks(text)?)
    }

    /// [`Self::insert`] with the words of the text in blocks, which any thread can make beforehand:
    /// most of the work of an insertion.
    ///
    /// # Errors
    /// [`ShingleError::Empty`] for a text without a word. The index has not changed then.
    pub fn insert_blocks(
        &self,
        id: Id,
        text: &str,
        blocks: &TextBlocks,
    ) -> Result<bool, ShingleError> {
        if blocks.words() == 0 {
            return Err(ShingleError::Empty);
        }
        // The lock of the entry makes concurrent calls for the same id take turns.
        match self.texts.entry(id) {
            Entry::Occupied(mut entry) => {
                let id = entry.key().clone();
                let replaced = entry.insert(self.add(id, text, blocks));
                self.drop_from_index(replaced);
                Ok(false)
            }
            Entry::Vacant(entry) => {
                let id = entry.key().clone();
                entry.insert(self.add(id, text, blocks));
                Ok(true)
            }
        }
    }

    fn blocks(&self, text: &str) -> Result<TextBlocks, ShingleError> {
        Ok(TextBlocks::new(self.index.settings(), text, &self.shingler.words(text)?))
    }

    /// Adds a text to everything but the map of ids.
    fn add(&self, id: Id, text: &str, blocks: &TextBlocks) -> Ordinal {
        let number = self.next_ordinal.fetch_add(1, Ordering::Relaxed);
        let ordinal = Ordinal::try_from(number).expect("2^48 insertions take years");
        self.by_ordinal.insert(ordinal, KeptText { id, text: text.into() });
        self.index.insert(ordinal, blocks);
        ordinal
    }

    /// Removes a text. Returns whether the id was in the index.
    pub fn remove<Q: Eq + Hash + ?Sized>(&self, id: &Q) -> bool
    where
        Id: Borrow<Q>,
    {
        let removed = self.texts.remove(id);
        removed.map(|(_, ordinal)| self.drop_from_index(ordinal)).is_some()
    }

    /// The inverse of [`Self::add`].
    fn drop_from_index(&self, ordinal: Ordinal) {
        let (_, kept) = self.by_ordinal.remove(&ordinal).expect("the text is in the index");
        let blocks = self.blocks(&kept.text).expect("the text was cut before");
        self.index.remove(ordinal, &blocks);
        self.kept_words.remove(ordinal);
    }

    /// The texts that share passages with a text, with the default [`PassageLimits`].
    ///
    /// # Errors
    /// [`ShingleError::TooLong`]
    pub fn query(&self, text: &str) -> Result<PassageMatches<Id>, ShingleError> {
        self.query_within(text, PassageLimits::default())
    }

    /// The texts that share passages with a text: see the [promise](super#the-promise).
    ///
    /// # Errors
    /// [`ShingleError::TooLong`]
    pub fn query_within(
        &self,
        text: &str,
        limits: PassageLimits,
    ) -> Result<PassageMatches<Id>, ShingleError> {
        self.query_first(text, limits, (usize::MAX, 0), |_, _| true)
    }

    /// The first `count` matches of [`Self::query_within`] that are wanted. The search ends as soon
    /// as no other text can have as many words of the query in runs of the guaranteed length as the
    /// last of these matches shares, or as `shared_min`: `missing_max` tells.
    ///
    /// # Errors
    /// [`ShingleError::TooLong`]
    pub fn query_first(
        &self,
        text: &str,
        limits: PassageLimits,
        (count, shared_min): (usize, usize),
        wanted: impl Fn(&Id, &PassageComparison) -> bool,
    ) -> Result<PassageMatches<Id>, ShingleError> {
        let mut first = First { count, shared_min, most: BinaryHeap::new(), seen: 0 };
        let is_enough = |search: &BlockSearch<'_>| {
            for SearchMatch { ordinals, comparison } in &search.found()[first.seen..] {
                let texts = ordinals.iter().filter_map(|ordinal| self.by_ordinal.get(ordinal));
                let wanted = texts.filter(|text| wanted(&text.id, comparison)).count();
                first.take(comparison.of_probe.shared, wanted);
            }
            first.seen = search.found().len();
            search.is_left_below(first.least())
        };
        let SearchResult { matches: found, truncated, missing_max, .. } =
            self.search(text, limits, is_enough)?;
        let (mut matches, mut known) = (Vec::new(), HashSet::new());
        for SearchMatch { ordinals, comparison } in found {
            let mut probes = None;
            for ordinal in ordinals {
                // The text may have been removed after the search.
                let kept = self.by_ordinal.get(&ordinal).map(|kept| kept.clone());
                let is_wanted =
                    |kept: &KeptText<Id>| matches.len() < count && wanted(&kept.id, &comparison);
                let Some(kept) = kept.filter(is_wanted) else { continue };
                let probes = match &probes {
                    Some(probes) => probes,
                    None => probes.insert(self.probe_spans(text, &comparison)?),
                };
                let found = self.located(ordinal, kept, &comparison, probes)?;
                // A text that is being replaced may have been found in both versions.
                matches.extend(found.filter(|found| known.insert(found.id.clone())));
            }
        }
        Ok(PassageMatches { matches, truncated, missing_max })
    }

    fn search(
        &self,
        text: &str,
        limits: PassageLimits,
        mut is_enough: impl FnMut(&BlockSearch<'_>) -> bool,
    ) -> Result<SearchResult, ShingleError> {
        let probe = self.shingler.words(text)?;
        let readers = probe.readers(text);
        let mut search = self.index.search(probe.hashes(), limits).counting(readers.as_ref());
        loop {
            let group = if is_enough(&search) { Vec::new() } else { search.next_group(GROUP) };
            if group.is_empty() {
                return Ok(search.finish());
            }
            for candidate in &group {
                for (ordinal, block) in candidate.blocks() {
                    let words = self.words_of(*ordinal, block.as_ref())?;
                    if words.is_some_and(|words| search.compare(candidate, &words)) {
                        break;
                    }
                }
            }
        }
    }

    /// `None` if the text was removed.
    fn words_of(
        &self,
        ordinal: Ordinal,
        block: Option<&BlockPlace>,
    ) -> Result<Option<Arc<[u64]>>, ShingleError> {
        let kept = self.kept_words.get(ordinal).filter(|_| block.is_none());
        if kept.is_some() {
            return Ok(kept);
        }
        let Some(text) = self.text(ordinal) else { return Ok(None) };
        let words = block_words(&self.shingler, &text, block)?;
        let words = words.map(|words| Arc::<[u64]>::from(words.hashes()));
        if let (Some(words), None) = (&words, block) {
            self.kept_words.keep(ordinal, words);
        }
        Ok(words)
    }

    fn probe_spans(
        &self,
        text: &str,
        comparison: &PassageComparison,
    ) -> Result<Vec<Span>, ShingleError> {
        let ranges = comparison.passages.iter().map(|passage| passage.probe.clone());
        let spans = locate(&self.shingler, text, None, &ranges.collect::<Vec<_>>())?;
        Ok(spans.expect("the query has its own words"))
    }

    fn text(&self, ordinal: Ordinal) -> Option<Arc<str>> {
        Some(self.by_ordinal.get(&ordinal)?.text.clone())
    }

    /// `None` for a text that was removed after the search.
    fn located(
        &self,
        ordinal: Ordinal,
        KeptText { id, text }: KeptText<Id>,
        comparison: &PassageComparison,
        probes: &[Span],
    ) -> Result<Option<MatchingText<Id>>, ShingleError> {
        let passages = &comparison.passages;
        let ranges: Vec<_> = passages.iter().map(|passage| passage.matched.clone()).collect();
        let blocks = self.index.blocks_of(ordinal);
        let Some(spans) = locate(&self.shingler, &text, blocks.as_deref(), &ranges)? else {
            return Ok(None);
        };
        let located = passages.iter().zip(probes).zip(spans);
        let located = located.map(|((passage, probe), matched)| MatchedPassage {
            probe: probe.clone(),
            matched,
            equal: passage.equal,
            differing: passage.differing,
        });
        let PassageComparison { of_probe, of_match, longest, .. } = *comparison;
        Ok(Some(MatchingText { id, of_probe, of_match, longest, passages: located.collect() }))
    }

    /// Whether a text with this id is in the index.
    pub fn contains<Q: Eq + Hash + ?Sized>(&self, id: &Q) -> bool
    where
        Id: Borrow<Q>,
    {
        self.texts.contains_key(id)
    }

    /// The number of texts.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Whether the index has no text.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// The size of the index, without the texts and ids.
    pub fn stats(&self) -> BlockIndexStats {
        self.index.stats()
    }
}
