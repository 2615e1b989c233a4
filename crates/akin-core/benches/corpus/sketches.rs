//! Made-up sketches: families of five, of which each agrees with the family's first in four slots
//! of five.

use std::hint::black_box;

use akin_core::index::{Index, NewSet, Search, SearchLimits};
use akin_core::scheme::{Bands, Key, ProbePlan, Threshold};
use akin_core::sketch::Sketch;

use super::numbers::Numbers;

const FAMILY: u64 = 5;

/// Sixteen slots from two random numbers: the first gives values of the family, and the second
/// decides which values are replaced.
pub fn made_up(number: u64) -> Sketch {
    let mut of_family = Numbers(number / FAMILY);
    let mut own = Numbers(!number);
    let mut slots = Vec::with_capacity(128);
    for _ in 0..16 {
        let (first, other) = (of_family.next().to_le_bytes(), own.next().to_le_bytes());
        let differs = own.next().to_le_bytes();
        let differs = |at: usize| !number.is_multiple_of(FAMILY) && differs[at] < 51;
        slots.extend((0..8).map(|at| if differs(at) { other[at] } else { first[at] }));
    }
    Sketch::from_bytes(slots.into())
}

/// The fingerprint of the set that has the sketch of this number.
pub fn fingerprint(number: usize) -> u64 {
    (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The set that has the sketch of this number.
pub fn new_set<'a>(number: usize, sketch: &'a Sketch, keys: &'a [Key]) -> NewSet<'a> {
    NewSet { fingerprint: fingerprint(number), shingles: 900, sketch, keys, set: None }
}

/// From a sketch to the candidates pruned by sketch.
pub fn look_up(index: &Index, sketch: &Sketch, bands: &Bands, plan: &ProbePlan) {
    let keys: Vec<Key> = bands.keys(sketch.as_bytes(), plan.bands).collect();
    black_box(index.candidates(&Search {
        keys: &keys,
        sketch,
        fingerprint: 0,
        agreeing_min: plan.agreeing_min,
        threshold: Threshold::new(0.8).expect("0.8 is a threshold"),
        start: 0,
        limits: SearchLimits {
            postings_max: 10_000,
            found_max: 100,
            members_max: 20,
            ..SearchLimits::NONE
        },
    }));
}
