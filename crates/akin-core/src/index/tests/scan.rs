//! Scans of all sketches, compared with brute force.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::index::{ScanLimits, SketchScan};
use crate::simd::Level;

/// Documents, and the sketch of each.
type Stored = BTreeMap<u32, Sketch>;

/// Sketches of few values, so that any two agree in some slots.
fn sketch_of(document: u32, bytes: usize) -> Sketch {
    let mut state = u64::from(document);
    let mut next = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 61) as u8 % 5
    };
    Sketch::from_bytes((0..bytes).map(|_| next()).collect())
}

fn scheme(slots: u32, bits: u32) -> SketchSettings {
    SketchSettings { slots, bits, ..SketchSettings::default() }
}

fn filled(settings: &SketchSettings, documents: impl Iterator<Item = u32>) -> (Index, Stored) {
    let index = Index::new(0, settings.sketch_bytes(), Estimator::new(settings));
    let mut stored = Stored::new();
    for document in documents {
        let sketch = sketch_of(document, settings.sketch_bytes());
        let fingerprint = u64::from(document);
        let new = NewSet { fingerprint, shingles: 1, sketch: &sketch, keys: &[], set: None };
        index.insert(Ordinal::from(document), &new);
        stored.insert(document, sketch);
    }
    (index, stored)
}

fn scan(index: &Index, level: Level, scans: Vec<SketchScan>) -> Vec<Candidates> {
    let mut scans = scans;
    let mut from = Some(0);
    while let Some(position) = from {
        from = index.scan_some(level, position, &mut scans);
    }
    scans.into_iter().map(|scan| index.scanned(scan, usize::MAX, usize::MAX)).collect()
}

/// Agreeing slots and fingerprints, best first.
fn in_order(scanned: &Candidates) -> Vec<(Reverse<u32>, u64)> {
    let of = |found: &Candidate| (Reverse(found.agreeing), found.fingerprint);
    let mut found: Vec<_> = scanned.found.iter().map(of).collect();
    found.sort_unstable();
    found
}

/// Compares the agreeing slots of the kept sets with the agreeing slots of all documents.
fn check(scanned: &Candidates, limits: ScanLimits, index: &Index, stored: &Stored, probe: &Sketch) {
    let agreeing = |sketch: &Sketch| index.agreeing(probe.as_bytes(), sketch.as_bytes());
    let mut all: Vec<u32> = stored.values().map(agreeing).filter(|slots| *slots > 0).collect();
    all.sort_unstable_by_key(|slots| Reverse(*slots));
    let near = all.iter().filter(|slots| **slots >= limits.near_min).count();
    let kept = near.min(limits.near_max).max(limits.kept_max.min(all.len()));
    let found = in_order(scanned);
    let slots: Vec<u32> = found.iter().map(|(slots, _)| slots.0).collect();
    assert_eq!(slots, all[..kept], "{limits:?}");
    for (slots, fingerprint) in &found {
        assert_eq!(agreeing(&stored[&(*fingerprint as u32)]), slots.0);
    }
    let left_out = if near > limits.near_max { all[limits.near_max] } else { 0 };
    assert_eq!(scanned.left_out, left_out, "{limits:?}");
    assert_eq!(scanned.seen, stored.len());
}

proptest! {
    #[test]
    fn a_scan_keeps_the_sets_that_agree_best(
        documents in 0..900_u32,
        removed in prop::collection::btree_set(0..900_u32, 0..500),
        shape in prop::sample::select(vec![(16, 8), (128, 8), (20, 16), (1_024, 32)]),
        near_min in 0..40_u32,
        near_max in 1..300_usize,
        kept in 0..300_usize,
    ) {
        let settings = scheme(shape.0, shape.1);
        let (index, mut stored) = filled(&settings, 0..documents);
        for document in removed {
            if stored.remove(&document).is_some() {
                index.remove(Ordinal::from(document), u64::from(document), &[], None);
            }
        }
        let limits = ScanLimits { near_min, near_max, kept_max: kept.min(near_max) };
        let probes: Vec<Sketch> =
            (5_000..5_003).map(|probe| sketch_of(probe, settings.sketch_bytes())).collect();
        let mut expected = None;
        for level in Level::available() {
            let scans = probes.iter().map(|probe| SketchScan::new(probe.clone(), limits));
            let together = scan(&index, level, scans.collect());
            for (scanned, probe) in together.iter().zip(&probes) {
                check(scanned, limits, &index, &stored, probe);
            }
            let found: Vec<_> = together.iter().map(in_order).collect();
            prop_assert_eq!(expected.get_or_insert(found.clone()), &found);
        }
    }
}

#[test]
fn a_scan_ends_and_reads_every_set_once() {
    for documents in [0, 1, 255, 256, 257, 700] {
        let (index, stored) = filled(&scheme(128, 8), 0..documents);
        let limits = ScanLimits { near_min: 1, near_max: 1_000, kept_max: 0 };
        let probe = sketch_of(3, 128);
        let found = scan(&index, Level::best(), vec![SketchScan::new(probe.clone(), limits)]);
        check(&found[0], limits, &index, &stored, &probe);
    }
}

#[test]
fn a_set_is_returned_with_its_members_unless_it_was_removed() {
    let (index, stored) = filled(&scheme(16, 8), 0..10);
    let again = NewSet { fingerprint: 3, shingles: 1, sketch: &stored[&3], keys: &[], set: None };
    (100..150).for_each(|copy| index.insert(Ordinal::from(copy), &again));
    let limits = ScanLimits { near_min: 16, near_max: 5, kept_max: 5 };
    let scanned = |each_max, total_max| {
        let mut scans = [SketchScan::new(stored[&3].clone(), limits)];
        assert_eq!(index.scan_some(Level::best(), 0, &mut scans), None);
        let [scan] = scans;
        index.scanned(scan, each_max, total_max)
    };
    let members = |scanned: &Candidates, fingerprint| {
        let mut found = scanned.found.iter();
        found.find(|found| found.fingerprint == fingerprint).map(|found| found.members.len())
    };
    let few = scanned(20, 100);
    assert_eq!((members(&few, 3), few.truncated), (Some(20), false));
    let cut = scanned(20, 10);
    assert_eq!((members(&cut, 3), cut.truncated), (Some(10), true), "the best first");
    assert!(cut.found.len() > 1);
    let mut scans = [SketchScan::new(stored[&3].clone(), limits)];
    index.scan_some(Level::best(), 0, &mut scans);
    (100..150).chain([3]).for_each(|copy| {
        index.remove(Ordinal::from(copy), 3, &[], None);
    });
    let [scan] = scans;
    assert_eq!(members(&index.scanned(scan, 20, 100), 3), None);
}
