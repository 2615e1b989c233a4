//! Threads insert, remove and look up concurrently, while pages grow and split.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::*;

const SETS: u32 = 3_000;
const WRITERS: u32 = 4;

/// A set by its number; some of the sets share keys. Its sketch encodes its number.
fn new_set(number: u32) -> (Sketch, Vec<Key>) {
    let sketch = sketch_of(number / 2 * 2 + (number % 2) * 1_000_000);
    let keys = (0..TABLES).map(|table| Key { table, value: (number >> table).wrapping_mul(7) });
    (sketch, keys.collect())
}

fn fingerprint(number: u32) -> u64 {
    u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn insert(index: &Index, ordinal: u32, number: u32) {
    let (sketch, keys) = new_set(number);
    let fingerprint = fingerprint(number);
    let new = NewSet { fingerprint, shingles: number, sketch: &sketch, keys: &keys, set: None };
    index.insert(Ordinal::from(ordinal), &new);
}

fn remove(index: &Index, ordinal: u32, number: u32) -> bool {
    index.remove(Ordinal::from(ordinal), fingerprint(number), &new_set(number).1, None)
}

/// Members by the numbers of sets; an ordinal encodes the set with which it was inserted.
fn look_up(index: &Index, number: u32) -> BTreeMap<u32, Vec<u32>> {
    let (sketch, keys) = new_set(number);
    let search = Search { keys: &keys, sketch: &sketch, ..search_of(0, &sketch, &keys) };
    let found = index.candidates(&search).found.into_iter().map(|found| {
        let of = found.shingles;
        assert_eq!(found.fingerprint, fingerprint(of), "size and fingerprint of two sets");
        let agreeing = index.estimator.agreeing(new_set(of).0.as_bytes(), sketch.as_bytes());
        assert_eq!(found.agreeing, agreeing, "fingerprint and sketch of two sets");
        let members: Vec<u32> = found.members.iter().map(|member| member.get() as u32).collect();
        assert!(members.iter().all(|member| member % SETS == of), "members of another set");
        (of, members)
    });
    found.collect()
}

/// All threads insert the same sets, each with its own ordinals, and immediately find them.
fn write(index: &Index, thread: u32) {
    let mut inserted = BTreeSet::new();
    for step in 0..8_000_u32 {
        let number = step.wrapping_mul(2_654_435_761).wrapping_add(thread * 977) % SETS;
        let ordinal = thread * SETS + number;
        if inserted.remove(&number) {
            assert!(remove(index, ordinal, number));
        } else {
            insert(index, ordinal, number);
            inserted.insert(number);
            let found = look_up(index, number);
            assert!(found[&number].contains(&ordinal), "{number} was inserted");
        }
    }
    for number in inserted {
        assert!(remove(index, thread * SETS + number, number));
    }
}

#[test]
fn threads_see_whole_sets_and_their_own_insertions() {
    let index = index();
    let (is_done, found) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|thread| {
                let index = &index;
                scope.spawn(move || write(index, thread))
            })
            .collect();
        scope.spawn(|| {
            for number in (0..SETS).cycle() {
                if is_done.load(Ordering::Relaxed) {
                    break;
                }
                found.fetch_add(look_up(&index, number).len(), Ordering::Relaxed);
            }
        });
        let joined: Result<Vec<()>, _> =
            writers.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        is_done.store(true, Ordering::Relaxed);
        joined.unwrap();
    });
    assert!(found.load(Ordering::Relaxed) > 0);
    let stats = index.stats();
    assert_eq!((stats.entries, stats.keys, stats.postings), (0, 0, 0));
}

/// Copies are taken while sets are added and removed: the sets that stay are in every copy.
#[test]
fn lasting_sets_are_found_while_pages_split_and_shrink() {
    let index = index();
    (0..200).for_each(|number| insert(&index, number, number));
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for round in 0..2 {
                (0..25_000).for_each(|number| insert(&index, SETS * 10 + number, 1_000 + number));
                for number in 0..25_000 {
                    assert!(remove(&index, SETS * 10 + number, 1_000 + number), "in {round}");
                }
            }
            is_done.store(true, Ordering::Relaxed);
        });
        while !is_done.load(Ordering::Relaxed) && !writer.is_finished() {
            for number in 0..200 {
                let (sketch, keys) = new_set(number);
                let found = index.candidates(&Search { ..search_of(0, &sketch, &keys) }).found;
                let of = |found: &&Candidate| found.fingerprint == fingerprint(number);
                assert_eq!(found.iter().find(of).unwrap().members[..], [Ordinal::from(number)]);
            }
        }
        writer.join().unwrap();
    });
}
