mod bounds;
mod copies;
mod crowds;
mod exact;
mod many;
mod model;
mod pages;
mod scan;
mod threads;

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::sketch::{Estimator, SketchSettings};

const TABLES: u32 = 4;

fn at(threshold: f64) -> Threshold {
    Threshold::new(threshold).unwrap()
}

fn settings() -> SketchSettings {
    SketchSettings { slots: 16, ..SketchSettings::default() }
}

fn index() -> Index {
    Index::new(TABLES, 16, Estimator::new(&settings()))
}

/// A small domain of sets, so that keys are shared: the set's number determines sketch and keys.
fn sketch(set: u8) -> Sketch {
    Sketch::from_bytes(vec![set; 16].into())
}

fn keys(set: u8) -> Vec<Key> {
    (0..TABLES).map(|table| Key { table, value: u32::from(set) >> table }).collect()
}

fn insert(index: &Index, ordinal: u32, set: u8) {
    let (sketch, keys) = (sketch(set), keys(set));
    let new = NewSet {
        fingerprint: fingerprint(set),
        shingles: 1,
        sketch: &sketch,
        keys: &keys,
        set: None,
    };
    index.insert(Ordinal::from(ordinal), &new);
}

/// Pairs of fingerprints fold to the same 32 bits: identity must not depend on the folded value.
fn fingerprint(set: u8) -> u64 {
    u64::from(set) | (u64::from(set / 2) << 32)
}

fn remove(index: &Index, ordinal: u32, set: u8) -> bool {
    index.remove(Ordinal::from(ordinal), fingerprint(set), &keys(set), None)
}

fn search(index: &Index, set: u8, agreeing_min: u32, postings_max: usize) -> Candidates {
    let (sketch, keys) = (sketch(set), keys(set));
    let search = search_of(set, &sketch, &keys);
    let limits = SearchLimits { postings_max, ..search.limits };
    index.candidates(&Search { agreeing_min, limits, ..search })
}

fn search_of<'a>(set: u8, sketch: &'a Sketch, keys: &'a [Key]) -> Search<'a> {
    Search {
        keys,
        sketch,
        fingerprint: fingerprint(set),
        agreeing_min: 0,
        threshold: at(0.8),
        start: 0,
        limits: SearchLimits {
            postings_max: usize::MAX,
            found_max: usize::MAX,
            members_max: 1000,
            ..SearchLimits::NONE
        },
    }
}

/// A candidate for comparison: keys shared and members by fingerprint.
type FoundMembers = BTreeMap<u64, (u32, BTreeSet<u32>)>;

fn found(index: &Index, set: u8) -> FoundMembers {
    let candidates = search(index, set, 0, usize::MAX);
    assert!(!candidates.truncated);
    let describe = |c: &Candidate| {
        (
            c.fingerprint,
            (c.keys_shared, c.members.iter().map(|ordinal| ordinal.get() as u32).collect()),
        )
    };
    candidates.found.iter().map(describe).collect()
}

/// The expected candidates, by comparing every document.
fn brute_force(documents: &BTreeMap<u32, u8>, probe: u8) -> FoundMembers {
    let mut all = FoundMembers::new();
    for (&ordinal, &set) in documents {
        let shared = keys(set).iter().zip(keys(probe)).filter(|(a, b)| **a == *b).count();
        if shared > 0 {
            let found = all.entry(fingerprint(set)).or_default();
            found.0 = shared as u32;
            found.1.insert(ordinal);
        }
    }
    all
}

proptest! {
    #[test]
    fn lookups_find_what_brute_force_finds(
        steps in prop::collection::vec((0u32..40, 0u8..32, any::<bool>()), 1..200),
        probe in 0u8..32,
    ) {
        let (index, mut documents) = (index(), BTreeMap::new());
        for (ordinal, set, add) in steps {
            if let Some(old) = documents.remove(&ordinal) {
                prop_assert!(remove(&index, ordinal, old));
            }
            if add {
                insert(&index, ordinal, set);
                insert(&index, ordinal, set);
                documents.insert(ordinal, set);
            }
        }
        prop_assert_eq!(found(&index, probe), brute_force(&documents, probe));
        let distinct: BTreeSet<u8> = documents.values().copied().collect();
        prop_assert_eq!(index.stats().entries, distinct.len() as u64);
        prop_assert_eq!(index.stats().postings, distinct.len() as u64 * u64::from(TABLES));
        let mut lengths = BTreeMap::<(u32, u32), u64>::new();
        distinct.iter().flat_map(|&set| keys(set)).for_each(|key| {
            *lengths.entry((key.table, key.value)).or_default() += 1;
        });
        prop_assert_eq!(index.stats().keys, lengths.len() as u64);
        let longest = lengths.values().copied().max().unwrap_or(0);
        prop_assert_eq!(index.stats().postings_longest, longest);
    }
}

#[test]
fn removal_leaves_nothing_behind() {
    let index = index();
    for round in 0..10 {
        for document in 0..1000 {
            insert(&index, round * 1000 + document, document as u8);
        }
        for document in 0..1000 {
            assert!(remove(&index, round * 1000 + document, document as u8));
            assert!(!remove(&index, round * 1000 + document, document as u8), "it is gone already");
        }
    }
    let stats = index.stats();
    assert_eq!((stats.entries, stats.keys, stats.postings), (0, 0, 0));
    insert(&index, 0, 1);
    assert_eq!(found(&index, 1).len(), 1);
}

