//! The keys by which sets are put into buckets: keys of a scheme, rarest elements, or both.
//!
//! Rarest elements with bounds on size and position are the prefix filter (R. Bayardo, Y. Ma, R.
//! Srikant, "Scaling up all pairs similarity search", 2007; C. Xiao et al., "Efficient similarity
//! joins for near duplicate detection", 2008). Exact lookups in the index use the same bounds,
//! [`prefix_len`] and [`SizeReach::admits`]. A join orders elements by their counts over all sets;
//! the index orders them by a sample.
//!
//! Sets that share a key of a scheme with a crowd are compared with each other by their elements,
//! and not by keys ([`super::crowds`]).

use std::ops::Range;

use super::counts::{ElementCounts, SPREAD, rarest};
use super::crowds::Crowds;
use super::{JoinError, JoinProgress, Sets};
use crate::scheme::{SizeReach, Threshold, prefix_len};

/// The value of a sketch's key in a table; `None` for a sketch without a key there.
pub(super) type KeyOf<'k> = dyn Fn(&[u8], u32) -> Option<u32> + 'k;

pub(super) struct JoinKeys<'k> {
    by_keys: Option<ByKeys<'k>>,
    /// In the last table. Every pair of two sets indexed by elements is found.
    by_elements: Option<ByElements>,
}

pub(super) struct ByKeys<'k> {
    /// Number of keys per set, each in its own table.
    pub tables: u32,
    pub value: Box<KeyOf<'k>>,
    pub crowds: Crowds,
}

struct ByElements {
    threshold: Threshold,
    counts: ElementCounts,
}

/// A key of a set in a table.
#[derive(Clone, Copy, Debug)]
pub(super) struct JoinKey {
    pub table: u32,
    pub key: u32,
    /// The size of the largest set with this element that the set can be a pair with; for a key of
    /// a scheme, [`SizeReach::CROWD`] or [`SizeReach::ALONE`].
    pub most: u32,
}

impl<'k> JoinKeys<'k> {
    /// Gives sets their rarest elements as keys. Reads all sets.
    pub fn by_elements<S: Sets>(
        threshold: Threshold,
        sets: &mut S,
        progress: &JoinProgress,
    ) -> Result<Self, JoinError<S::Error>> {
        let counts = ElementCounts::of(sets, |_| true, progress)?;
        Ok(Self { by_keys: None, by_elements: Some(ByElements { threshold, counts }) })
    }

    /// Gives sets their keys of the scheme.
    pub fn by_keys(by_keys: ByKeys<'k>) -> Self {
        Self { by_keys: Some(by_keys), by_elements: None }
    }

    /// Gives the sets of crowds their rarest elements. Reads the sets of crowds.
    pub fn add_elements_of_crowds<S: Sets>(
        &mut self,
        threshold: Threshold,
        sets: &mut S,
        progress: &JoinProgress,
    ) -> Result<(), JoinError<S::Error>> {
        if let Some(ByKeys { crowds, .. }) = &self.by_keys
            && !crowds.is_empty()
        {
            let counts = ElementCounts::of(sets, |set| crowds.has(set), progress)?;
            self.by_elements = Some(ByElements { threshold, counts });
        }
        Ok(())
    }

    /// Whether each of so many sets is in a crowd.
    pub fn are_crowded(&self, sets: u32) -> Vec<bool> {
        (0..sets).map(|set| self.by_keys.as_ref().is_some_and(|it| it.crowds.has(set))).collect()
    }

    pub fn tables(&self) -> u32 {
        self.key_tables() + u32::from(self.by_elements.is_some())
    }

    /// The tables with the keys of a scheme; a table with elements may follow.
    pub fn key_tables(&self) -> u32 {
        self.by_keys.as_ref().map_or(0, |by_keys| by_keys.tables)
    }

    /// Visits the keys of a set in these tables, in the order of the tables.
    ///
    /// # Errors
    /// Errors of reading the set.
    pub fn visit<S: Sets>(
        &self,
        number: u32,
        tables: Range<u32>,
        sets: &mut S,
        mut visit: impl FnMut(JoinKey),
    ) -> Result<(), JoinError<S::Error>> {
        let keys = tables.start..tables.end.min(self.key_tables());
        if let Some(ByKeys { value, crowds, .. }) = &self.by_keys
            && !keys.is_empty()
        {
            let most = if crowds.has(number) { SizeReach::CROWD } else { SizeReach::ALONE };
            let sketch = sets.sketch(number).map_err(JoinError::Sets)?;
            for table in keys {
                if let Some(key) = value(sketch, table).filter(|key| !crowds.is(table, *key)) {
                    visit(JoinKey { table, key, most });
                }
            }
        }
        if tables.end > self.key_tables()
            && let Some(by_elements) = &self.by_elements
            && self.has_elements_of(number)
        {
            let table = self.key_tables();
            by_elements.visit(number, sets, |key, most| visit(JoinKey { table, key, most }))?;
        }
        Ok(())
    }

    /// Whether a set's rarest elements are keys.
    fn has_elements_of(&self, number: u32) -> bool {
        self.by_keys.as_ref().is_none_or(|by_keys| by_keys.crowds.has(number))
    }

    /// The maximum number of keys of all sets in a table.
    pub fn keys_of_a_table(&self, table: u32, sets: &impl Sets) -> usize {
        let Some(ByElements { threshold, .. }) = &self.by_elements else {
            return sets.count() as usize;
        };
        if table < self.key_tables() {
            return sets.count() as usize;
        }
        let counted = (0..sets.count()).filter(|number| self.has_elements_of(*number));
        counted.map(|number| prefix_len(*threshold, sets.shingles(number))).sum()
    }

    /// The minimum number of elements of a set that are not keys; `None` if elements are no keys.
    pub fn behind(&self, size: usize) -> Option<(usize, Threshold)> {
        let threshold = self.by_elements.as_ref()?.threshold;
        Some((size - prefix_len(threshold, size), threshold))
    }
}

impl ByElements {
    fn visit<S: Sets>(
        &self,
        number: u32,
        sets: &mut S,
        mut visit: impl FnMut(u32, u32),
    ) -> Result<(), JoinError<S::Error>> {
        let set = sets.set(number).map_err(JoinError::Sets)?;
        let mut classes = Vec::new();
        self.counts.classify(set.as_slice(), &mut classes);
        let (len, size) = (prefix_len(self.threshold, set.count()), set.count() as u32);
        rarest(set.as_slice(), &classes, len, |element, position| {
            visit(fold(element), SizeReach::at(self.threshold, size, position).most);
        });
        Ok(())
    }
}

impl JoinKey {
    /// The reach of a set of this size at this key.
    pub fn reach(self, size: usize) -> SizeReach {
        SizeReach { size: size as u32, most: self.most }
    }
}

/// Folds an element to 32 bits. A collision costs a comparison, and loses no pair.
fn fold(element: u64) -> u32 {
    (element.wrapping_mul(SPREAD) >> 32) as u32
}
