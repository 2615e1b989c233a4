//! Which of the sets that share a key with a probe are worth a closer look.
//!
//! Copies of one template make a crowd: they share keys with each other, all of them, and agree all
//! well enough. A lookup among them reads, compares and gives only so many.

use std::cmp::Reverse;

use super::Search;
use super::contents::Contents;
use super::table::Aim;
use crate::scheme::Key;
use crate::sketch::Estimator;

/// Postings up to this length are read at once; longer ones wait until the short ones are read.
const SHORT: usize = 64;

/// Sets that agree well enough are looked for until there are so many times those that are given:
/// the best of them are then good ones even in a crowd.
const AGREEING_FOR_EACH_FOUND: usize = 4;

/// Postings read at first for each set that is given. In a crowd that is enough, and most lookups
/// have fewer.
const POSTINGS_FOR_EACH_FOUND: usize = 2 * AGREEING_FOR_EACH_FOUND;

/// Sketches are begun to be fetched so far ahead.
const PREFETCHED: usize = 32;

/// An entry that is worth a look.
#[derive(Clone, Copy)]
pub(super) struct Listed {
    pub entry: u32,
    pub agreeing: u32,
    /// Under how many of the keys it was found.
    pub keys_shared: u32,
}

pub(super) struct Shortlist {
    pub entries: Vec<Listed>,
    /// Distinct entries under the keys.
    pub seen: usize,
    /// Some were left out.
    pub truncated: bool,
    /// As many as were looked for agree well enough.
    has_enough: bool,
}

impl Shortlist {
    pub fn of(contents: &Contents, estimator: Estimator, search: &Search<'_>) -> Self {
        let aimed = search.keys.iter().map(|key| (*key, contents.aim(*key))).collect();
        let looking = Looking { contents, estimator, search, aimed };
        let few = search.found_max.saturating_mul(POSTINGS_FOR_EACH_FOUND);
        let first = looking.within(few.min(search.postings_max));
        match first.truncated && !first.has_enough && few < search.postings_max {
            true => looking.within(search.postings_max),
            false => first,
        }
    }
}

struct Looking<'a> {
    contents: &'a Contents,
    estimator: Estimator,
    search: &'a Search<'a>,
    aimed: Vec<(Key, Aim)>,
}

impl Looking<'_> {
    fn within(&self, postings_max: usize) -> Shortlist {
        let search = self.search;
        let (numbers, mut truncated) = self.read_postings(postings_max);
        let seen = count_each(&numbers);
        let enough = search.found_max.saturating_mul(AGREEING_FOR_EACH_FOUND);
        let fetch = |seen: &[Seen]| {
            for seen in seen {
                self.contents.entries.prefetch_sketch(seen.entry);
            }
        };
        fetch(&seen[..PREFETCHED.min(seen.len())]);
        let agreeing = seen.iter().enumerate().filter_map(|(at, seen_now)| {
            fetch(seen.get(at + PREFETCHED..=at + PREFETCHED).unwrap_or_default());
            self.agreeing(seen_now.entry, seen_now.times)
        });
        let mut entries: Vec<Listed> = agreeing.take(enough).collect();
        let has_enough = entries.len() == enough;
        truncated |= has_enough;
        if entries.len() > search.found_max {
            let worth = |listed: &Listed| (Reverse(listed.agreeing), listed.entry);
            entries.select_nth_unstable_by_key(search.found_max, worth);
            entries.truncate(search.found_max);
            truncated = true;
        }
        if truncated {
            self.add_equal(&mut entries);
        }
        Shortlist { entries, seen: seen.len(), truncated, has_enough }
    }

    /// An equal set shares every key, and agrees in every slot.
    fn add_equal(&self, entries: &mut Vec<Listed>) {
        let Some((equal, entry)) = self.contents.entry_of(self.search.fingerprint) else { return };
        if entries.iter().all(|listed| listed.entry != equal) {
            let agreeing = self.estimator.agreeing(self.search.sketch.as_bytes(), entry.sketch);
            let keys_shared = self.search.keys.len() as u32;
            entries.push(Listed { entry: equal, agreeing, keys_shared });
        }
    }

    /// The entry, if its sketch agrees well enough with the probe's.
    fn agreeing(&self, entry: u32, keys_shared: u32) -> Option<Listed> {
        let sketch = self.contents.entries.sketch_of(entry);
        let agreeing = self.estimator.agreeing(self.search.sketch.as_bytes(), sketch);
        (agreeing >= self.search.agreeing_min).then_some(Listed { entry, agreeing, keys_shared })
    }

    /// Entry numbers, once for each key. Rare keys are read first, so that what the limit cuts off
    /// are the commonplaces.
    fn read_postings(&self, postings_max: usize) -> (Vec<u32>, bool) {
        let mut numbers = Vec::with_capacity(FEW);
        let mut long: Vec<(usize, Key, Aim)> = Vec::new();
        for &(key, aim) in &self.aimed {
            let start = numbers.len();
            let others = self.contents.read(key, aim, |entry| numbers.push(entry));
            let length = numbers.len() - start + others.len();
            if length <= SHORT && start + length <= postings_max {
                numbers.extend_from_slice(others);
            } else {
                numbers.truncate(start);
                long.push((length, key, aim));
            }
        }
        long.sort_unstable_by_key(|(length, ..)| *length);
        let mut truncated = false;
        for (length, key, aim) in long {
            let room = postings_max.saturating_sub(numbers.len());
            truncated |= length > room;
            let end = numbers.len() + room.min(length);
            let others = self.contents.read(key, aim, |entry| numbers.push(entry));
            numbers.extend_from_slice(&others[..others.len().min(room)]);
            numbers.truncate(end);
        }
        (numbers, truncated)
    }
}

/// An entry, and under how many keys it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    entry: u32,
    times: u32,
}

/// Numbers that are told apart without memory of their own.
const FEW: usize = 64;

/// Each number once, in the order in which they first come.
fn count_each(numbers: &[u32]) -> Vec<Seen> {
    match numbers.len() {
        0..=FEW => count_in(&mut [0; 2 * FEW], numbers),
        many => count_in(&mut vec![0; (2 * many).next_power_of_two()], numbers),
    }
}

/// `table`: zeros, a power of two of them and more than there are numbers; what is found by a
/// number's hash is its place in the list, from one on, or the next that is free.
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
