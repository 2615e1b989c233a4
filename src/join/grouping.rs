//! Groups sets by key: a radix sort.
//!
//! Members go to partitions by the highest bits of their keys, each small enough to be sorted in a
//! near cache by the bits that follow. There is never a second copy of all of them.

/// A set in a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Member {
    /// The set's rank by size.
    pub place: u32,
    /// Position of the shared element in the set, counted from the rarest; 0 if they share a key.
    pub position: u32,
}

/// By the highest bits of the key.
const PARTS: usize = 1 << PART_BITS;
const PART_BITS: u32 = 8;

/// Bits of the key by which a part is sorted at a time, from the lowest on; twice.
const DIGIT_BITS: u32 = 12;

/// Fewer are sorted by comparing.
const DIGITS_MIN: usize = 1 << 10;

/// An odd factor without pattern: the highest bits of its multiples are spread evenly, whatever the
/// keys are, and different keys have different ones.
const SPREAD: u32 = 0x9e37_79b9;

/// A member with its key.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyedMember {
    /// The key, spread.
    key: u32,
    pub member: Member,
}

/// Members by key, in partitions.
#[derive(Debug)]
pub(super) struct KeyGroups {
    parts: Vec<Vec<KeyedMember>>,
    /// A buffer to sort a partition.
    sorted: Vec<KeyedMember>,
}

impl Default for KeyGroups {
    fn default() -> Self {
        Self { parts: vec![Vec::new(); PARTS], sorted: Vec::new() }
    }
}

impl KeyGroups {
    #[inline]
    pub fn push(&mut self, key: u32, member: Member) {
        let key = key.wrapping_mul(SPREAD);
        self.parts[(key >> (u32::BITS - PART_BITS)) as usize].push(KeyedMember { key, member });
    }

    /// Visits the members of each key that has several, in the order in which they were pushed,
    /// and removes all.
    pub fn drain(&mut self, mut visit: impl FnMut(&[KeyedMember])) {
        for part in &mut self.parts {
            sort(part, &mut self.sorted);
            part.chunk_by(|a, b| a.key == b.key)
                .filter(|members| members.len() > 1)
                .for_each(&mut visit);
            part.clear();
        }
    }
}

/// Sorts by key, stably. What `room` holds afterwards is unspecified.
fn sort(part: &mut Vec<KeyedMember>, room: &mut Vec<KeyedMember>) {
    if part.len() < DIGITS_MIN {
        part.sort_by_key(|keyed| keyed.key);
        return;
    }
    for shift in [0, DIGIT_BITS] {
        sort_by_digit(part, room, shift);
        std::mem::swap(part, room);
    }
}

/// One pass of a radix sort: stable, by the digit of the key at bit `shift`.
fn sort_by_digit(part: &[KeyedMember], sorted: &mut Vec<KeyedMember>, shift: u32) {
    let digit = |member: &KeyedMember| (member.key >> shift) as usize & ((1 << DIGIT_BITS) - 1);
    let mut next = [0_u32; 1 << DIGIT_BITS];
    for member in part {
        next[digit(member)] += 1;
    }
    let mut before = 0;
    for next in &mut next {
        (*next, before) = (before, before + *next);
    }
    sorted.clear();
    sorted.extend_from_slice(part);
    for member in part {
        let at = &mut next[digit(member)];
        sorted[*at as usize] = *member;
        *at += 1;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// Undoes the spreading: times the factor it is 1.
    const INVERSE: u32 = 0x144c_bc89;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// Of few keys, of keys that differ in some of their bits only, of many in one part.
        #[test]
        fn what_has_one_key_comes_together_in_its_order(
            keys in vec(0..4_000_u32, 0..6_000),
            shift in 0..21_u32,
            one_part: bool,
        ) {
            let key = |key: u32| if one_part { key.wrapping_mul(INVERSE) } else { key << shift };
            let mut groups = KeyGroups::default();
            let mut expected: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
            for round in 0..2 {
                expected.clear();
                for (place, number) in (0..).zip(&keys) {
                    groups.push(key(*number), Member { place, position: *number });
                    expected.entry(*number).or_default().push(place);
                }
                let mut found = BTreeMap::new();
                groups.drain(|members| {
                    let places = members.iter().map(|keyed| keyed.member.place).collect();
                    let before = found.insert(members[0].member.position, places);
                    assert_eq!(before, None, "in round {round}");
                });
                expected.retain(|_, places: &mut Vec<u32>| places.len() > 1);
                prop_assert_eq!(&found, &expected);
            }
        }
    }
}
