//! The shingles that a text was cut into.

use std::ops::Range;

use super::hash::combine_whole;

/// The shingles of a text in its order.
pub(super) struct Cut {
    pub shingles: Vec<u64>,
    /// No shingle was found, so the whole text is the only one.
    pub whole_document: bool,
    /// Units in a shingle.
    pub size: usize,
    pub firsts: Firsts,
}

/// The number of the unit that each shingle begins with.
pub(super) enum Firsts {
    /// Shingle n begins with unit n.
    Every,
    Some(Vec<usize>),
}

impl Cut {
    /// The numbers of a shingle's units.
    pub(super) fn units_of(&self, shingle: usize) -> Range<usize> {
        let first = match &self.firsts {
            Firsts::Every => shingle,
            Firsts::Some(firsts) => firsts[shingle],
        };
        first..first + self.size
    }

    /// Only these shingles.
    pub(super) fn only(self, is_counted: impl Fn(u64) -> bool) -> Self {
        if self.shingles.iter().all(|shingle| is_counted(*shingle)) {
            return self;
        }
        let numbers = 0..self.shingles.len();
        let counted: Vec<usize> =
            numbers.filter(|number| is_counted(self.shingles[*number])).collect();
        let firsts = counted.iter().map(|number| self.units_of(*number).start).collect();
        let shingles = counted.into_iter().map(|number| self.shingles[number]).collect();
        Self { shingles, firsts: Firsts::Some(firsts), ..self }
    }

    /// The only shingle of a text of these words; a text without words has no shingle.
    pub(super) fn whole(words: &[u64]) -> Self {
        let shingles = if words.is_empty() { vec![] } else { vec![combine_whole(words)] };
        Self { shingles, whole_document: true, size: words.len(), firsts: Firsts::Every }
    }
}
