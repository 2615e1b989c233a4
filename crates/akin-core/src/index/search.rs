//! Lookups: the sets that share a key with a probe, with a sketch that agrees with the probe's.
//!
//! All sets made from a template share keys, near-duplicates or not, and many of their slots agree:
//! they are a crowd. A lookup reads few postings of a key that lists a crowd, in proportion to the
//! number of requested sets; then it adds the sets that share rare pairs of slots with the probe
//! ([`super::pairs`]). So the work does not grow with the crowd.

use std::cmp::Reverse;
use std::collections::HashSet;

use super::pairs::SharingPairs;
use super::{Candidate, Candidates, Index, Search, SearchLimits};
use crate::scheme::Key;

/// Keys with at most this many postings are read first, and longer keys after them.
const SHORT: usize = 64;

/// The number of members that are returned of every set, regardless of the limit: the first, and a
/// second in case the first is the document that the lookup is for.
const MEMBERS_MIN: usize = 2;

/// The search ends at this multiple of the requested number of agreeing sets, so that the best of
/// them are good even in a crowd.
const AGREEING_FOR_EACH_FOUND: usize = 4;

/// Postings read at first per requested set. This is enough in a crowd, and most lookups have
/// fewer.
const POSTINGS_FOR_EACH_FOUND: usize = 2 * AGREEING_FOR_EACH_FOUND;

/// The number of postings that are read of every long key, however many postings the other keys
/// have: a probe may be in several crowds.
const OF_EACH_LONG: usize = 8;

/// A set with fewer shared pairs than this part of the expected number is hardly at the threshold.
const FEWER_PAIRS: f64 = 4.0;

/// Prefetch distance, in sets.
const PREFETCHED: usize = 32;

/// A set with a sketch that agrees well enough.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShortlistedSet {
    pub entry: u32,
    pub fingerprint: u64,
    pub agreeing: u32,
    /// Number of the probe's keys under which the set was found.
    pub keys_shared: u32,
}

#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about the search")]
struct Shortlist {
    sets: Vec<ShortlistedSet>,
    /// Number of distinct entries under the keys.
    seen: usize,
    /// Some were left out.
    truncated: bool,
    /// The sketches of all entries under the keys were compared.
    are_compared: bool,
    /// The highest agreement of a set that was compared and left out.
    left_out: u32,
    /// As many agreeing sets as searched for were found.
    has_enough: bool,
    /// Not all postings of a long key were read.
    in_crowd: bool,
}

impl Index {
    /// The sets that share a key with the probe, with sketches that agree well enough with its
    /// sketch.
    ///
    /// Rare keys are read first, so that limits cut off only common keys.
    #[must_use]
    pub fn candidates(&self, search: &Search<'_>) -> Candidates {
        self.prefetch_keys(search.keys);
        self.candidates_fetched(search)
    }

