//! Crowds: sets that share the elements of a template, and keys therefore, near or not.

use super::super::pairs::{SlotPairs, value};
use super::*;
use crate::measure::Overlap;
use crate::scheme::{Scheme, SchemeSettings};
use crate::sketch::Sketcher;
use crate::text::ShingleSet;

/// Elements of a set.
const SIZE: u64 = 100;

/// As a lookup of twenty has.
const FOUND_MAX: usize = 42;

/// The finaliser of SplitMix64 (Steele, Lea and Flood 2014).
fn element(number: u64) -> u64 {
    let z = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Sets with elements of a template, and elements of their own.
struct Crowd {
    template: u64,
    index: Index,
    scheme: Scheme,
    sketcher: Sketcher,
}

impl Crowd {
    fn new(template: u64) -> Self {
        let sketch = SketchSettings::default();
        let scheme = Scheme::new(&SchemeSettings::default(), &sketch);
        let index = Index::new(scheme.tables(), scheme.sketch_bytes(), Estimator::new(&sketch));
        Self { template, index, scheme, sketcher: Sketcher::new(sketch) }
    }

    fn of(template: u64, sets: u64) -> Self {
        let crowd = Self::new(template);
        (0..sets).for_each(|number| crowd.insert(number, &crowd.set(number, 0)));
        crowd
    }

    /// The set with this number, with `changed` of its own elements replaced by elements of no
    /// other set.
    fn set(&self, number: u64, changed: u64) -> ShingleSet {
        let own = (self.template..SIZE).map(|at| (number + 1) * 1_000 + at);
        let own = own.map(|own| if own % 1_000 < SIZE - changed { own } else { own + 500 });
        let all = (0..self.template).chain(own).map(element);
        ShingleSet::from_shingles(all.collect()).unwrap()
    }

    fn insert(&self, number: u64, set: &ShingleSet) {
        let sketch = self.sketcher.sketch(set);
        let keys: Vec<_> = self.scheme.all_keys(sketch.as_bytes()).collect();
        let new = NewSet {
            fingerprint: set.fingerprint(),
            shingles: set.count() as u32,
            sketch: &sketch,
            keys: &keys,
            set: None,
        };
        self.index.insert(Ordinal::from(number as u32), &new);
    }

    fn take_out(&self, number: u64) {
        let set = self.set(number, 0);
        let sketch = self.sketcher.sketch(&set);
        let keys: Vec<_> = self.scheme.all_keys(sketch.as_bytes()).collect();
        let ordinal = Ordinal::from(number as u32);
        assert!(self.index.remove(ordinal, set.fingerprint(), &keys, None));
    }

    fn look_up(&self, probe: &ShingleSet) -> Candidates {
        let (sketch, plan) = (self.sketcher.sketch(probe), self.scheme.plan(at(0.8)));
        let keys: Vec<_> = self.scheme.keys(sketch.as_bytes(), plan.bands).collect();
        self.index.candidates(&Search {
            keys: &keys,
            sketch: &sketch,
            fingerprint: probe.fingerprint(),
            agreeing_min: plan.agreeing_min,
            threshold: at(0.8),
            start: 0,
            limits: SearchLimits {
                postings_max: 10_000,
                found_max: FOUND_MAX,
                members_max: 21,
                ..SearchLimits::NONE
            },
        })
    }

    fn finds(&self, probe: &ShingleSet, other: &ShingleSet) -> bool {
        let found = self.look_up(probe).found;
        found.iter().any(|found| found.fingerprint == other.fingerprint())
    }

    /// Postings read, sketches compared and sets found by a lookup, on average.
    fn work(&self, sets: u64) -> [f64; 3] {
        self.index.read.store(0, std::sync::atomic::Ordering::Relaxed);
        let (mut seen, mut found) = (0, 0);
        for number in (0..sets).step_by(sets as usize / 100) {
            let candidates = self.look_up(&self.set(number, 0));
            seen += candidates.seen;
            found += candidates.found.len();
        }
        let read = self.index.read.load(std::sync::atomic::Ordering::Relaxed);
        [read, seen, found].map(|sum| sum as f64 / 100.0)
    }
}

/// Templates of these sizes make sets that resemble each other at .5, .57, .7, .85 and .95.
const TEMPLATES: [u64; 5] = [67, 73, 82, 92, 97];

#[test]
fn lookup_work_does_not_grow_with_a_crowd() {
    for template in TEMPLATES {
        let crowd = Crowd::of(template, 2_000);
        let small = crowd.work(2_000);
        (2_000..8_000).for_each(|number| crowd.insert(number, &crowd.set(number, 0)));
        let large = crowd.work(8_000);
        for (small, large) in small.into_iter().zip(large) {
            assert!(large <= small.max(50.0) * 1.3 * 1.3, "{template}: {small} to {large}");
        }
        assert!(large[0] < 3_000.0 && large[2] <= 2.0 * FOUND_MAX as f64, "{large:?}");
    }
}

/// Near-duplicates of some sets at .83 and more, among thousands that are not near.
#[test]
fn near_duplicates_in_a_crowd_are_found() {
    for (template, changed) in [(67, 8), (73, 8), (82, 8)] {
        let crowd = Crowd::of(template, 5_000);
        let planted: Vec<_> = (0..100).map(|at| (at * 49, crowd.set(at * 49, changed))).collect();
        for (number, near) in &planted {
            assert!(Overlap::of(near, &crowd.set(*number, 0)).resemblance() >= 0.83);
            crowd.insert(10_000 + number, near);
        }
        let lost = |crowd: &Crowd| {
            let missed = |(number, near): &&(u64, ShingleSet)| {
                let set = crowd.set(*number, 0);
                !crowd.finds(near, &set) || !crowd.finds(&set, near)
            };
            planted.iter().filter(missed).count()
        };
        assert_eq!(lost(&crowd), 0, "of 100 in a crowd with a template of {template}");
        let is_planted = |number: &u64| number.is_multiple_of(49) && number / 49 < 100;
        (0..5_000).filter(|number| !is_planted(number)).for_each(|number| crowd.take_out(number));
        assert_eq!(lost(&crowd), 0, "once most others are removed");
    }
}

#[test]
fn lookups_in_crowds_report_whether_they_are_complete() {
    let is_truncated = |template| {
        let crowd = Crowd::of(template, 3_000);
        let found = crowd.look_up(&crowd.set(7, 0));
        assert!(found.in_crowd);
        found.truncated
    };
    // Resemblance .5, .57 and .7: near-duplicates share rare pairs.
    assert_eq!([67, 73, 82].map(is_truncated), [false; 3]);
    // .78: near-duplicates and other sets differ about equally from the template. .95: all are
    // near.
    assert_eq!([88, 97].map(is_truncated), [true; 2]);
}

#[test]
fn loaded_and_inserted_crowds_are_found_alike() {
    let (inserted, loaded) = (Crowd::of(73, 1_000), Crowd::new(73));
    let value = |sketch: &[u8], table| loaded.scheme.value(sketch, table);
    let mut loader = loaded.index.loader(&value);
    for number in 0..1_000_u32 {
        let set = loaded.set(number.into(), 0);
        let sketch = loaded.sketcher.sketch(&set);
        let ordinals = [Ordinal::from(number)];
        loader.add(set.fingerprint(), set.count() as u32, sketch.as_bytes(), ordinals);
    }
    drop(loader);
    for crowd in [&inserted, &loaded] {
        assert!((0..1_000).all(|number| crowd.finds(&crowd.set(number, 6), &crowd.set(number, 0))));
        (0..1_000).for_each(|number| crowd.take_out(number));
        let stats = crowd.index.stats();
        assert_eq!((stats.entries, stats.postings), (0, 0));
        assert!((0..1_000).all(|number| crowd.look_up(&crowd.set(number, 0)).seen == 0));
    }
}

#[test]
fn a_common_pair_keeps_no_sets() {
    let pairs = SlotPairs::new(4, 1);
    let sketch = |entry: u32| [1, 2, entry as u8, (entry >> 8) as u8];
    for entry in 0..2_000 {
        pairs.insert(entry, &sketch(entry));
    }
    let found = pairs.sharing(&sketch(7));
    assert_eq!(found.common, 1);
    assert_eq!(found.entries.iter().filter(|entry| **entry == 7).count(), 3);
    assert!(found.entries.len() < 1_000, "{}", found.entries.len());
    let full = pairs.bytes();
    for entry in 0..2_000 {
        pairs.remove(entry, &sketch(entry));
    }
    assert!(pairs.sharing(&sketch(7)).entries.is_empty());
    assert_eq!(pairs.count(), 1, "the mark of the common pair");
    assert!(pairs.bytes() < full);
}

#[test]
fn the_value_of_a_pair_depends_on_both_slots() {
    let all = [[1_u8; 4], [2; 4], [3; 4]];
    for bytes in [1, 2, 4] {
        let both = all.iter().flat_map(|a| all.iter().map(move |b| (a, b)));
        let values: BTreeSet<u32> = both.map(|(a, b)| value(&a[..bytes], &b[..bytes])).collect();
        assert_eq!(values.len(), 9);
    }
}
