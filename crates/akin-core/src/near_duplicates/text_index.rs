//! An index of texts by id.

use std::borrow::Borrow;
use std::collections::HashSet;
use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};

use dashmap::{DashMap, Entry};

use super::settings::{AnalysedText, MatchSettings, Pipeline, SettingsError};
use crate::document::Ordinal;
use crate::index::{Candidate, Index, NewSet, Search, SearchLimits};
use crate::measure::Overlap;
use crate::scheme::Key;
use crate::sketch::{Estimate, Sketch};
use crate::text::{ShingleError, ShingleSet};

/// An index of texts in memory that finds the near-duplicates of a text.
///
/// Ids are of any type that can be hashed and cloned: numbers, or `Arc<str>` rather than `String`,
/// as the index has each id twice. All methods take `&self`, so threads share an index by reference
/// or in an `Arc`. Texts with equal sets of shingles share an entry of the index, so many copies of
/// a text cost little more than their ids.
///
/// ```
/// use akin_core::{MatchSettings, TextIndex};
///
/// let index = TextIndex::new(&MatchSettings::new().threshold(0.5))?;
/// index.insert("fox", "The quick brown fox jumps over the lazy dog")?;
/// index.insert("lorem", "Lorem ipsum dolor sit amet, consectetur adipiscing elit")?;
///
/// let matches = index.query("A quick brown fox jumps over the lazy dog!")?;
/// assert_eq!(matches[0].id, "fox");
/// assert_eq!(matches[0].similarity, 6.0 / 8.0);
///
/// index.remove("fox");
/// assert!(!index.contains("fox"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Concurrency
/// After a call has returned, every later query sees its effect. A query that runs while a text is
/// replaced may find the old text, the new text or neither. A call waits for another thread at most
/// as long as indexing or removing a text takes.
#[derive(Debug)]
pub struct TextIndex<Id: Eq + Hash> {
    pipeline: Pipeline,
    index: Index,
    next_ordinal: AtomicU64,
    texts: DashMap<Id, IndexedText>,
    /// The id of each text by its ordinal.
    ids: DashMap<Ordinal, Id>,
    /// The distinct sets by fingerprint; `None` if matches are estimates.
    sets: Option<DashMap<u64, KeptSet>>,
}

/// A near-duplicate of a query.
///
/// ```
/// use akin_core::{TextMatch, MatchSettings, TextIndex};
///
/// let index = TextIndex::new(&MatchSettings::new())?;
/// index.insert("a", "one two three four")?;
/// let TextMatch { id, similarity, estimate } = index.query("One. Two. Three. Four.")?.remove(0);
/// assert_eq!((id, similarity, estimate.value), ("a", 1.0, 1.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TextMatch<Id> {
    /// The id of the near-duplicate.
    pub id: Id,
    /// The exact Jaccard similarity of the two sets of shingles, 0..=1; with
    /// [`MatchSettings::verify`] off, [`Estimate::value`].
    pub similarity: f64,
    /// The estimate of the similarity from the two sketches.
    pub estimate: Estimate,
}

#[derive(Clone, Copy, Debug)]
struct IndexedText {
    ordinal: Ordinal,
    fingerprint: u64,
}

#[derive(Debug)]
struct KeptSet {
    set: ShingleSet,
    /// The number of texts with the set.
    texts: usize,
}

impl<Id: Eq + Hash + Clone> TextIndex<Id> {
    /// An empty index.
    ///
    /// # Errors
    /// [`SettingsError`] names every fault of the settings.
    pub fn new(settings: &MatchSettings) -> Result<Self, SettingsError> {
        let pipeline = settings.pipeline()?;
        let sketch_bytes = pipeline.sketcher.sketch_bytes();
        Ok(Self {
            index: Index::new(pipeline.bands.bands, sketch_bytes, pipeline.estimator),
            pipeline,
            next_ordinal: AtomicU64::new(0),
            texts: DashMap::new(),
            ids: DashMap::new(),
            sets: settings.verifies().then(DashMap::new),
        })
    }

    /// Adds a text, or replaces the text with this id. Returns whether the id is new.
    ///
    /// # Errors
    /// [`ShingleError::Empty`] for a text without a word (or character, by the unit), and
    /// [`ShingleError::TooLong`] for a text of more than half a gigabyte. The index has not changed
    /// then.
    pub fn insert(&self, id: Id, text: &str) -> Result<bool, ShingleError> {
        let new = self.pipeline.analyse(text)?;
        // The lock of the entry makes concurrent calls for the same id take turns.
        match self.texts.entry(id) {
            Entry::Occupied(mut entry) => {
                let replaced = *entry.get();
                if replaced.fingerprint != new.fingerprint {
                    let id = entry.key().clone();
                    entry.insert(self.add(id, &new));
                    self.drop_from_index(replaced);
                }
                Ok(false)
            }
            Entry::Vacant(entry) => {
                let id = entry.key().clone();
                entry.insert(self.add(id, &new));
                Ok(true)
            }
        }
    }

