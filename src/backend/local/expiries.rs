//! Which documents expire, and when. Empty in a collection of which none does.

use std::collections::BTreeSet;
use std::mem::size_of;
use std::sync::{Mutex, MutexGuard, PoisonError};

use dashmap::DashMap;

use crate::document::Ordinal;

/// A map for so few documents is not worth shrinking.
const AT_KEPT: usize = 1_024;

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

    /// Takes in all there are, at a start: nobody else uses it yet.
    pub fn load(&self, mut all: Vec<(i64, Ordinal)>) {
        all.sort_unstable();
        for &(expires_at_ms, ordinal) in &all {
            self.at.insert(ordinal, expires_at_ms);
        }
        // A tree that is made of a sorted list at once is many times as fast, and full.
        *self.by_time() = all.into_iter().collect();
    }

    pub fn remove(&self, ordinal: Ordinal) {
        let Some((_, expires_at_ms)) = self.at.remove(&ordinal) else { return };
        let mut by_time = self.by_time();
        by_time.remove(&(expires_at_ms, ordinal));
        let left = by_time.len();
        drop(by_time);
        // Each time that the number has halved, so that it is hardly ever looked at.
        if left.is_power_of_two() && self.at.capacity() > 4 * left.max(AT_KEPT) {
            self.at.shrink_to_fit();
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
    fn what_is_loaded_at_once_is_as_if_it_came_one_by_one() {
        let expiries = Expiries::default();
        expiries.load(vec![(30, Ordinal(1)), (10, Ordinal(2)), (20, Ordinal(3))]);
        assert_eq!(expiries.due(25, 9), [Ordinal(2), Ordinal(3)]);
        assert_eq!(expiries.of(Ordinal(1)), Some(30));
        expiries.remove(Ordinal(2));
        assert_eq!((expiries.due(25, 9), expiries.of(Ordinal(2))), (vec![Ordinal(3)], None));
    }

    #[test]
    fn what_goes_gives_its_memory_back() {
        let expiries = Expiries::default();
        expiries.load((0..50_000).map(|number| (number.into(), Ordinal(number))).collect());
        let full = expiries.bytes();
        (0..49_900).for_each(|number| expiries.remove(Ordinal(number)));
        assert!(expiries.bytes() * 4 < full, "{} of {full}", expiries.bytes());
        assert_eq!(expiries.due_count(i64::MAX), 100);
    }

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
