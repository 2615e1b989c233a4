//! Searches for passages. A search reads the index, then the texts of its candidates one by one,
//! and compares them, on a blocking thread.
//!
//! A document that is replaced meanwhile may be missed in both versions, as the search reads the
//! index key by key and the texts afterwards. Therefore the documents that [replaced other
//! documents](super::super::replacements) since the search began are looked for again, if they
//! share a gram with the probe.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use akin_core::passages::{
    BlockPlace, PassageCandidate, PassageComparison, PassageLimits, SearchMatch, TextBlocks,
    block_words, locate,
};
use async_trait::async_trait;

use super::filtering::Filtered;
use super::{CollectionPassages, blocking};
use crate::backend::in_flight::was_stored;
use crate::backend::local::Local;
use crate::backend::local::memory_state::MemoryState;
use crate::backend::{
    ArrivingText, BackendError, Findings, FoundPassages, LocatedPassages, Member, PassageFilter,
    PassageRequest, PassageSearch, SharedPassages,
};
use crate::background::request::{another, charge, reserve};
use crate::budget::{Reservation, cost};
use crate::document::{Content, DocumentId, Ordinal};
use crate::storage::{StorageError, Store};
use crate::stored::Detail;

/// Candidates that are taken from a search at a time.
const GROUP: usize = 16;

/// How often documents that were replaced during the search are looked for.
const ATTEMPTS: usize = 8;

/// Bytes of memory of a search for each word of the probe: hashes, grams, seeds and reaches.
const PROBE_WORD_BYTES: usize = 240;

/// Bytes of memory of a search for postings and runs, up to their limits.
const SEARCH_BYTES: usize = 16 << 20;

/// Bytes of memory for each byte of a text that is cut: its normalised form, words and places.
const CUT_BYTES: usize = 8;

/// Bytes reserved for each document that is found.
const MATCH_BYTES: usize = 256;

/// Bytes reserved for each passage, with its places.
const PASSAGE_BYTES: usize = 256;

/// A search that has read the index.
pub(super) struct Searching {
    pub(super) state: Arc<MemoryState>,
    pub(super) store: Arc<Store>,
    pub(super) request: PassageRequest,
    pub(super) now_ms: i64,
    /// The replacements that were considered.
    since: u64,
    found: FoundPassages,
    /// Documents of the index without a row: they are being replaced or removed, or damaged.
    pub(super) gone: Vec<Ordinal>,
    /// Documents that share passages and are not listed: not yet, or not any more.
    unlisted: Vec<Ordinal>,
    /// The text that was read last: several blocks of it may be candidates.
    last_text: Option<(Ordinal, String)>,
    pub(super) filtered: Filtered,
}

#[async_trait]
impl PassageSearch for Local {
    async fn passages(&self, request: PassageRequest) -> Result<FoundPassages, BackendError> {
        if self.memory.passages.is_none() {
            return Err(BackendError::PassagesOff);
        }
        let turn = self.passage_searches.take().await;
        let mut searching = Searching {
            state: Arc::clone(&self.memory),
            store: Arc::clone(&self.store),
            now_ms: self.now_ms(),
            request,
            since: self.memory.replacements.count(),
            found: FoundPassages::default(),
            gone: Vec::new(),
            unlisted: Vec::new(),
            last_text: None,
            filtered: Filtered::default(),
        };
        let search = move || searching.search().map(|()| (searching, turn));
        let (mut searching, mut turn) = blocking(search).await?;
        for _ in 0..ATTEMPTS {
            // Damage hides the rows of documents that are listed.
            let gone = std::mem::take(&mut searching.gone);
            self.check_missing::<()>(&gone, &vec![None; gone.len()]).await?;
            match self.memory.replacements.since(searching.since) {
                Some(replaced) if replaced.is_empty() && searching.unlisted.is_empty() => {
                    return Ok(searching.found);
                }
                Some(mut replaced) => {
                    searching.since += replaced.len() as u64;
                    replaced.append(&mut searching.unlisted);
                    // A replacement is noted before it is listed, and found only if it is listed.
                    if replaced.iter().any(|it| self.memory.catalog.listing(*it).is_none()) {
                        self.store.sync().await?;
                    }
                    let add = move || searching.add(&replaced).map(|()| (searching, turn));
                    (searching, turn) = blocking(add).await?;
                }
                None => break,
            }
        }
        searching.found.truncated = true;
        Ok(searching.found)
    }

    async fn locate_passages(
        &self,
        found: Vec<SharedPassages>,
    ) -> Result<Vec<LocatedPassages>, BackendError> {
        let turn = self.passage_searches.take().await;
        let (state, store) = (Arc::clone(&self.memory), Arc::clone(&self.store));
        blocking(move || {
            let _turn = turn;
            let Some(passages) = &state.passages else { return Err(BackendError::PassagesOff) };
            let place = |shared: &SharedPassages| located(passages, &store, shared);
            found.iter().map(place).collect()
        })
        .await
    }

