//! Exact lookups against brute force, before, while and after the order of elements is frozen.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;

use super::*;
use crate::measure::Overlap;
use crate::scheme::prefix_len;

/// A pseudo-random generator (Steele, Lea and Flood 2014).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// An element: a few common elements, or many rare elements.
    fn element(&mut self) -> u64 {
        let universe = if self.below(3) == 0 { 50 } else { 1 << 30 };
        Numbers(self.below(universe)).next()
    }

    fn set(&mut self, size: u64) -> ShingleSet {
        ShingleSet::from_shingles((0..size).map(|_| self.element()).collect()).unwrap()
    }

    /// The set with some elements replaced, added or removed.
    fn near(&mut self, set: &ShingleSet) -> ShingleSet {
        let changes = self.below(1 + set.count() as u64 / 4);
        let mut elements = set.as_slice().to_vec();
        for _ in 0..changes {
            match self.below(3) {
                0 => elements.push(self.element()),
                1 if elements.len() > 1 => {
                    elements.swap_remove(self.below(elements.len() as u64) as usize);
                }
                _ => {
                    let at = self.below(elements.len() as u64) as usize;
                    elements[at] = self.element();
                }
            }
        }
        ShingleSet::from_shingles(elements).unwrap()
    }

    /// Families of similar sets, `count` sets in total.
    fn families(&mut self, count: usize, size_max: u64) -> Vec<ShingleSet> {
        let mut sets: Vec<ShingleSet> = Vec::new();
        while sets.len() < count {
            let is_near = !sets.is_empty() && self.below(4) > 0;
            let set = if is_near {
                let of = self.below(sets.len() as u64) as usize;
                self.near(&sets[of].clone())
            } else {
                let size = 1 + self.below(size_max);
                self.set(size)
            };
            sets.push(set);
        }
        sets
    }
}

fn exact_index(from: f64) -> Index {
    index().with_prefix(Some(at(from)))
}

fn insert_set(index: &Index, ordinal: usize, set: &ShingleSet) {
    let new = NewSet {
        fingerprint: set.fingerprint(),
        shingles: set.count() as u32,
        sketch: &sketch(0),
        keys: &[],
        set: Some(set),
    };
    index.insert(Ordinal::from(ordinal as u32), &new);
}

fn file_all(index: &Index, sets: &BTreeMap<usize, &ShingleSet>) {
    for (ordinal, set) in sets {
        insert_set(index, *ordinal, set);
    }
}

fn take_out(index: &Index, ordinal: usize, set: &ShingleSet) {
    assert!(index.remove(Ordinal::from(ordinal as u32), set.fingerprint(), &[], Some(set)));
}

fn exact(index: &Index, set: &ShingleSet, threshold: f64) -> Candidates {
    let search = ExactSearch {
        set: set.clone(),
        sketch: sketch(0),
        threshold: at(threshold),
        members_max: usize::MAX,
    };
    let candidates = index.exact_candidates(&search, usize::MAX).unwrap();
    assert!(!candidates.truncated);
    candidates
}

/// The ordinals that reach the threshold, among the candidates and among all.
fn check(index: &Index, living: &BTreeMap<usize, &ShingleSet>, probe: &ShingleSet, t: f64) {
    let near = |set: &ShingleSet| Overlap::reaching(probe, set, t).is_some();
    let truth: BTreeSet<usize> =
        living.iter().filter(|(_, set)| near(set)).map(|(ordinal, _)| *ordinal).collect();
    let candidates = exact(index, probe, t);
    let ordinals = candidates.found.iter().flat_map(|found| &found.members);
    let found: BTreeSet<usize> = ordinals.map(|ordinal| ordinal.get() as usize).collect();
    assert!(found.iter().all(|ordinal| living.contains_key(ordinal)), "a dead one is found");
    assert!(truth.is_subset(&found), "at {t}: {:?} are missed", &truth - &found);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 48,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]
    #[test]
    fn exact_lookups_find_every_pair(seed: u64, from in 0.5..=1.0, size_max in 1..40_u64) {
        let mut numbers = Numbers(seed);
        let sets = numbers.families(60, size_max);
        let index = exact_index(from);
        let living: BTreeMap<usize, &ShingleSet> = sets.iter().enumerate().collect();
        file_all(&index, &living);
        for probe in &sets {
            for threshold in [from, f64::midpoint(from, 1.0), 1.0] {
                check(&index, &living, probe, threshold);
            }
            // The hardest threshold is a resemblance that occurs.
            let other = &sets[numbers.below(sets.len() as u64) as usize];
            let own = Overlap::of(probe, other).resemblance();
            if own >= from {
                check(&index, &living, probe, own);
            }
        }
    }
}

#[test]
fn sets_are_found_before_and_after_the_final_order() {
    for (from, count, size_max, probes) in [(0.5, 900, 5_000, 5), (0.7, 2_400, 100, 40)] {
        let mut numbers = Numbers(count as u64);
        let sets = numbers.families(count, size_max);
        let index = exact_index(from);
        let mut living = BTreeMap::new();
        for (ordinal, set) in sets.iter().enumerate() {
            insert_set(&index, ordinal, set);
            living.insert(ordinal, set);
            if ordinal % 300 == 299 {
                let probe = &sets[numbers.below(sets.len() as u64) as usize];
                check(&index, &living, probe, from);
            }
        }
        assert!(index.prefix.as_ref().unwrap().is_final());
        for _ in 0..probes {
            let probe = &sets[numbers.below(sets.len() as u64) as usize];
            for threshold in [0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0].into_iter().filter(|t| *t >= from)
            {
                check(&index, &living, probe, threshold);
            }
        }
    }
}