#[test]
fn numbers_of_released_entries_are_reused() {
    let index = index();
    insert(&index, 0, 0);
    let bytes = index.stats().bytes;
    for ordinal in 0..10_000 {
        insert(&index, ordinal + 1, (ordinal + 1) as u8);
        remove(&index, ordinal, ordinal as u8);
    }
    assert_eq!(index.stats().entries, 1);
    assert!(index.stats().bytes < bytes + 64 * 1024, "replacing for ever must not grow the memory");
}

/// The bytes of a sketch determine its keys, as in a scheme.
fn keys_of(sketch: &[u8]) -> Vec<Key> {
    let band = |table: u32| {
        let band = &sketch[table as usize * 4..][..4];
        u32::from_le_bytes(band.try_into().unwrap())
    };
    (0..TABLES).map(|table| Key { table, value: band(table) }).collect()
}

fn sketch_of(number: u32) -> Sketch {
    let words = (0..TABLES).map(|table| number.wrapping_mul(0x9e37_79b1) ^ table);
    Sketch::from_bytes(words.flat_map(u32::to_le_bytes).collect())
}

#[test]
fn removal_frees_memory_and_keeps_the_remaining_sets() {
    let index = index();
    let fingerprint = |number: u32| u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for number in 0..30_000_u32 {
        let sketch = sketch_of(number);
        let keys = keys_of(sketch.as_bytes());
        let fingerprint = fingerprint(number);
        let new = NewSet { fingerprint, shingles: 1, sketch: &sketch, keys: &keys, set: None };
        index.insert(Ordinal::from(number), &new);
    }
    let full = index.stats().bytes;
    for number in (0..30_000).filter(|number| number % 10 != 0) {
        let keys = keys_of(sketch_of(number).as_bytes());
        assert!(index.remove(Ordinal::from(number), fingerprint(number), &keys, None));
    }
    let left = index.stats();
    assert_eq!(left.entries, 3_000);
    assert!(left.bytes < full / 2, "{} of {full} bytes", left.bytes);
    for number in (0..30_000).step_by(10) {
        let sketch = sketch_of(number);
        let keys = keys_of(sketch.as_bytes());
        let candidates = index.candidates(&Search {
            keys: &keys,
            sketch: &sketch,
            fingerprint: fingerprint(number),
            agreeing_min: 16,
            threshold: at(0.8),
            start: 0,
            limits: SearchLimits {
                postings_max: 100,
                found_max: 10,
                members_max: 10,
                ..SearchLimits::NONE
            },
        });
        assert_eq!(candidates.found.len(), 1);
        assert_eq!(candidates.found[0].members[..], [Ordinal::from(number)]);
        assert_eq!(candidates.found[0].keys_shared, TABLES);
    }
}

#[test]
fn a_pruned_candidate_is_seen_but_not_found() {
    let index = index();
    insert(&index, 1, 8);
    insert(&index, 2, 9);
    let candidates = search(&index, 8, 16, 100);
    assert_eq!((candidates.seen, candidates.found.len()), (2, 1));
    assert_eq!(candidates.found[0].agreeing, 16);
}

#[test]
fn equal_sets_from_many_threads_make_one_entry() {
    let index = index();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let index = &index;
            scope.spawn(move || {
                (0..500).for_each(|n| insert(index, thread * 500 + n, (n % 16) as u8));
            });
        }
    });
    assert_eq!(index.stats().entries, 16);
    assert_eq!(found(&index, 3)[&fingerprint(3)].1.len(), 4 * 32);
}

#[test]
fn loading_inserts_every_entry_in_every_table() {
    let (loaded, inserted) = (index(), index());
    let value = |sketch: &[u8], table| Some(u32::from(sketch[0]) >> table);
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let mut loader = loaded.loader(&value);
            scope.spawn(move || {
                for ordinal in (0..300u32).filter(|ordinal| ordinal / 100 % 2 == thread) {
                    let set = (ordinal % 60) as u8;
                    loader.add(
                        fingerprint(set),
                        1,
                        sketch(set).as_bytes(),
                        [Ordinal::from(ordinal)],
                    );
                }
            });
        }
    });
    (0..300).for_each(|ordinal| insert(&inserted, ordinal, (ordinal % 60) as u8));
    assert_eq!(loaded.stats().entries, 60);
    for set in 0..60 {
        assert_eq!(found(&loaded, set), found(&inserted, set));
    }
}

/// Averaged over a doubling, since tables grow within it.
#[test]
fn the_usual_bytes_match_a_real_index() {
    let index = index();
    let usual = Index::usual_bytes();
    let expected = f64::from(TABLES) * usual.key + usual.entry + 16.0;
    let mut ratios = Vec::new();
    for number in 1..=16_000_u32 {
        let spread = u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let keys: Vec<_> =
            (0..TABLES).map(|table| Key { table, value: (spread >> 20) as u32 }).collect();
        let sketch = sketch(0);
        let new =
            NewSet { fingerprint: spread, shingles: 1, sketch: &sketch, keys: &keys, set: None };
        index.insert(Ordinal::from(number), &new);
        if number >= 8_000 && number % 500 == 0 {
            ratios.push(index.stats().bytes as f64 / f64::from(number) / expected);
        }
    }
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    assert!((0.8..1.25).contains(&mean), "{mean} of {expected} bytes");
}
