//! Pages of postings, compared with a plain map.

use std::collections::{BTreeMap, BTreeSet};

use super::super::postings::Postings;
use crate::scheme::Key;

/// Pseudo-random numbers (Steele, Lea and Flood 2014).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }
}

type Plain = BTreeMap<u32, BTreeSet<u32>>;

fn key(value: u32) -> Key {
    Key { table: 1, value }
}

/// The entries of the key, and the entries of other keys that its segment cannot distinguish.
fn read(postings: &Postings<u32>, value: u32) -> BTreeSet<u32> {
    let mut entries = BTreeSet::new();
    let length = postings.read(key(value), usize::MAX, |entry, extra| {
        assert_eq!(extra, !entry, "what comes with another entry");
        assert!(entries.insert(entry), "an entry twice");
    });
    assert_eq!(length, entries.len());
    entries
}

fn check(postings: &Postings<u32>, plain: &Plain) {
    for (value, entries) in plain {
        assert_eq!(&read(postings, *value), entries);
    }
    check_size(postings, plain);
}

fn check_size(postings: &Postings<u32>, plain: &Plain) {
    let size = postings.size();
    assert_eq!(size.keys, plain.len() as u64);
    assert_eq!(size.postings, plain.values().map(BTreeSet::len).sum::<usize>() as u64);
    assert_eq!(size.longest, plain.values().map(BTreeSet::len).max().unwrap_or(0) as u64);
}

/// Keys are taken from `values`; entries are up to four times the number of postings.
fn grows_and_shrinks(page_bits: u32, postings_max: usize, values: u64) {
    let mut random = Random(values);
    let (postings, mut plain) = (Postings::new(page_bits), Plain::new());
    let mut inserted = Vec::new();
    while inserted.len() < postings_max {
        let value = random.below(values).wrapping_mul(0x9e37_79b9_7f4a_7c15) as u32;
        let entry = random.below(inserted.len() as u64 * 4 + 100) as u32;
        if plain.entry(value).or_default().insert(entry) {
            postings.insert(entry, [(key(value), !entry)]);
            inserted.push((value, entry));
        }
        if inserted.len().is_power_of_two() {
            check(&postings, &plain);
        }
    }
    check(&postings, &plain);
    let full = postings.size().bytes;
    while !inserted.is_empty() {
        let (value, entry) = inserted.swap_remove(random.below(inserted.len() as u64) as usize);
        assert_eq!(postings.remove(entry, [key(value)]), 1);
        assert_eq!(postings.remove(entry, [key(value)]), 0, "it is gone already");
        let entries = plain.get_mut(&value).unwrap();
        entries.remove(&entry);
        if entries.is_empty() {
            plain.remove(&value);
        }
        if inserted.len().is_power_of_two() {
            check(&postings, &plain);
        }
    }
    assert_eq!((postings.size().postings, postings.size().bytes), (0, 0), "of {full} bytes");
}

#[test]
fn pages_that_split_lose_nothing() {
    grows_and_shrinks(1, 60_000, u64::MAX);
}

#[test]
fn crowds_that_come_and_go_lose_nothing() {
    for values in [1, 3, 40, 2_000] {
        grows_and_shrinks(3, 12_000, values);
    }
}

/// Keys gain and lose postings in turn, with and without crowds.
#[test]
fn keys_that_grow_and_shrink_are_counted() {
    let mut random = Random(11);
    let (postings, mut plain) = (Postings::new(1), Plain::new());
    for step in 0..40_000_u32 {
        let (value, entry) = (random.below(50) as u32, random.below(40) as u32);
        let entries = plain.entry(value).or_default();
        if entries.insert(entry) {
            postings.insert(entry, [(key(value), !entry)]);
        } else {
            entries.remove(&entry);
            assert_eq!(postings.remove(entry, [key(value)]), 1);
        }
        if entries.is_empty() {
            plain.remove(&value);
        }
        if step % 1_000 == 0 {
            check(&postings, &plain);
        }
    }
    check(&postings, &plain);
}

#[test]
fn segments_with_crowds_that_split_lose_nothing() {
    grows_and_shrinks(1, 80_000, 6_000);
}

/// Entries of 32 bits in a small index leave 16 bits for keys, so that some collide.
#[test]
fn the_highest_entry_numbers_are_found() {
    let mut random = Random(7);
    let postings = Postings::new(1);
    let inserted: BTreeSet<(u32, u32)> =
        (0..40_000).map(|_| (random.below(1 << 32) as u32, random.below(1 << 32) as u32)).collect();
    for (value, entry) in &inserted {
        postings.insert(*entry, [(key(*value), !entry)]);
    }
    let others = inserted.iter().map(|(value, entry)| {
        let found = read(&postings, *value);
        assert!(found.contains(entry));
        found.len() - 1
    });
    assert!(others.sum::<usize>() < inserted.len(), "few keys share their bits");
    for (value, entry) in &inserted {
        assert_eq!(postings.remove(*entry, [key(*value)]), 1);
    }
    assert_eq!(postings.size().postings, 0);
}

/// All keys with equal (spread) prefixes are in the same segment.
#[test]
fn crafted_key_collisions_do_not_fill_memory() {
    let postings = Postings::new(3);
    let inverse = 0x9e37_79b1_u32;
    let inverse =
        (0..5).fold(inverse, |x, _| x.wrapping_mul(2_u32.wrapping_sub(inverse.wrapping_mul(x))));
    assert_eq!(0x9e37_79b1_u32.wrapping_mul(inverse), 1);
    for entry in 0..20_000_u32 {
        postings.insert(entry, [(key((0x1234_0000 | entry).wrapping_mul(inverse)), !entry)]);
    }
    assert!(postings.size().bytes < 20_000 * 32, "{} bytes", postings.size().bytes);
    for entry in 0..20_000_u32 {
        let value = (0x1234_0000 | entry).wrapping_mul(inverse);
        assert_eq!(read(&postings, value), BTreeSet::from([entry]));
    }
}
