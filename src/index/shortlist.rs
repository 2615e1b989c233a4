//! Which of the sets that share a key with a probe are worth a closer look.
//!
//! Copies of one template make a crowd: they share keys with each other, all of them, and agree all
//! well enough. A lookup among them reads, compares and gives only so many.

use std::cmp::Reverse;

use super::{Index, Search};
use crate::scheme::Key;

/// Postings up to this length are read at once; longer ones wait until the short ones are read.
const SHORT: usize = 64;

/// Sets that agree well enough are looked for until there are so many times those that are given:
/// the best of them are then good ones even in a crowd.
const AGREEING_FOR_EACH_FOUND: usize = 4;

/// Postings read at first for each set that is given. In a crowd that is enough, and most lookups
/// have fewer.
const POSTINGS_FOR_EACH_FOUND: usize = 2 * AGREEING_FOR_EACH_FOUND;

/// Entries that are worth a look, and under how many of the keys each was found.
pub(super) struct Shortlist {
    pub entries: Vec<(u32, u32)>,
    /// Distinct entries under the keys.
    pub seen: usize,
    /// Some were left out.
    pub truncated: bool,
    /// As many as were looked for agree well enough.
    has_enough: bool,
}

impl Index {
    pub(super) fn shortlist(&self, search: &Search<'_>) -> Shortlist {
        let few = search.found_max.saturating_mul(POSTINGS_FOR_EACH_FOUND);
        let first = self.shortlist_of(search, few.min(search.postings_max));
        match first.truncated && !first.has_enough && few < search.postings_max {
            true => self.shortlist_of(search, search.postings_max),
            false => first,
        }
    }

    fn shortlist_of(&self, search: &Search<'_>, postings_max: usize) -> Shortlist {
        let (mut numbers, cut) = self.read_postings(search.keys, postings_max);
        numbers.sort_unstable();
        let runs = || numbers.chunk_by(|a, b| a == b);
        let enough = search.found_max.saturating_mul(AGREEING_FOR_EACH_FOUND);
        let agreeing = runs().filter_map(|run| {
            let agreeing = self.agreeing_with(run[0], search);
            Some((agreeing.filter(|agreeing| *agreeing >= search.agreeing_min)?, run))
        });
        let mut agreeing: Vec<(u32, &[u32])> = agreeing.take(enough).collect();
        let has_enough = agreeing.len() == enough;
        let mut truncated = cut || has_enough;
        if agreeing.len() > search.found_max {
            agreeing.select_nth_unstable_by_key(search.found_max, |(agreeing, run)| {
                (Reverse(*agreeing), run[0])
            });
            agreeing.truncate(search.found_max);
            truncated = true;
        }
        let mut entries: Vec<(u32, u32)> =
            agreeing.into_iter().map(|(_, run)| (run[0], run.len() as u32)).collect();
        if truncated {
            self.add_equal(search, &mut entries);
        }
        Shortlist { entries, seen: runs().count(), truncated, has_enough }
    }

    /// An equal set shares every key, and agrees in every slot.
    fn add_equal(&self, search: &Search<'_>, entries: &mut Vec<(u32, u32)>) {
        let Some(equal) = self.entry_of(search.fingerprint) else { return };
        if entries.iter().all(|(entry, _)| *entry != equal) {
            entries.push((equal, search.keys.len() as u32));
        }
    }

    fn agreeing_with(&self, entry: u32, search: &Search<'_>) -> Option<u32> {
        let of = |sketch: &[u8]| self.estimator.agreeing(search.sketch.as_bytes(), sketch);
        self.entries.read(entry, |_, sketch| of(sketch))
    }

    fn read_postings(&self, keys: &[Key], postings_max: usize) -> (Vec<u32>, bool) {
        let mut numbers = Vec::new();
        let mut long = Vec::new();
        for key in keys {
            self.tables[key.table as usize].read(key.value, |entries| {
                if entries.len() <= SHORT && numbers.len() + entries.len() <= postings_max {
                    numbers.extend_from_slice(entries);
                } else {
                    long.push((entries.len(), *key));
                }
            });
        }
        long.sort_unstable_by_key(|(length, _)| *length);
        let mut truncated = false;
        for (_, key) in long {
            let room = postings_max.saturating_sub(numbers.len());
            self.tables[key.table as usize].read(key.value, |entries| {
                truncated |= entries.len() > room;
                numbers.extend_from_slice(&entries[..entries.len().min(room)]);
            });
        }
        (numbers, truncated)
    }
}