#[test]
fn lower_thresholds_are_not_served() {
    let set = Numbers(1).set(20);
    let index = exact_index(0.7);
    insert_set(&index, 0, &set);
    let search =
        ExactSearch { set: set.clone(), sketch: sketch(0), threshold: at(0.69), members_max: 1 };
    let answer = |index: &Index, search: &ExactSearch, postings_max| {
        index.exact_candidates(search, postings_max).map(|found| found.seen)
    };
    assert_eq!(answer(&index, &search, 100), Err(Unanswered::NotIndexed));
    let search = ExactSearch { threshold: at(0.7), ..search };
    assert_eq!(answer(&super::index(), &search, 100), Err(Unanswered::NotIndexed));
    assert_eq!(answer(&index, &search, prefix_len(at(0.7), 20)), Ok(1));
    assert_eq!(answer(&index, &search, 1), Err(Unanswered::TooManyPostings));
}

#[test]
fn endless_replacement_does_not_grow_memory() {
    let index = exact_index(0.7);
    let mut numbers = Numbers(4);
    let mut sets = numbers.families(500, 30);
    sets.sort_unstable_by_key(ShingleSet::fingerprint);
    sets.dedup();
    let mut living: BTreeMap<usize, ShingleSet> = sets.into_iter().enumerate().collect();
    for (ordinal, set) in &living {
        insert_set(&index, *ordinal, set);
    }
    let mut bytes_max = 0;
    for next in 500..12_000 {
        let (ordinal, old) = living.pop_first().unwrap();
        let new = numbers.near(&old);
        insert_set(&index, next, &new);
        take_out(&index, ordinal, &old);
        living.insert(next, new);
        if next == 3_000 {
            bytes_max = index.stats().bytes * 5 / 4;
        }
    }
    assert!(index.stats().bytes < bytes_max, "{} bytes", index.stats().bytes);
    let distinct: BTreeSet<u64> = living.values().map(ShingleSet::fingerprint).collect();
    assert_eq!(index.stats().entries, distinct.len() as u64);
    let living: BTreeMap<usize, &ShingleSet> =
        living.iter().map(|(ordinal, set)| (*ordinal, set)).collect();
    for probe in living.values() {
        check(&index, &living, probe, 0.7);
    }
}

/// While sets are added and removed, every lookup finds the sets that stay: while the order is
/// frozen, and while numbers are reused.
#[test]
fn lookups_miss_nothing_while_sets_come_and_go() {
    let index = exact_index(0.6);
    let mut numbers = Numbers(5);
    let staying = numbers.families(60, 60);
    staying.iter().enumerate().for_each(|(ordinal, set)| insert_set(&index, ordinal, set));
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let (index, staying) = (&index, &staying);
            let stop = &stop;
            scope.spawn(move || {
                let living: BTreeMap<usize, &ShingleSet> = staying.iter().enumerate().collect();
                for probe in staying.iter().cycle().skip(thread * 30) {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    let found: BTreeSet<u64> =
                        exact(index, probe, 0.6).found.iter().map(|f| f.fingerprint).collect();
                    for set in living.values() {
                        if Overlap::reaching(probe, set, 0.6).is_some() {
                            assert!(found.contains(&set.fingerprint()));
                        }
                    }
                }
            });
        }
        let mut passing = Vec::new();
        for ordinal in 60..6_000 {
            let of = numbers.below(60) as usize;
            let set = numbers.near(&staying[of]);
            insert_set(&index, ordinal, &set);
            passing.push((ordinal, set));
            if passing.len() > 20 {
                let (ordinal, set) = passing.swap_remove(0);
                take_out(&index, ordinal, &set);
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(index.prefix.as_ref().unwrap().is_final());
}

#[test]
fn loading_inserts_each_set_once() {
    let mut numbers = Numbers(6);
    let sets = numbers.families(200, 40);
    let loaded = exact_index(0.6);
    let twice = || sets.iter().chain(&sets).enumerate();
    let mut loader = loaded.loader(&|_, _| None);
    for (ordinal, set) in twice() {
        let (fingerprint, shingles) = (set.fingerprint(), set.count() as u32);
        let ordinal = Ordinal::from(ordinal as u32);
        loader.add(fingerprint, shingles, sketch(0).as_bytes(), [ordinal]);
    }
    drop(loader);
    for (ordinal, set) in twice() {
        loaded.insert_prefix(Ordinal::from(ordinal as u32), set.fingerprint(), set);
    }
    let living: BTreeMap<usize, &ShingleSet> = twice().collect();
    for probe in &sets {
        check(&loaded, &living, probe, 0.6);
    }
    let inserted = exact_index(0.6);
    twice().for_each(|(ordinal, set)| insert_set(&inserted, ordinal, set));
    assert_eq!(loaded.stats().postings, inserted.stats().postings);
}
