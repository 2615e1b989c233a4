//! The promise of a lookup of the most similar sets, however unlike they are.
//!
//! A lookup of the k most similar verifies sets in the order of the agreement of their sketches,
//! and ends where a set as similar as the wanted sets hardly agrees in so few slots. If all wanted
//! sets are so similar that nearly each of them shares a key with the probe, only the sets under
//! the probe's keys are looked at; otherwise the sketches of all sets are.

use super::binomial::{binomial_at_least, reached};
use super::{Bands, Scheme};
use crate::sketch::{Estimator, SketchSettings};

/// Half of the chance to miss a set is for sketches that agree too little, half for sets that share
/// no key.
const MISSED_BY_EACH_MAX: f64 = NearestPlan::MISSED_MAX / 2.0;

/// Similarities are tried in steps of this part of 1.
const STEPS: u32 = 100;

/// The lowest floor, in steps. Below it too many sets of a real corpus agree as well as the sets
/// that are searched for, which have a few passages in common with the probe.
const FLOOR_MIN: u32 = 15;

/// The highest chance that a set without anything in common with the probe agrees as well as a set
/// at the floor: a hundred sets in a million.
const UNRELATED_MAX: f64 = 1e-4;

/// Which sets a lookup of the most similar sets compares exactly.
#[derive(Clone, Debug)]
pub struct NearestPlan {
    estimator: Estimator,
    floor: f64,
    by_keys_from: Option<f64>,
}

impl NearestPlan {
    /// The highest chance to miss one of the most similar sets, if its resemblance is at least the
    /// [floor](Self::floor).
    pub const MISSED_MAX: f64 = 1e-3;

    /// The lowest chance to find one of them.
    pub const RECALL: f64 = 1.0 - Self::MISSED_MAX;

    /// `None` for records, which are not compared by slots alone.
    pub fn new(scheme: &Scheme, sketch: &SketchSettings) -> Option<Self> {
        let estimator = scheme.estimator(sketch);
        estimator.slot_bytes()?;
        let plan = Self { estimator, floor: 0.0, by_keys_from: None };
        let floor = similarities(FLOOR_MIN).find(|floor| plan.tells_apart(*floor)).unwrap_or(1.0);
        let all_share = |bands: &Bands, similarity| {
            1.0 - bands.probability_candidate(similarity, bands.bands) <= MISSED_BY_EACH_MAX
        };
        let from = |bands| similarities(1).find(|similarity| all_share(bands, *similarity));
        Some(Self { floor, by_keys_from: scheme.bands().and_then(from), ..plan })
    }

    /// The lowest resemblance of sets for which the promise holds: 0.15, or more where sketches are
    /// so small that unrelated sets agree as well.
    pub fn floor(&self) -> f64 {
        self.floor
    }

    /// The resemblance from which sets share a key, nearly all of them; `None` if the scheme has no
    /// keys of sketches.
    pub fn by_keys_from(&self) -> Option<f64> {
        self.by_keys_from
    }

    /// The least number of slots in which sets of this resemblance, or of the floor if that is
    /// higher, agree, nearly all of them. Slots agree independently, each with the chance of the
    /// resemblance, or else by accident (Li and König, "b-bit minwise hashing", 2010).
    pub fn agreeing_min(&self, similarity: f64) -> u32 {
        let chance = self.estimator.agreement(similarity.max(self.floor));
        reached(self.estimator.slots() as usize, chance, MISSED_BY_EACH_MAX) as u32
    }

    /// Whether sets at this resemblance agree better than unrelated sets.
    fn tells_apart(&self, similarity: f64) -> bool {
        let (slots, least) = (self.estimator.slots(), self.agreeing_min(similarity));
        binomial_at_least(slots, least, self.estimator.agreement(0.0)) <= UNRELATED_MAX
    }
}

/// All from a step on, ascending to 1.
fn similarities(from: u32) -> impl Iterator<Item = f64> {
    (from..=STEPS).map(|step| f64::from(step) / f64::from(STEPS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::{Kind, SchemeSettings};
    use crate::sketch::Method;

    fn plan(kind: Kind, slots: u32, bits: u32) -> Option<NearestPlan> {
        let sketch = SketchSettings { slots, bits, seed: Some(0), method: Method::Fast32 };
        let fields = if kind == Kind::Fields { vec!["name".to_owned()] } else { vec![] };
        let scheme = SchemeSettings { kind, fields, ..SchemeSettings::default() };
        NearestPlan::new(&Scheme::new(&scheme, &sketch), &sketch)
    }

    #[test]
    fn the_usual_sketches_promise_from_the_lowest_floor() {
        let plan = plan(Kind::Bands, 128, 8).unwrap();
        assert_eq!(plan.floor(), 0.15);
        // Of 128 slots (0.15 + 0.85 / 256) · 128 = 19.6 agree on average, with a deviation of 4.1.
        assert_eq!(plan.agreeing_min(0.15), 8);
        assert_eq!(plan.agreeing_min(0.0), 8, "at the floor");
        assert_eq!(plan.agreeing_min(1.0), 128);
        let from = plan.by_keys_from().unwrap();
        // 32 bands of four rows: (1 − s⁴)³² ≤ 0.0005.
        assert_eq!(from, 0.68);
    }

    #[test]
    fn fewer_slots_have_a_higher_floor() {
        let floors = [16, 32, 64, 128, 1_024].map(|slots| plan(Kind::Bands, slots, 8).unwrap());
        let floors = floors.map(|plan| plan.floor());
        assert!(floors.is_sorted_by(|fewer, more| fewer >= more), "{floors:?}");
        assert!(floors[0] > 0.5 && floors[4] == 0.15, "{floors:?}");
        let whole = plan(Kind::Bands, 64, 32).unwrap();
        assert!(whole.floor() < floors[2], "accidents are rarer: {}", whole.floor());
    }

    #[test]
    fn sets_at_a_similarity_hardly_agree_in_fewer_slots() {
        for (slots, bits) in [(16, 8), (64, 16), (128, 8), (128, 32), (1_024, 8)] {
            let plan = plan(Kind::RandomRows, slots, bits).unwrap();
            for similarity in similarities(1) {
                let similarity = similarity.max(plan.floor());
                let chance = plan.estimator.agreement(similarity);
                let least = plan.agreeing_min(similarity);
                let missed = 1.0 - binomial_at_least(slots, least, chance);
                assert!(missed <= MISSED_BY_EACH_MAX + 1e-9, "{slots}, {bits}, {similarity}");
                let more = 1.0 - binomial_at_least(slots, least + 1, chance);
                assert!(more > MISSED_BY_EACH_MAX || least == slots, "{slots}, {similarity}");
            }
        }
    }

    #[test]
    fn only_sketches_of_sets_have_a_plan() {
        assert!(plan(Kind::Fields, 128, 8).is_none());
        assert_eq!(plan(Kind::Prefix, 128, 8).unwrap().by_keys_from(), None);
    }
}
