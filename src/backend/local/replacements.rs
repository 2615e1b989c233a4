//! Documents that replaced others lately, for lookups that were under way.
//!
//! A lookup reads the index key by key, and names what it found when it is done with that. A
//! document that is replaced meanwhile may have been missed as it was, and as it is. So a document
//! that replaces another is noted here when it is found under all its keys, and before the other
//! goes. A lookup then looks at all that were noted since it began.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::document::Ordinal;

/// The newest that are kept.
const KEPT: usize = 4_096;

#[derive(Debug, Default)]
pub(super) struct Replacements {
    /// Of all that were ever noted.
    count: AtomicU64,
    newest: Mutex<VecDeque<Ordinal>>,
}

impl Replacements {
    pub fn note(&self, ordinal: Ordinal) {
        let mut newest = self.newest();
        if newest.len() == KEPT {
            newest.pop_front();
        }
        newest.push_back(ordinal);
        // Whoever reads the count finds in the index what was filed before.
        self.count.fetch_add(1, Ordering::Release);
    }

    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    /// Those that were noted since there were `count`; `None` if there are too many.
    pub fn since(&self, count: u64) -> Option<Vec<Ordinal>> {
        if self.count() == count {
            return Some(Vec::new());
        }
        let newest = self.newest();
        let since = usize::try_from(self.count() - count).ok()?;
        let skipped = newest.len().checked_sub(since)?;
        Some(newest.range(skipped..).copied().collect())
    }

    fn newest(&self) -> MutexGuard<'_, VecDeque<Ordinal>> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_since_a_count_are_given_unless_some_are_dropped() {
        let replacements = Replacements::default();
        assert_eq!(replacements.since(0), Some(Vec::new()));
        (0..3).for_each(|ordinal| replacements.note(Ordinal(ordinal)));
        assert_eq!(replacements.since(1), Some(vec![Ordinal(1), Ordinal(2)]));
        (3..=KEPT as u32).for_each(|ordinal| replacements.note(Ordinal(ordinal)));
        assert_eq!(replacements.since(0), None);
        assert_eq!(replacements.since(1).map(|since| since.len()), Some(KEPT));
        assert_eq!(replacements.since(replacements.count()), Some(Vec::new()));
    }
}