    fn note_arriving(&self, blocks: &Arc<TextBlocks>) -> Option<ArrivingText> {
        Some(Arc::clone(self.arriving_texts.as_ref()?).enter(Arc::clone(blocks)))
    }

    async fn wait_for_earlier_texts(
        &self,
        found: &Findings<'_>,
        request: &PassageRequest,
    ) -> Result<bool, BackendError> {
        let own = usize::from(found.has_text);
        let Some(texts) = self.arriving_texts.clone() else { return Ok(true) };
        if texts.count() <= own {
            return Ok(true);
        }
        let turn = self.passage_searches.take().await;
        let request = request.clone();
        let search = move || {
            let _turn = turn;
            let _held = of_index(&request)?;
            let (tickets, is_complete, postings_read) = texts.sharing(&request.words);
            charge(postings_read / cost::SKETCHES)?;
            Ok((tickets, is_complete))
        };
        let (tickets, is_complete) = blocking(search).await?;
        // Without a turn, which an earlier document may need.
        let earlier = found.arrival.map(|arrival| arrival.earlier_texts(tickets));
        for outcome in earlier.into_iter().flatten() {
            was_stored(outcome).await;
        }
        Ok(is_complete)
    }
}

impl Searching {
    fn search(&mut self) -> Result<(), BackendError> {
        let state = Arc::clone(&self.state);
        let passages = state.passages.as_ref().expect("the caller has checked it");
        let (words, limits) = (Arc::clone(&self.request.words), self.request.limits);
        let _held = of_index(&self.request)?;
        // One of equal documents may be the probe itself.
        let examined_max = |filter: &PassageFilter| filter.documents_max;
        let documents_max =
            self.request.filter.as_ref().map_or(limits.documents_max + 1, examined_max);
        let readers = self.request.readers.clone();
        let of_group = PassageLimits { documents_max, ..limits };
        let mut search = passages.index.search(&words, of_group).counting(readers.as_ref());
        if self.request.by_share_of_match {
            search = search.by_share_of_match();
        }
        loop {
            let mut group = search.next_group(GROUP);
            if group.is_empty() || self.filtered.is_truncated {
                break;
            }
            for candidate in &mut group {
                candidate.retain(|ordinal| self.is_wanted(ordinal))?;
                if candidate.blocks().is_empty() {
                    search.pass_over(candidate);
                    continue;
                }
                for (ordinal, block) in candidate.blocks() {
                    let words = self.words_of(passages, *ordinal, block.as_ref())?;
                    if words.is_some_and(|words| search.compare(candidate, &words)) {
                        break;
                    }
                }
            }
        }
        let found = search.finish();
        charge(found.postings_read / cost::SKETCHES)?;
        self.found.truncated =
            found.truncated || self.filtered.is_truncated || !passages.is_complete();
        for SearchMatch { mut ordinals, comparison } in found.matches {
            self.found.truncated |= ordinals.len() > limits.documents_max;
            ordinals.truncate(limits.documents_max);
            reserve(ordinals.len() * MATCH_BYTES + comparison.passages.len() * PASSAGE_BYTES)?;
            let comparison = Arc::new(comparison);
            for ordinal in ordinals {
                self.push(ordinal, &comparison)?;
            }
        }
        // Equal texts came together, also where others are older.
        self.found.matches.sort_by_key(SharedPassages::order);
        Ok(())
    }

    /// Compares documents that replaced documents since the search began, if they may share
    /// passages, and drops the versions that they replaced.
    fn add(&mut self, replaced: &[Ordinal]) -> Result<(), BackendError> {
        let state = Arc::clone(&self.state);
        let passages = state.passages.as_ref().expect("the caller has checked it");
        let listed = |ordinal: &Ordinal| state.member(*ordinal, self.now_ms);
        let listed: Vec<Member> = replaced.iter().filter_map(listed).collect();
        let current: HashMap<&DocumentId, Ordinal> =
            listed.iter().map(|member| (&member.id, member.ordinal)).collect();
        let is_replaced = |found: &Member| {
            current.get(&found.id).is_some_and(|ordinal| *ordinal != found.ordinal)
        };
        self.found.matches.retain(|found| !is_replaced(&found.member));
        let mut new: HashSet<Ordinal> = listed.iter().map(|member| member.ordinal).collect();
        for found in &self.found.matches {
            new.remove(&found.member.ordinal);
        }
        let (words, limits) = (Arc::clone(&self.request.words), self.request.limits);
        let words_min = limits.words_min.unwrap_or(passages.index.settings().run_words());
        let readers = self.request.readers.clone();
        for ordinal in may_share(passages, &words, limits, &new) {
            if !self.is_wanted(ordinal)? {
                continue;
            }
            let Some(text_words) = self.words_of(passages, ordinal, None)? else { continue };
            let (min, pairs_max) = ((words_min, readers.as_ref()), limits.pairs_max);
            let (comparison, is_complete) =
                PassageComparison::of_words(&words, &text_words, min, pairs_max);
            self.found.truncated |= !is_complete;
            if !comparison.passages.is_empty() {
                reserve(MATCH_BYTES + comparison.passages.len() * PASSAGE_BYTES)?;
                self.push(ordinal, &Arc::new(comparison))?;
            }
        }
        self.found.matches.sort_by_key(SharedPassages::order);
        Ok(())
    }

