//! Lookups: the sets that share a key with a probe and whose sketches agree with its sketch.
//!
//! Copies of one template form a crowd: all of them share keys and agree well enough. Among them,
//! the work and the results of a lookup are limited.

use std::cmp::Reverse;

use super::{Candidate, Candidates, Index, Search};
use crate::scheme::Key;

/// Postings up to this length are read at once, longer ones after all of these.
const SHORT: usize = 64;

/// Members returned of every set, regardless of the limit: one, and another in case the first is
/// the document that the lookup is for.
const MEMBERS_MIN: usize = 2;

/// The search ends at this multiple of the requested number of agreeing sets, so that the best of
/// them are good ones even in a crowd.
const AGREEING_FOR_EACH_FOUND: usize = 4;

/// Postings read at first per requested set. This is enough in a crowd, and most lookups have
/// fewer.
const POSTINGS_FOR_EACH_FOUND: usize = 2 * AGREEING_FOR_EACH_FOUND;

/// Prefetch distance, in sets.
const PREFETCHED: usize = 32;

/// A set whose sketch agrees well enough.
#[derive(Clone, Copy)]
struct Listed {
    entry: u32,
    fingerprint: u64,
    agreeing: u32,
    /// Number of the probe's keys under which the set was found.
    keys_shared: u32,
}

struct Shortlist {
    sets: Vec<Listed>,
    /// Number of distinct entries under the keys.
    seen: usize,
    /// Some were left out.
    truncated: bool,
    /// As many agreeing sets as searched for were found.
    has_enough: bool,
}

impl Index {
    /// The sets that share a key with the probe and whose sketches agree well enough with its
    /// sketch.
    ///
    /// Rare keys are read first, so that limits cut off only common ones.
    #[must_use]
    pub fn candidates(&self, search: &Search<'_>) -> Candidates {
        self.prefetch_keys(search.keys);
        self.candidates_fetched(search)
    }