    /// Runs [`candidates`](Self::candidates) for several searches, and prefetches the memory of the
    /// next search.
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
        let list = self.shortlist(search);
        let found = self.candidates_of(&list.sets, &search.limits);
        Candidates {
            seen: list.seen,
            truncated: list.truncated || found.truncated,
            are_compared: list.are_compared,
            left_out: list.left_out.max(found.left_out),
            in_crowd: list.in_crowd && self.pairs.is_some(),
            ..found
        }
    }

    /// The sets with their members. `truncated` and `left_out` tell of sets with more members than
    /// are returned.
    pub(super) fn candidates_of(
        &self,
        sets: &[ShortlistedSet],
        limits: &SearchLimits,
    ) -> Candidates {
        let mut candidates = Candidates::new(Vec::with_capacity(sets.len()));
        let mut members_left = limits.postings_max;
        for listed in sets {
            let members_max = limits.members_max.min(members_left.max(MEMBERS_MIN));
            let candidate = self.sets.read_same(listed.entry, listed.fingerprint, |set| {
                if set.members_count() > members_max {
                    candidates.truncated = true;
                    candidates.left_out = candidates.left_out.max(listed.agreeing);
                }
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
        let few = match &self.pairs {
            Some(_) => search.limits.found_max.saturating_mul(POSTINGS_FOR_EACH_FOUND),
            // Only all postings show which records share the most keys.
            None => usize::MAX,
        };
        let mut first = self.shortlist_within(search, few.min(search.limits.postings_max));
        if let (true, Some(pairs)) = (first.in_crowd, &self.pairs) {
            let sharing = pairs.sharing(search.sketch.as_bytes());
            self.add_by_pairs(search, &sharing, &mut first);
        } else if first.truncated && !first.has_enough && few < search.limits.postings_max {
            first = self.shortlist_within(search, search.limits.postings_max);
        }
        if first.truncated {
            self.add_equal(search, &mut first.sets);
        }
        first
    }

    /// Adds the sets that share the most rare pairs of slots with the probe, as many as are
    /// searched for. The list is then complete if all sets at the threshold are expected to share
    /// more pairs than the omitted sets share.
    fn add_by_pairs(&self, search: &Search<'_>, sharing: &SharingPairs, list: &mut Shortlist) {
        #[cfg(test)]
        self.count_read(sharing.entries.len());
        let mut seen = count_each(&sharing.entries);
        let enough = search.limits.found_max.saturating_mul(AGREEING_FOR_EACH_FOUND);
        let mut left_out = 0;
        if seen.len() > enough {
            seen.select_nth_unstable_by_key(enough, |seen| Reverse(seen.times));
            left_out = seen[enough].times;
            seen.truncate(enough);
        }
        let listed: HashSet<u32> = list.sets.iter().map(|set| set.entry).collect();
        seen.retain(|seen| !listed.contains(&seen.entry));
        list.seen += seen.len();
        seen.sort_unstable_by_key(|seen| (Reverse(seen.times), seen.entry));
        let mut near =
            seen.iter().filter_map(|seen| Some((self.agreeing_set(search, seen.entry, 0)?, seen)));
        list.sets.extend(near.by_ref().take(search.limits.found_max).map(|(set, _)| set));
        left_out = left_out.max(near.next().map_or(0, |(_, seen)| seen.times));
        let expected = sharing.pairs_expected(search.threshold);
        let are_far = expected.is_some_and(|pairs| f64::from(left_out) * FEWER_PAIRS <= pairs);
        list.truncated = !are_far;
    }

    fn shortlist_within(&self, search: &Search<'_>, postings_max: usize) -> Shortlist {
        let PostingsRead { entries, is_truncated, in_crowd } =
            self.read_postings(search, postings_max);
        #[cfg(test)]
        self.count_read(entries.len());
        let mut seen = count_each(&entries);
        let seen_count = seen.len();
        let mut truncated =
            is_truncated | cut_to_most_shared(&mut seen, search.limits.compared_max);
        let enough = match &self.pairs {
            Some(_) => search.limits.found_max.saturating_mul(AGREEING_FOR_EACH_FOUND),
            None => usize::MAX,
        };
        seen.iter().take(PREFETCHED).for_each(|seen| self.sets.prefetch_lock(seen.entry));
        let fetch = |seen: &[Seen]| seen.iter().for_each(|seen| self.sets.prefetch(seen.entry));
        fetch(&seen[..PREFETCHED.min(seen.len())]);
        let agreeing = seen.iter().enumerate().filter_map(|(at, now)| {
            fetch(seen.get(at + PREFETCHED..=at + PREFETCHED).unwrap_or_default());
            self.agreeing_set(search, now.entry, now.times)
        });
        let mut sets: Vec<ShortlistedSet> = agreeing.take(enough).collect();
        let has_enough = sets.len() == enough;
        truncated |= has_enough;
        let (are_compared, mut left_out) = (!truncated, 0);
        if sets.len() > search.limits.found_max {
            let worth = |set: &ShortlistedSet| (Reverse(set.agreeing), set.entry);
            let (_, best, _) = sets.select_nth_unstable_by_key(search.limits.found_max, worth);
            left_out = best.agreeing;
            sets.truncate(search.limits.found_max);
            truncated = true;
        }
        let seen = seen_count;
        Shortlist { sets, seen, truncated, are_compared, left_out, has_enough, in_crowd }
    }

    #[cfg(test)]
    fn count_read(&self, entries: usize) {
        self.read.fetch_add(entries, super::shards::Ordering::Relaxed);
    }

    /// The set of an entry, if its sketch agrees well enough with the probe's.
    fn agreeing_set(
        &self,
        search: &Search<'_>,
        entry: u32,
        keys_shared: u32,
    ) -> Option<ShortlistedSet> {
        let read = self.sets.read(entry, |set| {
            let agreeing = self.estimator.agreeing(search.sketch.as_bytes(), set.sketch);
            ShortlistedSet { entry, fingerprint: set.fingerprint, agreeing, keys_shared }
        });
        read.filter(|set| set.agreeing >= search.agreeing_min)
    }

    /// Adds the equal set, which shares every key and agrees in every slot.
    fn add_equal(&self, search: &Search<'_>, sets: &mut Vec<ShortlistedSet>) {
        if sets.iter().any(|set| set.fingerprint == search.fingerprint) {
            return;
        }
        let Some(equal) = self.entry_of(search.fingerprint) else { return };
        let set = self.agreeing_set(search, equal, search.keys.len() as u32);
        sets.extend(set.filter(|set| set.fingerprint == search.fingerprint));
    }

    /// Entries, repeated for each key: all entries of short keys, and entries of long keys until
    /// there are `of_long_max`. Rare keys are read first, so that limits cut off only common keys.
    fn read_postings(&self, search: &Search<'_>, of_long_max: usize) -> PostingsRead {
        let from = self.sets.number_at(search.start);
        let mut entries = Vec::with_capacity(FEW);
        let mut long: Vec<(usize, Key)> = Vec::new();
        for key in search.keys {
            let start = entries.len();
            let length = self.postings.read(*key, SHORT, |entry, ()| entries.push(entry));
            if length > SHORT || start + length > search.limits.postings_max {
                entries.truncate(start);
                long.push((length, *key));
            }
        }
        long.sort_unstable_by_key(|(length, _)| *length);
        let (mut is_truncated, mut in_crowd) = (false, false);
        let mut long_left = long.len();
        for (length, key) in long {
            long_left -= 1;
            let left = of_long_max.saturating_sub(entries.len());
            let least = OF_EACH_LONG.min(search.limits.postings_max.saturating_sub(entries.len()));
            let room = left.saturating_sub(OF_EACH_LONG * long_left).max(least);
            is_truncated |= length > room;
            in_crowd |= length > room && length > SHORT;
            self.postings.read_some(key, from, room, |entry, ()| entries.push(entry));
        }
        PostingsRead { entries, is_truncated, in_crowd }
    }
}

/// Keeps the entries that were found under the most keys, at most so many. Returns whether some
/// were left out.
fn cut_to_most_shared(seen: &mut Vec<Seen>, max: usize) -> bool {
    if seen.len() <= max {
        return false;
    }
    seen.select_nth_unstable_by_key(max, |seen| (Reverse(seen.times), seen.entry));
    seen.truncate(max);
    true
}

struct PostingsRead {
    entries: Vec<u32>,
    /// Not all postings of the keys were read.
    is_truncated: bool,
    /// Not all postings of a long key were read.
    in_crowd: bool,
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
    fn entries_are_counted_in_order_of_first_occurrence() {
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