    /// Adds a text to everything but the map of texts.
    fn add(&self, id: Id, new: &AnalysedText) -> IndexedText {
        let AnalysedText { set, fingerprint, sketch } = new;
        let number = self.next_ordinal.fetch_add(1, Ordering::Relaxed);
        let ordinal = Ordinal::try_from(number).expect("2^48 insertions take years");
        self.ids.insert(ordinal, id);
        if let Some(sets) = &self.sets {
            let mut kept =
                sets.entry(*fingerprint).or_insert_with(|| KeptSet { set: set.clone(), texts: 0 });
            kept.texts += 1;
        }
        let keys = self.keys(sketch, u32::MAX);
        let (fingerprint, shingles) = (*fingerprint, set.count() as u32);
        let new = NewSet { fingerprint, shingles, sketch, keys: &keys, set: None };
        self.index.insert(ordinal, &new);
        IndexedText { ordinal, fingerprint }
    }

    /// Removes a text. Returns whether the id was in the index.
    pub fn remove<Q: Eq + Hash + ?Sized>(&self, id: &Q) -> bool
    where
        Id: Borrow<Q>,
    {
        let removed = self.texts.remove(id);
        removed.map(|(_, text)| self.drop_from_index(text)).is_some()
    }

    /// The inverse of [`Self::add`].
    fn drop_from_index(&self, text: IndexedText) {
        let IndexedText { ordinal, fingerprint } = text;
        let sketch = self.index.sketch_of(fingerprint).expect("the text is in the index");
        let keys = self.keys(&sketch, u32::MAX);
        self.index.remove(ordinal, fingerprint, &keys, None);
        if let Some(sets) = &self.sets
            && let Entry::Occupied(mut kept) = sets.entry(fingerprint)
        {
            kept.get_mut().texts -= 1;
            if kept.get().texts == 0 {
                kept.remove();
            }
        }
        self.ids.remove(&ordinal);
    }

    /// The near-duplicates of a text, the most similar first, and the oldest first of equally
    /// similar texts. Each text at or above the threshold is found with a probability of at least
    /// [`Self::expected_recall`], and an equal text always.
    ///
    /// The time of a query grows with the number of texts that share keys with it.
    ///
    /// # Errors
    /// [`ShingleError`], as for [`Self::insert`].
    pub fn query(&self, text: &str) -> Result<Vec<TextMatch<Id>>, ShingleError> {
        let probe = self.pipeline.analyse(text)?;
        let plan = &self.pipeline.plan;
        let keys = self.keys(&probe.sketch, plan.bands);
        let candidates = self.index.candidates(&Search::new(
            &keys,
            &probe.sketch,
            probe.fingerprint,
            self.pipeline.threshold,
            plan.agreeing_min,
            SearchLimits::NONE,
        ));
        let mut near: Vec<(f64, Ordinal, TextMatch<Id>)> = Vec::new();
        for candidate in candidates.found {
            let estimate = self.pipeline.estimator.estimate(candidate.agreeing);
            let Some(similarity) = self.similarity(&probe, &candidate, estimate) else { continue };
            near.extend(candidate.members.into_iter().filter_map(|ordinal| {
                let id = self.ids.get(&ordinal)?.clone();
                Some((similarity, ordinal, TextMatch { id, similarity, estimate }))
            }));
        }
        near.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        // A text that is being replaced may have been found in both versions.
        let mut known = HashSet::with_capacity(near.len());
        let is_first: Vec<bool> = near.iter().map(|near| known.insert(&near.2.id)).collect();
        let matches = near.into_iter().map(|near| near.2).zip(is_first);
        Ok(matches.filter_map(|(found, is_first)| is_first.then_some(found)).collect())
    }

    /// The similarity of a candidate, if it reaches the threshold. `None` also for a set that was
    /// removed after the search.
    fn similarity(
        &self,
        probe: &AnalysedText,
        candidate: &Candidate,
        estimate: Estimate,
    ) -> Option<f64> {
        let threshold = self.pipeline.threshold.get();
        let Some(sets) = &self.sets else {
            return Some(estimate.value).filter(|value| *value >= threshold);
        };
        let set = sets.get(&candidate.fingerprint)?.set.clone();
        let overlap = Overlap::reaching(&probe.set, &set, threshold)?;
        Some(overlap.resemblance())
    }

    fn keys(&self, sketch: &Sketch, bands: u32) -> Vec<Key> {
        self.pipeline.bands.keys(sketch.as_bytes(), bands).collect()
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

    /// The probability that a query finds a text with a similarity of exactly the threshold. It is
    /// at least the wanted recall, unless the threshold is too low for the sketches.
    pub fn expected_recall(&self) -> f64 {
        match self.sets {
            Some(_) => self.pipeline.plan.expected_recall,
            None => self.pipeline.plan.expected_recall_estimated,
        }
    }
}

#[cfg(test)]
impl<Id: Eq + Hash> TextIndex<Id> {
    /// The numbers of texts, ids, sets and entries of the index: all 0 when all is removed.
    pub fn leftovers(&self) -> [usize; 4] {
        let sets = self.sets.as_ref().map_or(0, DashMap::len);
        let stats = self.index.stats();
        [self.texts.len(), self.ids.len(), sets, (stats.entries + stats.postings) as usize]
    }
}