    /// Runs [`candidates`](Self::candidates) for several searches, prefetching memory for the next
    /// one.
    #[must_use]
    pub fn candidates_of_all(&self, searches: &[Search<'_>]) -> Vec<Candidates> {
        let next = searches.iter().skip(1).map(Some).chain([None]);
        if let Some(first) = searches.first() {
            self.prefetch_keys(first.keys);
        }
        let look_up = |(search, next): (&Search<'_>, Option<&Search<'_>>)| {
            self.prefetch_keys(next.map_or(&[], |next| next.keys));
            self.candidates_fetched(search)
        };
        searches.iter().zip(next).map(look_up).collect()
    }

    fn candidates_fetched(&self, search: &Search<'_>) -> Candidates {
        let Shortlist { sets, seen, truncated, .. } = self.shortlist(search);
        let found = Vec::with_capacity(sets.len());
        let mut candidates = Candidates { found, seen, truncated };
        let mut members_left = search.postings_max;
        for listed in sets {
            let members_max = search.members_max.min(members_left.max(MEMBERS_MIN));
            let candidate = self.sets.read_same(listed.entry, listed.fingerprint, |set| {
                candidates.truncated |= set.members_count() > members_max;
                Candidate {
                    fingerprint: set.fingerprint,
                    shingles: set.shingles,
                    agreeing: listed.agreeing,
                    keys_shared: listed.keys_shared,
                    members: set.members().take(members_max).collect(),
                }
            });
            let given = candidate.as_ref().map_or(0, |candidate| candidate.members.len());
            members_left = members_left.saturating_sub(given);
            candidates.found.extend(candidate);
        }
        candidates
    }

    fn shortlist(&self, search: &Search<'_>) -> Shortlist {
        let few = search.found_max.saturating_mul(POSTINGS_FOR_EACH_FOUND);
        let first = self.shortlist_within(search, few.min(search.postings_max));
        match first.truncated && !first.has_enough && few < search.postings_max {
            true => self.shortlist_within(search, search.postings_max),
            false => first,
        }
    }

    fn shortlist_within(&self, search: &Search<'_>, postings_max: usize) -> Shortlist {
        let (entries, mut truncated) = self.read_postings(search.keys, postings_max);
        let seen = count_each(&entries);
        let enough = search.found_max.saturating_mul(AGREEING_FOR_EACH_FOUND);
        seen.iter().take(PREFETCHED).for_each(|seen| self.sets.prefetch_lock(seen.entry));
        let fetch = |seen: &[Seen]| seen.iter().for_each(|seen| self.sets.prefetch(seen.entry));
        fetch(&seen[..PREFETCHED.min(seen.len())]);
        let agreeing = seen.iter().enumerate().filter_map(|(at, now)| {
            fetch(seen.get(at + PREFETCHED..=at + PREFETCHED).unwrap_or_default());
            self.agreeing_set(search, now.entry, now.times)
        });
        let mut sets: Vec<Listed> = agreeing.take(enough).collect();
        let has_enough = sets.len() == enough;
        truncated |= has_enough;
        if sets.len() > search.found_max {
            let worth = |set: &Listed| (Reverse(set.agreeing), set.entry);
            sets.select_nth_unstable_by_key(search.found_max, worth);
            sets.truncate(search.found_max);
            truncated = true;
        }
        if truncated {
            self.add_equal(search, &mut sets);
        }
        Shortlist { sets, seen: seen.len(), truncated, has_enough }
    }

    /// The set of an entry, if its sketch agrees well enough with the probe's.
    fn agreeing_set(&self, search: &Search<'_>, entry: u32, keys_shared: u32) -> Option<Listed> {
        let read = self.sets.read(entry, |set| {
            let agreeing = self.estimator.agreeing(search.sketch.as_bytes(), set.sketch);
            Listed { entry, fingerprint: set.fingerprint, agreeing, keys_shared }
        });
        read.filter(|set| set.agreeing >= search.agreeing_min)
    }

    /// Adds the equal set, which shares every key and agrees in every slot.
    fn add_equal(&self, search: &Search<'_>, sets: &mut Vec<Listed>) {
        if sets.iter().any(|set| set.fingerprint == search.fingerprint) {
            return;
        }
        let Some(equal) = self.entry_of(search.fingerprint) else { return };
        let set = self.agreeing_set(search, equal, search.keys.len() as u32);
        sets.extend(set.filter(|set| set.fingerprint == search.fingerprint));
    }

    /// Entries, repeated for each key. Rare keys are read first, so that the limit cuts off only
    /// common ones. The second part says whether anything was cut off.
    fn read_postings(&self, keys: &[Key], postings_max: usize) -> (Vec<u32>, bool) {
        let mut entries = Vec::with_capacity(FEW);
        let mut long: Vec<(usize, Key)> = Vec::new();
        for key in keys {
            let start = entries.len();
            let length = self.postings.read(*key, SHORT, |entry, ()| entries.push(entry));
            if length > SHORT || start + length > postings_max {
                entries.truncate(start);
                long.push((length, *key));
            }
        }
        long.sort_unstable_by_key(|(length, _)| *length);
        let mut truncated = false;
        for (length, key) in long {
            let room = postings_max.saturating_sub(entries.len());
            truncated |= length > room;
            self.postings.read_first(key, room, |entry, ()| entries.push(entry));
        }
        (entries, truncated)
    }
}

/// An entry, with the number of keys under which it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    entry: u32,
    times: u32,
}

/// Up to this number, entries are counted on the stack.
const FEW: usize = 64;

/// Each number once, in the order of first occurrence.
fn count_each(numbers: &[u32]) -> Vec<Seen> {
    match numbers.len() {
        0..=FEW => count_in(&mut [0; 2 * FEW], numbers),
        many => count_in(&mut vec![0; (2 * many).next_power_of_two()], numbers),
    }
}

/// `table`: zeros, a power of two of them and more than there are numbers; a hash table with linear
/// probing of positions in the list, from 1.
fn count_in(table: &mut [u32], numbers: &[u32]) -> Vec<Seen> {
    let mut list = Vec::<Seen>::with_capacity(numbers.len());
    let shift = u32::BITS - table.len().ilog2();
    for &entry in numbers {
        // Fibonacci hashing (Knuth, TAOCP 3, 6.4).
        let mut at = (entry.wrapping_mul(0x9e37_79b1) >> shift) as usize;
        loop {
            match table[at] as usize {
                0 => {
                    list.push(Seen { entry, times: 1 });
                    table[at] = list.len() as u32;
                    break;
                }
                place if list[place - 1].entry == entry => {
                    list[place - 1].times += 1;
                    break;
                }
                _ => at = (at + 1) % table.len(),
            }
        }
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_counted_in_the_order_in_which_they_come() {
        for count in [0, 1, 63, 64, 65, 1_000] {
            let numbers: Vec<u32> = (0..count).map(|n| (n * n) % 97 * 0x1_0001).collect();
            let mut expected: Vec<Seen> = Vec::new();
            for &entry in &numbers {
                match expected.iter_mut().find(|seen| seen.entry == entry) {
                    Some(seen) => seen.times += 1,
                    None => expected.push(Seen { entry, times: 1 }),
                }
            }
            assert_eq!(count_each(&numbers), expected);
        }
    }
}
