//! The documents with an expiry time, ordered by it.

use std::collections::BTreeSet;

use parking_lot::Mutex;

use crate::document::Ordinal;

/// Documents counted per lock acquisition.
const COUNTED_AT_ONCE: usize = 4_096;

/// Times are milliseconds since the epoch.
#[derive(Debug, Default)]
pub(super) struct Expiries(Mutex<BTreeSet<(i64, Ordinal)>>);

impl Expiries {
    pub fn insert(&self, expires_at_ms: i64, ordinal: Ordinal) {
        self.0.lock().insert((expires_at_ms, ordinal));
    }

    /// Loads all expiries at a start, before concurrent use.
    pub fn load(&self, all: Vec<(i64, Ordinal)>) {
        // Building a tree from a list is many times as fast, and its nodes are full.
        *self.0.lock() = all.into_iter().collect();
    }

    pub fn remove(&self, expires_at_ms: i64, ordinal: Ordinal) {
        self.0.lock().remove(&(expires_at_ms, ordinal));
    }

    /// At most `max` expired documents, soonest first.
    pub fn due(&self, now_ms: i64, max: usize) -> Vec<Ordinal> {
        self.0.lock().range(..=(now_ms, Ordinal::MAX)).take(max).map(|&(_, due)| due).collect()
    }

    /// The number of expired documents; concurrent changes may or may not be counted.
    pub fn due_count(&self, now_ms: i64) -> u64 {
        let (mut count, mut from) = (0, (i64::MIN, Ordinal::MIN));
        loop {
            let due = self.0.lock();
            let mut due = due.range(from..=(now_ms, Ordinal::MAX));
            count += due.by_ref().take(COUNTED_AT_ONCE).count() as u64;
            let Some(&next) = due.next() else { return count };
            from = next;
        }
    }

    /// An estimate: nodes of the tree are two thirds full on average.
    pub fn bytes(&self) -> u64 {
        (self.0.lock().len() * size_of::<(i64, Ordinal)>() * 3 / 2) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn due_is_what_has_expired_soonest_first() {
        let expiries = Expiries::default();
        expiries.load(vec![(30, Ordinal::from(1)), (10, Ordinal::from(2))]);
        expiries.insert(20, Ordinal::from(3));
        expiries.insert(10, Ordinal::from(4));
        expiries.remove(10, Ordinal::from(4));
        expiries.remove(10, Ordinal::from(9));
        assert_eq!(expiries.due(20, 9), [Ordinal::from(2), Ordinal::from(3)]);
        assert_eq!(expiries.due(30, 1), [Ordinal::from(2)]);
        assert_eq!((expiries.due_count(9), expiries.due_count(30)), (0, 3));
    }

    #[test]
    fn all_that_are_due_are_counted() {
        let expiries = Expiries::default();
        let count = 2 * COUNTED_AT_ONCE as u32 + 1;
        expiries.load((0..count).map(|number| (number.into(), Ordinal::from(number))).collect());
        assert_eq!(expiries.due_count(i64::MAX), u64::from(count));
    }
}
