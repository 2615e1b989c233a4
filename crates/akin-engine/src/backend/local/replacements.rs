//! Recent replacements of documents, for concurrent lookups.
//!
//! A lookup reads the index key by key and resolves ids afterwards, so it may miss both the old and
//! the new version of a document that is replaced during the lookup. Therefore the new version is
//! recorded here after it is indexed under all its keys and before the old version is removed. A
//! lookup then checks all documents recorded since it began.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::document::Ordinal;

/// The number of recent replacements kept.
const KEPT: usize = 4_096;

#[derive(Debug, Default)]
pub(super) struct Replacements {
    /// The number of replacements ever recorded.
    count: AtomicU64,
    newest: Mutex<VecDeque<Ordinal>>,
}

impl Replacements {
    pub fn note(&self, ordinal: Ordinal) {
        let mut newest = self.newest.lock();
        if newest.len() == KEPT {
            newest.pop_front();
        }
        newest.push_back(ordinal);
        // Release: a reader that sees the new count also sees the document in the index.
        self.count.fetch_add(1, Ordering::Release);
    }

    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    /// The replacements recorded after the first `count`; `None` if some are no longer kept.
    pub fn since(&self, count: u64) -> Option<Vec<Ordinal>> {
        if self.count() == count {
            return Some(Vec::new());
        }
        let newest = self.newest.lock();
        let since = usize::try_from(self.count() - count).ok()?;
        let skipped = newest.len().checked_sub(since)?;
        Some(newest.range(skipped..).copied().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replacements_since_a_count_are_complete_or_none() {
        let replacements = Replacements::default();
        assert_eq!(replacements.since(0), Some(Vec::new()));
        (0..3).for_each(|ordinal| replacements.note(Ordinal::from(ordinal)));
        assert_eq!(replacements.since(1), Some(vec![Ordinal::from(1), Ordinal::from(2)]));
        (3..=KEPT as u32).for_each(|ordinal| replacements.note(Ordinal::from(ordinal)));
        assert_eq!(replacements.since(0), None);
        assert_eq!(replacements.since(1).map(|since| since.len()), Some(KEPT));
        assert_eq!(replacements.since(replacements.count()), Some(Vec::new()));
    }
}
