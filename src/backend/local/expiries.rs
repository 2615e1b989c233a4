//! Which documents expire, and when. Empty in a collection of which none does.

use std::collections::BTreeSet;
use std::mem::size_of;
use std::sync::{Mutex, MutexGuard, PoisonError};

use dashmap::DashMap;

use crate::document::Ordinal;

/// Times are milliseconds since the epoch.
#[derive(Debug, Default)]
pub(super) struct Expiries {
    at: DashMap<Ordinal, i64>,
    /// The same, soonest first: for whoever removes what has expired.
    by_time: Mutex<BTreeSet<(i64, Ordinal)>>,
}

impl Expiries {
    pub fn insert(&self, ordinal: Ordinal, expires_at_ms: i64) {
        self.at.insert(ordinal, expires_at_ms);
        self.by_time().insert((expires_at_ms, ordinal));
    }

    pub fn remove(&self, ordinal: Ordinal) {
        if let Some((_, expires_at_ms)) = self.at.remove(&ordinal) {
            self.by_time().remove(&(expires_at_ms, ordinal));
        }
    }

    pub fn of(&self, ordinal: Ordinal) -> Option<i64> {
        self.at.get(&ordinal).map(|at| *at)
    }

    pub fn has_expired(&self, ordinal: Ordinal, now_ms: i64) -> bool {
        self.of(ordinal).is_some_and(|at| at <= now_ms)
    }

    /// Those that have expired, soonest first, at most `max`.
    pub fn due(&self, now_ms: i64, max: usize) -> Vec<Ordinal> {
        let by_time = self.by_time();
        by_time.range(..=(now_ms, Ordinal(u32::MAX))).take(max).map(|&(_, due)| due).collect()
    }

    pub fn due_count(&self, now_ms: i64) -> u64 {
        self.by_time().range(..=(now_ms, Ordinal(u32::MAX))).count() as u64
    }

    /// Memory of both; a node of the tree is two thirds full, going by experience.
    pub fn bytes(&self) -> u64 {
        let of_map = self.at.capacity() * (size_of::<(Ordinal, i64)>() + 1) * 8 / 7;
        let of_tree = self.by_time().len() * size_of::<(i64, Ordinal)>() * 3 / 2;
        (of_map + of_tree) as u64
    }

    fn by_time(&self) -> MutexGuard<'_, BTreeSet<(i64, Ordinal)>> {
        // Each change is one insertion or removal: a panic leaves the tree whole.
        self.by_time.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn due_is_what_has_expired_soonest_first() {
        let expiries = Expiries::default();
        for (ordinal, at) in [(1, 30), (2, 10), (3, 20), (4, 10)] {
            expiries.insert(Ordinal(ordinal), at);
        }
        expiries.remove(Ordinal(4));
        expiries.remove(Ordinal(9));
        assert_eq!(expiries.due(20, 9), [Ordinal(2), Ordinal(3)]);
        assert_eq!(expiries.due(30, 1), [Ordinal(2)]);
        assert_eq!((expiries.due_count(9), expiries.due_count(30)), (0, 3));
        assert!(expiries.has_expired(Ordinal(3), 20) && !expiries.has_expired(Ordinal(3), 19));
        assert!(!expiries.has_expired(Ordinal(4), i64::MAX));
    }
}
