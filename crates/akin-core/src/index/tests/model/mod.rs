//! Runs the index with types that Shuttle schedules at random: checks visibility between threads,
//! and the absence of deadlocks.

#![allow(dead_code, unused_imports, reason = "the model uses a part of the index")]
#![allow(
    clippy::duplicate_mod,
    reason = "the index's own code, with other types for what is shared"
)]

mod shards;

#[path = "../../insertion.rs"]
mod insertion;
#[path = "../../numbers.rs"]
mod numbers;
#[path = "../../pairs.rs"]
mod pairs;
#[path = "../../postings/mod.rs"]
mod postings;
#[path = "../../prefix.rs"]
mod prefix;
#[path = "../../search.rs"]
mod search;
#[path = "../../sets/mod.rs"]
mod sets;

use std::collections::BTreeMap;
use std::sync::Arc;

use shuttle::thread;

use super::super::{Candidate, Candidates, IndexStats, NewSet, Search, SearchLimits};
use super::{fingerprint, keys, settings, sketch};
use crate::document::Ordinal;
use crate::sketch::Estimator;
use insertion::Index;
use shards::Mutex;

const SCHEDULES: usize = 300;

fn index() -> Index {
    Index::new(super::TABLES, 16, Estimator::new(&settings()))
}

fn insert(index: &Index, ordinal: u32, set: u8) {
    let (sketch, keys) = (sketch(set), keys(set));
    let fingerprint = fingerprint(set);
    let new = NewSet { fingerprint, shingles: set.into(), sketch: &sketch, keys: &keys, set: None };
    index.insert(Ordinal::from(ordinal), &new);
}

fn remove(index: &Index, ordinal: u32, set: u8) -> bool {
    index.remove(Ordinal::from(ordinal), fingerprint(set), &keys(set), None)
}

/// The members of each set found, after a check that all data belong to one set. An ordinal encodes
/// the set with which it was inserted.
fn look_up(index: &Index, probe: u8) -> BTreeMap<u8, Vec<u32>> {
    let (sketch, keys) = (sketch(probe), keys(probe));
    let candidates = index.candidates(&super::search_of(probe, &sketch, &keys));
    let mut found = BTreeMap::new();
    for Candidate { fingerprint: of, shingles, agreeing, members, .. } in candidates.found {
        let set = shingles as u8;
        assert_eq!(of, fingerprint(set), "the fingerprint of another set");
        assert_eq!(agreeing == 16, set == probe, "the sketch of another set");
        let members: Vec<u32> = members.iter().map(|member| member.get() as u32).collect();
        assert!(members.iter().all(|ordinal| *ordinal % 100 == u32::from(set)), "another's member");
        assert!(!members.is_empty());
        found.insert(set, members);
    }
    found
}

fn check(model: impl Fn() + Send + Sync + 'static) {
    shuttle::check_random(model, SCHEDULES);
}

#[test]
fn equal_sets_share_an_entry_until_the_last_removal() {
    check(|| {
        let index = Arc::new(index());
        let threads: Vec<_> = (1..=2)
            .map(|thread| {
                let index = Arc::clone(&index);
                thread::spawn(move || {
                    insert(&index, thread * 100 + 7, 7);
                    assert!(look_up(&index, 7)[&7].contains(&(thread * 100 + 7)));
                    if thread == 1 {
                        assert!(remove(&index, 107, 7));
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(look_up(&index, 7)[&7], [207]);
        assert_eq!(index.sets.count(), 1);
    });
}

#[test]
fn reused_numbers_do_not_mix_sets() {
    check(|| {
        let index = Arc::new(index());
        insert(&index, 8, 8);
        let writer = Arc::clone(&index);
        let writer = thread::spawn(move || {
            assert!(remove(&writer, 8, 8));
            insert(&writer, 9, 9);
            assert!(remove(&writer, 9, 9));
            insert(&writer, 108, 8);
        });
        for _ in 0..2 {
            let found = look_up(&index, 8);
            assert!(found.values().all(|members| members.len() == 1));
        }
        writer.join().unwrap();
        assert_eq!(look_up(&index, 8)[&8], [108]);
    });
}

/// The steps of the server's `backend::local`, with ids next to the index: the new document is
/// inserted, recorded as a replacement, and listed in place of the old document; then the old
/// document is removed.
#[test]
fn replaced_documents_are_found_old_or_new() {
    check(|| {
        let index = Arc::new(index());
        let current = Arc::new(Mutex::new(16));
        let noted = Arc::new(Mutex::new(Vec::new()));
        insert(&index, 16, 16);
        let (writer, listed, notes) = (index.clone(), current.clone(), noted.clone());
        let writer = thread::spawn(move || {
            for (old, new) in [(16, 17), (17, 116), (116, 117)] {
                insert(&writer, new, (new % 100) as u8);
                notes.lock().unwrap().push(new);
                *listed.lock().unwrap() = new;
                assert!(remove(&writer, old, (old % 100) as u8));
            }
        });
        for _ in 0..2 {
            let before = noted.lock().unwrap().len();
            let found = look_up(&index, 16);
            let is_current = |ordinal: &u32| *current.lock().unwrap() == *ordinal;
            let named = found.values().flatten().any(is_current);
            let replaced = noted.lock().unwrap().len() > before;
            assert!(named || replaced, "it is neither found nor noted");
        }
        writer.join().unwrap();
        assert_eq!(look_up(&index, 17)[&17], [117]);
    });
}

/// The sets that are indexed by pairs of slots when a crowd shares a key.
fn crowd_of(index: &Index, sets: impl Iterator<Item = u8>) -> Vec<u8> {
    let pairs = index.pairs.as_ref().unwrap();
    let is_filed = |set: &u8| !pairs.sharing(sketch(*set).as_bytes()).entries.is_empty();
    sets.filter(is_filed).collect()
}

#[test]
fn all_sets_of_a_crowd_are_indexed_by_pairs() {
    let common = [super::super::Key { table: 0, value: 1 }];
    let insert = move |index: &Index, set: u8| {
        let (sketch, fingerprint) = (sketch(set), fingerprint(set));
        let (shingles, keys) = (set.into(), &common[..]);
        let new = NewSet { fingerprint, shingles, sketch: &sketch, keys, set: None };
        index.insert(Ordinal::from(u32::from(set)), &new);
    };
    let remove = move |index: &Index, set: u8| {
        index.remove(Ordinal::from(u32::from(set)), fingerprint(set), &common, None)
    };
    shuttle::check_random(
        move || {
            let index = Arc::new(index());
            (0..31).for_each(|set| insert(&index, set));
            let threads: Vec<_> = (0..2)
                .map(|thread| {
                    let index = Arc::clone(&index);
                    thread::spawn(move || {
                        insert(&index, 31 + thread);
                        assert!(remove(&index, thread));
                    })
                })
                .collect();
            for thread in threads {
                thread.join().unwrap();
            }
            // A removal may come before the key has a crowd.
            insert(&index, 33);
            insert(&index, 34);
            assert_eq!(crowd_of(&index, 0..40), (2..35).collect::<Vec<_>>());
            (2..35).for_each(|set| assert!(remove(&index, set)));
            assert!(crowd_of(&index, 0..40).is_empty());
        },
        SCHEDULES / 10,
    );
}
