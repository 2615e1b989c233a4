//! Groups sets by key.
//!
//! Members are partitioned by the highest bits of their keys, and each partition is sorted. There
//! is never a second copy of all members.

use std::ops::Range;

/// A set in a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BucketMember {
    /// The set's number, or its rank by size.
    pub set: u32,
    /// The bound on the sizes of other sets, as in [`super::keys::JoinKey`].
    pub most: u32,
}

/// Number of partitions, by the highest bits of the key.
pub(super) const PARTS: usize = 1 << PART_BITS;
const PART_BITS: u32 = 8;

/// An odd factor without pattern: multiplication is a bijection and spreads the highest bits
/// evenly.
const SPREAD: u32 = 0x9e37_79b9;

/// A member with its key.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyedMember {
    /// The key, multiplied by [`SPREAD`].
    key: u32,
    pub member: BucketMember,
}

/// Members by key, in partitions.
#[derive(Debug)]
pub(super) struct KeyGroups(Vec<Vec<KeyedMember>>);

impl Default for KeyGroups {
    fn default() -> Self {
        Self(vec![Vec::new(); PARTS])
    }
}

impl KeyGroups {
    #[inline]
    pub fn push(&mut self, key: u32, member: BucketMember) {
        let key = key.wrapping_mul(SPREAD);
        self.0[part_of(key)].push(KeyedMember { key, member });
    }

    /// As [`Self::push`], if the key is in one of these partitions.
    #[inline]
    pub fn push_within(&mut self, parts: &Range<usize>, key: u32, member: BucketMember) {
        if parts.contains(&part_of(key.wrapping_mul(SPREAD))) {
            self.push(key, member);
        }
    }

    /// Visits the members of each key that has several, in the order of insertion, and removes all.
    pub fn drain(&mut self, mut visit: impl FnMut(&[KeyedMember])) {
        for part in &mut self.0 {
            part.sort_by_key(|keyed| keyed.key);
            part.chunk_by(|a, b| a.key == b.key)
                .filter(|members| members.len() > 1)
                .for_each(&mut visit);
            part.clear();
        }
    }
}

#[inline]
fn part_of(key: u32) -> usize {
    (key >> (u32::BITS - PART_BITS)) as usize
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// The inverse of the factor modulo 2³².
    const INVERSE: u32 = 0x144c_bc89;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// Few keys, keys that differ only in some bits, and many keys in the same partition.
        #[test]
        fn members_are_grouped_by_key_in_insertion_order(
            keys in vec(0..4_000_u32, 0..6_000),
            shift in 0..21_u32,
            one_part: bool,
        ) {
            let key = |key: u32| if one_part { key.wrapping_mul(INVERSE) } else { key << shift };
            let mut groups = KeyGroups::default();
            let mut expected: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
            for round in 0..2 {
                expected.clear();
                for (rank, number) in (0..).zip(&keys) {
                    groups.push(key(*number), BucketMember { set: rank, most: *number });
                    expected.entry(*number).or_default().push(rank);
                }
                let mut found = BTreeMap::new();
                groups.drain(|members| {
                    let ranks = members.iter().map(|keyed| keyed.member.set).collect();
                    let before = found.insert(members[0].member.most, ranks);
                    assert_eq!(before, None, "in round {round}");
                });
                expected.retain(|_, ranks: &mut Vec<u32>| ranks.len() > 1);
                prop_assert_eq!(&found, &expected);
            }
        }
    }
}
