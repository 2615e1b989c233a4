//! The distinct sets in flight, by key.
//!
//! Documents with equal sets share one entry, as in the index. A bounded number of sets is
//! examined, the earliest of each key first, so that the cost of a document does not grow with the
//! number of near-duplicates in flight.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use crate::backend::{PreparedDocument, RivalSearch};
use akin_core::scheme::Key;
use akin_core::sketch::Estimator;

/// Number of sets (the earliest) examined of each key, unless more rivals are requested.
const SETS_OF_KEY: usize = 16;

/// The total number of sets examined is limited to this multiple of the number for each key. Keys
/// with more sets share what the other keys leave of it.
const KEYS_IN_FULL: usize = 32;

#[derive(Debug)]
pub(super) struct SetsInFlight {
    estimator: Estimator,
    /// By the number of the first document with the set.
    sets: BTreeMap<u64, SetInFlight>,
    first_by_fingerprint: BTreeMap<u64, u64>,
    by_key: BTreeSet<(Key, u64)>,
    /// `by_key` covers only the tables below this table, the tables used by searches so far. Most
    /// searches use the collection's threshold, which needs only some of the tables.
    tables: u32,
    #[cfg(test)]
    pub examined: usize,
}

#[derive(Debug)]
pub(super) struct SetInFlight {
    /// Any document that has, or had, this set.
    document: Arc<PreparedDocument>,
    /// The numbers of the documents with this set.
    pub documents: BTreeSet<u64>,
}

impl SetsInFlight {
    pub fn new(estimator: Estimator) -> Self {
        Self {
            estimator,
            sets: BTreeMap::new(),
            first_by_fingerprint: BTreeMap::new(),
            by_key: BTreeSet::new(),
            tables: 0,
            #[cfg(test)]
            examined: 0,
        }
    }

    pub fn insert(&mut self, number: u64, document: &Arc<PreparedDocument>) {
        let first =
            *self.first_by_fingerprint.entry(document.analysis.fingerprint).or_insert(number);
        let set = self.sets.entry(first).or_insert_with(|| {
            self.by_key.extend(keys(document, 0..self.tables).map(|key| (key, first)));
            SetInFlight { document: Arc::clone(document), documents: BTreeSet::new() }
        });
        set.documents.insert(number);
    }

    pub fn remove(&mut self, number: u64, fingerprint: u64) {
        let Some(&first) = self.first_by_fingerprint.get(&fingerprint) else { return };
        let Some(set) = self.sets.get_mut(&first) else { return };
        set.documents.remove(&number);
        if !set.documents.is_empty() {
            return;
        }
        for key in keys(&set.document, 0..self.tables) {
            self.by_key.remove(&(key, first));
        }
        self.first_by_fingerprint.remove(&fingerprint);
        self.sets.remove(&first);
    }

    /// The equal set, and the sets that share a key and have sketches that agree well enough:
    /// earliest first for a `tentative` document, which waits for them, otherwise best agreement
    /// first. Also returns whether some sets were not examined.
    pub fn near(
        &mut self,
        document: &PreparedDocument,
        tentative: bool,
        search: &RivalSearch,
    ) -> (Vec<&SetInFlight>, bool) {
        let tables = search.keys.iter().map(|key| key.table.saturating_add(1)).max();
        self.index_tables(tables.unwrap_or(0));
        let (firsts, truncated) = self.sharing(document.analysis.fingerprint, search);
        #[cfg(test)]
        {
            self.examined += firsts.len();
        }
        let agreeing = |first: u64| {
            let set = self.sets.get(&first)?;
            let (ours, its) =
                (document.analysis.sketch.as_bytes(), set.document.analysis.sketch.as_bytes());
            let agreeing = self.estimator.agreeing(ours, its);
            (agreeing >= search.agreeing_min).then_some((agreeing, set))
        };
        let mut near: Vec<_> = firsts.into_iter().filter_map(agreeing).collect();
        if !tentative {
            near.sort_by_key(|(agreeing, _)| Reverse(*agreeing));
        }
        (near.into_iter().map(|(_, set)| set).collect(), truncated)
    }

    /// The sets that share a key, ascending; and whether some were left out.
    fn sharing(&self, fingerprint: u64, search: &RivalSearch) -> (Vec<u64>, bool) {
        let of_key_max = search.rivals_max.max(SETS_OF_KEY);
        let of_all_max = of_key_max.saturating_mul(KEYS_IN_FULL);
        let mut firsts = Vec::new();
        firsts.extend(self.first_by_fingerprint.get(&fingerprint));
        let of_key = |key: &Key| self.by_key.range((*key, 0)..=(*key, u64::MAX)).peekable();
        let mut of_keys: Vec<_> = search.keys.iter().map(of_key).collect();
        for of_each_max in [of_key_max, of_all_max] {
            for sharing in &mut of_keys {
                let room = of_each_max.min(of_all_max.saturating_sub(firsts.len()));
                firsts.extend(sharing.by_ref().take(room).map(|(_, first)| first));
            }
        }
        let truncated = of_keys.iter_mut().any(|sharing| sharing.peek().is_some());
        firsts.sort_unstable();
        firsts.dedup();
        (firsts, truncated)
    }

    /// Indexes the sets in flight under the keys of further tables.
    fn index_tables(&mut self, tables: u32) {
        if tables <= self.tables {
            return;
        }
        for (first, set) in &self.sets {
            self.by_key.extend(keys(&set.document, self.tables..tables).map(|key| (key, *first)));
        }
        self.tables = tables;
    }

    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.sets.is_empty() && self.first_by_fingerprint.is_empty() && self.by_key.is_empty()
    }
}

fn keys(document: &PreparedDocument, tables: Range<u32>) -> impl Iterator<Item = Key> {
    document.keys.iter().copied().filter(move |key| tables.contains(&key.table))
}