    /// Adds a match, unless the document is not wanted.
    fn push(
        &mut self,
        ordinal: Ordinal,
        comparison: &Arc<PassageComparison>,
    ) -> Result<(), BackendError> {
        if !self.is_wanted(ordinal)? {
            return Ok(());
        }
        match self.state.member(ordinal, self.now_ms) {
            Some(member) => {
                let comparison = Arc::clone(comparison);
                self.found.matches.push(SharedPassages { member, comparison });
            }
            None => self.unlisted.push(ordinal),
        }
        Ok(())
    }

    /// The words of a block of a stored text, or of the whole text; `None` if it is not stored any
    /// more.
    fn words_of(
        &mut self,
        passages: &CollectionPassages,
        ordinal: Ordinal,
        block: Option<&BlockPlace>,
    ) -> Result<Option<Vec<u64>>, BackendError> {
        if self.last_text.as_ref().is_none_or(|(last, _)| *last != ordinal) {
            self.last_text = text(&self.store, ordinal)?.map(|text| (ordinal, text));
        }
        let Some((_, text)) = &self.last_text else {
            self.gone.push(ordinal);
            return Ok(None);
        };
        let cut = block.map_or(text.len(), |block| block.bytes().len());
        let _held = another(text.len() + cut * CUT_BYTES)?;
        charge(of_reading(text.len(), cut))?;
        let words = block_words(&passages.shingler, text, block).ok().flatten();
        Ok(words.map(|words| words.hashes().to_vec()))
    }
}

/// The memory of reading the index, whose work is charged.
fn of_index(request: &PassageRequest) -> Result<Option<Reservation>, BackendError> {
    let words = request.words.len();
    let held = another(SEARCH_BYTES + words * PROBE_WORD_BYTES)?;
    charge(1 + words / cost::WORDS_SEARCHED)?;
    Ok(held)
}

/// The documents of `new` that share a gram with the probe.
fn may_share(
    passages: &CollectionPassages,
    words: &[u64],
    limits: PassageLimits,
    new: &HashSet<Ordinal>,
) -> Vec<Ordinal> {
    if new.is_empty() {
        return Vec::new();
    }
    let all = PassageLimits { compared_max: usize::MAX, words_max: usize::MAX, ..limits };
    let candidates = passages.index.search(words, all).next_group(usize::MAX);
    let ordinals = candidates.iter().flat_map(PassageCandidate::blocks);
    let ordinals = ordinals.map(|(ordinal, _)| *ordinal).filter(|ordinal| new.contains(ordinal));
    ordinals.collect::<HashSet<_>>().into_iter().collect()
}

fn located(
    passages: &CollectionPassages,
    store: &Store,
    shared: &SharedPassages,
) -> Result<LocatedPassages, BackendError> {
    let ordinal = shared.member.ordinal;
    let blocks = passages.index.blocks_of(ordinal);
    let Some(text) = text(store, ordinal)? else { return Ok(None) };
    let found = &shared.comparison.passages;
    let ranges: Vec<Range<usize>> = found.iter().map(|passage| passage.matched.clone()).collect();
    let _held = another(text.len() * (1 + CUT_BYTES))?;
    charge(of_reading(text.len(), text.len()))?;
    Ok(locate(&passages.shingler, &text, blocks.as_deref(), &ranges).ok().flatten())
}

/// `None` if the document is not stored any more, or is not a text.
fn text(store: &Store, ordinal: Ordinal) -> Result<Option<String>, StorageError> {
    let record = store.fetch_here(ordinal, Detail::Content)?;
    match record.and_then(|record| record.content) {
        Some(Content::Text(text)) => Ok(Some(text)),
        _ => Ok(None),
    }
}

/// The cost of reading a text, and of cutting a part of it.
fn of_reading(text_bytes: usize, cut_bytes: usize) -> usize {
    1 + text_bytes / cost::DETAIL_BYTES + cut_bytes / cost::TEXT_BYTES
}

impl SharedPassages {
    fn order(&self) -> impl Ord + use<> {
        let PassageComparison { of_probe, longest, .. } = *self.comparison;
        (std::cmp::Reverse(of_probe.shared), std::cmp::Reverse(longest), self.member.ordinal)
    }
}
