//! Keys of the prefix scheme for sets in flight, which are not yet in the index.
//!
//! The prefix theorem holds for any fixed order, and sets are already sorted by the hashes of their
//! elements, so the keys are the first of these. A set with a very long prefix has a special key
//! instead, which every probe looks up.

use super::{Key, Prefix, Threshold, prefix_len};
use crate::text::ShingleSet;

/// Elements used as keys of a set, at most.
const ELEMENTS_MAX: usize = 4_096;

/// Tables of the keys of sets in flight.
const ELEMENT: u32 = 0;
const MARK: u32 = 1;

/// The key of every set, for probes that have to compare with all.
const EVERY: Key = Key { table: MARK, value: 0 };

/// The key of sets with too many elements in their prefix; every probe looks it up.
const LARGE: Key = Key { table: MARK, value: 1 };

impl Prefix {
    pub(super) fn arrival_keys(&self, set: &ShingleSet) -> Vec<Key> {
        match elements(set, self.exact_from) {
            Some(elements) => elements.chain([EVERY]).collect(),
            None => vec![LARGE, EVERY],
        }
    }

    /// Below `exact_from`, the keys of a set in flight are too few to find all near-duplicates.
    pub(super) fn probe_keys(&self, set: &ShingleSet, threshold: Threshold) -> Vec<Key> {
        match elements(set, threshold) {
            Some(elements) if threshold >= self.exact_from => elements.chain([LARGE]).collect(),
            _ => vec![EVERY],
        }
    }
}

/// Different elements may have the same key, which only adds candidates.
fn elements(set: &ShingleSet, threshold: Threshold) -> Option<impl Iterator<Item = Key>> {
    let len = prefix_len(threshold, set.count());
    let key = |element: &u64| Key { table: ELEMENT, value: (element >> 32) as u32 };
    (len <= ELEMENTS_MAX).then(|| set.as_slice()[..len].iter().map(key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Overlap;
    use crate::scheme::{Kind, SchemeSettings};
    use crate::sketch::SketchSettings;

    fn prefix(exact_from: f64) -> Prefix {
        let scheme = SchemeSettings {
            kind: Kind::Prefix,
            exact_from: Threshold::new(exact_from).ok(),
            ..SchemeSettings::default()
        };
        Prefix::new(&scheme, &SketchSettings::default())
    }

    /// Sets of hashes: `count` of them from number `first` on.
    fn set(first: u64, count: u64) -> ShingleSet {
        let hash = |n: u64| (first + n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ShingleSet::from_shingles((0..count).map(hash).collect()).unwrap()
    }

    fn meet(prefix: &Prefix, probe: &ShingleSet, other: &ShingleSet, threshold: f64) -> bool {
        let probed = prefix.probe_keys(probe, Threshold::new(threshold).unwrap());
        prefix.arrival_keys(other).iter().any(|key| probed.contains(key))
    }

    #[test]
    fn near_duplicates_in_flight_share_a_key() {
        let prefix = prefix(0.7);
        let probes = [set(0, 1), set(0, 100), set(0, 14_000), set(0, 16_000), set(0, 30_000)];
        for probe in &probes {
            let size = probe.count() as u64;
            for count in [size * 8 / 10, size, size * 5 / 4] {
                for shift in [0, size / 20, size / 8] {
                    let other = set(shift, count.max(1));
                    let resemblance = Overlap::of(probe, &other).resemblance();
                    for threshold in [0.3, 0.7, 0.8, 0.9] {
                        let near = resemblance >= threshold;
                        assert!(!near || meet(&prefix, probe, &other, threshold));
                    }
                }
            }
        }
        assert!(!meet(&prefix, &set(0, 100), &set(1_000, 100), 0.7));
        assert!(meet(&prefix, &set(0, 100), &set(1_000, 100), 0.6), "below, everybody is met");
    }
}
