//! Lookups with bounded work.

use super::*;

#[test]
fn truncated_lookups_say_so_and_prefer_rare_keys() {
    let index = index();
    let sketch = sketch(0);
    let common = Key { table: 0, value: 7 };
    for number in 0..500u32 {
        let keys = [common, Key { table: 1, value: number / 5 }];
        let new = NewSet {
            fingerprint: u64::from(number) << 20,
            shingles: 1,
            sketch: &sketch,
            keys: &keys,
            set: None,
        };
        index.insert(Ordinal::from(number), &new);
    }
    let keys = [common, Key { table: 1, value: 99 }];
    let search = Search {
        keys: &keys,
        sketch: &sketch,
        fingerprint: 1,
        agreeing_min: 0,
        threshold: at(0.8),
        start: 0,
        limits: SearchLimits {
            postings_max: 20,
            found_max: 1_000,
            members_max: 1,
            ..SearchLimits::NONE
        },
    };
    let candidates = index.candidates(&search);
    assert!(candidates.truncated);
    for number in 495..500u64 {
        assert!(
            candidates.found.iter().any(|c| c.fingerprint == number << 20),
            "{number} has a rare key"
        );
    }
    let limits = SearchLimits { postings_max: 505, ..search.limits };
    assert!(!index.candidates(&Search { limits, ..search }).truncated);
}

/// A crowd: sets that share all keys, of which each agrees with the probe in some slots.
#[test]
fn lookups_in_crowds_return_best_and_equal_sets() {
    let index = index();
    let keys = keys(0);
    let probe = sketch(1);
    for number in 0..2_000u32 {
        let mut slots = vec![1; 16];
        slots[..(number % 8) as usize].fill(0);
        let sketch = Sketch::from_bytes(slots.into());
        let fingerprint = u64::from(number) << 20;
        let new = NewSet { fingerprint, shingles: 1, sketch: &sketch, keys: &keys, set: None };
        index.insert(Ordinal::from(number), &new);
    }
    let search = Search {
        keys: &keys,
        sketch: &probe,
        fingerprint: 1_999 << 20,
        agreeing_min: 8,
        threshold: at(0.8),
        start: 0,
        limits: SearchLimits {
            postings_max: 10_000,
            found_max: 50,
            members_max: 10,
            ..SearchLimits::NONE
        },
    };
    let candidates = index.candidates(&search);
    assert!(candidates.truncated);
    // 50 sets by keys, at most 50 sets that share the most pairs of slots, and the equal set.
    assert!(candidates.found.len() <= 101);
    let has_equal = |found: &Candidate| found.fingerprint == 1_999 << 20;
    assert!(candidates.found.iter().any(has_equal));
    let worst = candidates.found[..50].iter().map(|found| found.agreeing).min();
    assert_eq!(worst, Some(15), "there are 25 of 16 and 25 of 15 among the first 200");
    let limits = SearchLimits { found_max: 2_000, ..search.limits };
    let all = index.candidates(&Search { limits, ..search });
    assert_eq!((all.found.len(), all.truncated), (2_000, false));
}

#[test]
fn the_total_of_members_is_limited() {
    let index = index();
    for ordinal in 0..400 {
        insert(&index, ordinal, 8 + (ordinal % 8) as u8);
    }
    let (sketch, keys) = (sketch(8), keys(8));
    let search = Search {
        keys: &keys,
        sketch: &sketch,
        fingerprint: fingerprint(8),
        agreeing_min: 0,
        threshold: at(0.8),
        start: 0,
        limits: SearchLimits {
            postings_max: 60,
            found_max: 1_000,
            members_max: 50,
            ..SearchLimits::NONE
        },
    };
    let candidates = index.candidates(&search);
    assert!(candidates.truncated);
    let members: Vec<_> = candidates.found.iter().map(|found| found.members.len()).collect();
    assert_eq!(members, [50, 10, 2, 2, 2, 2, 2, 2]);
}
