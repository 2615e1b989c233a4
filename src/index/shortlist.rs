//! Which of the sets that share a key with a probe are worth a closer look.
//!
//! Copies of one template make a crowd: they share keys with each other, all of them, and agree all
//! well enough. A lookup among them reads, compares and gives only so many.

use std::cmp::Reverse;

use smallvec::SmallVec;

use super::Search;
use super::contents::Contents;
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

/// Sketches that are begun to be fetched at once.
const PREFETCHED_MAX: usize = 64;

/// An entry that is worth a look.
#[derive(Clone, Copy)]
pub(super) struct Listed {
    pub entry: u32,
    pub agreeing: u32,
    /// Under how many of the keys it was found.
    pub keys_shared: u32,
}

pub(super) struct Shortlist {
    pub entries: SmallVec<[Listed; 16]>,
    /// Distinct entries under the keys.
    pub seen: usize,
    /// Some were left out.
    pub truncated: bool,
    /// As many as were looked for agree well enough.
    has_enough: bool,
}

/// Entry numbers, once for each key; on the stack unless there are many.
type Numbers = SmallVec<[u32; 128]>;

impl Shortlist {
    pub fn of(contents: &Contents, estimator: Estimator, search: &Search<'_>) -> Self {
        contents.prefetch_keys(search.keys);
        let looking = Looking { contents, estimator, search };
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
}

impl Looking<'_> {
    fn within(&self, postings_max: usize) -> Shortlist {
        let search = self.search;
        let (mut numbers, mut truncated) = self.read_postings(postings_max);
        numbers.sort_unstable();
        let runs = || numbers.chunk_by(|a, b| a == b);
        runs().take(PREFETCHED_MAX).for_each(|run| self.contents.entries.prefetch(run[0]));
        let enough = search.found_max.saturating_mul(AGREEING_FOR_EACH_FOUND);
        let agreeing = runs().filter_map(|run| self.agreeing(run[0], run.len() as u32));
        let mut entries: SmallVec<[Listed; 16]> = agreeing.take(enough).collect();
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
        Shortlist { entries, seen: runs().count(), truncated, has_enough }
    }

    /// An equal set shares every key, and agrees in every slot.
    fn add_equal(&self, entries: &mut SmallVec<[Listed; 16]>) {
        let Some((equal, entry)) = self.contents.entry_of(self.search.fingerprint) else { return };
        if entries.iter().all(|listed| listed.entry != equal) {
            let agreeing = self.estimator.agreeing(self.search.sketch.as_bytes(), entry.sketch);
            let keys_shared = self.search.keys.len() as u32;
            entries.push(Listed { entry: equal, agreeing, keys_shared });
        }
    }

    /// The entry, if its sketch agrees well enough with the probe's.
    fn agreeing(&self, entry: u32, keys_shared: u32) -> Option<Listed> {
        let sketch = self.contents.entries.get(entry)?.sketch;
        let agreeing = self.estimator.agreeing(self.search.sketch.as_bytes(), sketch);
        (agreeing >= self.search.agreeing_min).then_some(Listed { entry, agreeing, keys_shared })
    }

    /// Rare keys are read first, so that what the limit cuts off are the commonplaces.
    fn read_postings(&self, postings_max: usize) -> (Numbers, bool) {
        let mut numbers = Numbers::new();
        let mut long: Vec<(usize, Key)> = Vec::new();
        for key in self.search.keys {
            let postings = self.contents.read(*key);
            if postings.len() <= SHORT && numbers.len() + postings.len() <= postings_max {
                // Mostly one or two, for which a slice is too much ado.
                numbers.extend(postings.iter());
            } else {
                long.push((postings.len(), *key));
            }
        }
        long.sort_unstable_by_key(|(length, _)| *length);
        let mut truncated = false;
        for (length, key) in long {
            let room = postings_max.saturating_sub(numbers.len());
            truncated |= length > room;
            let end = numbers.len() + room.min(length);
            let postings = self.contents.read(key);
            postings.parts().iter().for_each(|part| numbers.extend_from_slice(part));
            numbers.truncate(end);
        }
        (numbers, truncated)
    }
}
