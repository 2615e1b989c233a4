//! The sets of a range of numbers, covered by a lock.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::super::numbers::RANGE;
use crate::document::Ordinal;
use crate::simd::{prefetch, prefetch_all};

/// Marks a set without members, which is no longer in the index.
const NONE: Ordinal = Ordinal::MAX;
/// Marks a set with its members in `many`.
const MANY: Ordinal = Ordinal::from_le_bytes([0xfe, 0xff, 0xff, 0xff, 0xff, 0xff]);

/// The data of a set except its sketch and members: 18 bytes for each set.
#[derive(Clone, Copy, Debug)]
#[repr(C, packed(2))]
pub(super) struct SetHead {
    pub fingerprint: u64,
    pub shingles: u32,
    /// The only member's ordinal, or one of the marks.
    member: Ordinal,
}

/// One bit per number of a range.
type Bits = [u64; RANGE as usize / 64];

#[derive(Debug, Default)]
pub(super) struct SetsPart {
    /// The numbers in the range that have storage, in order. A part from which most sets were
    /// removed keeps storage only for the remaining sets.
    placed: Bits,
    heads: Vec<SetHead>,
    sketches: Vec<u8>,
    used: usize,
    /// The numbers of sets that are also indexed by their pairs of slots.
    crowded: Bits,
    /// The members of sets with several. A tree each, since copies are often removed in the order
    /// in which they were added.
    many: BTreeMap<u32, BTreeSet<Ordinal>>,
    /// The number of members in the trees.
    listed: usize,
}

#[derive(Debug, PartialEq, Eq)]
pub(in crate::index) enum SetRemoval {
    Absent,
    OthersRemain,
    /// The document remains a member until the set is released.
    IsLast,
}

/// A set of the index.
#[derive(Clone, Copy)]
pub(in crate::index) struct Set<'a> {
    pub fingerprint: u64,
    pub shingles: u32,
    pub sketch: &'a [u8],
    member: Ordinal,
    many: Option<&'a BTreeSet<Ordinal>>,
}

/// The sketches of some sets of a part, in order.
pub(in crate::index) struct SketchesOfRange<'a> {
    pub sketches: &'a [u8],
    part: &'a SetsPart,
    /// The number of the part's first set.
    numbers_from: u32,
    first_place: usize,
}

impl SketchesOfRange<'_> {
    /// The number and the fingerprint of the set with this sketch; `None` if it was removed.
    pub fn set(&self, sketch: usize) -> Option<(u32, u64)> {
        let place = self.first_place + sketch;
        let SetHead { fingerprint, member, .. } = self.part.heads[place];
        let number = self.numbers_from + self.part.number_of(place);
        (member != NONE).then_some((number, fingerprint))
    }
}

impl Set<'_> {
    pub fn members_count(&self) -> usize {
        self.many.map_or(1, BTreeSet::len)
    }

    /// Members from an ordinal on, ascending.
    pub fn members_from(&self, from: Ordinal) -> impl Iterator<Item = Ordinal> {
        let only = self.many.is_none().then_some(self.member);
        let many = self.many.into_iter().flat_map(move |many| many.range(from..).copied());
        only.filter(|only| *only >= from).into_iter().chain(many)
    }

    /// Ascending.
    pub fn members(&self) -> impl Iterator<Item = Ordinal> {
        self.members_from(Ordinal::from(0))
    }
}

impl SetsPart {
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// `within`: the set's number in the range.
    #[inline]
    fn place(&self, within: u32) -> Option<usize> {
        if self.heads.len() == RANGE as usize {
            return Some(within as usize);
        }
        let is_placed = self.placed[within as usize / 64] >> (within % 64) & 1 != 0;
        is_placed.then(|| self.places_before(within))
    }

    fn places_before(&self, within: u32) -> usize {
        if within == RANGE {
            return self.heads.len();
        }
        let (word, bit) = (within as usize / 64, within % 64);
        let before = self.placed[..word].iter().map(|word| word.count_ones()).sum::<u32>();
        (before + (self.placed[word] & ((1 << bit) - 1)).count_ones()) as usize
    }

    /// The number in the range that has a place.
    fn number_of(&self, mut place: usize) -> u32 {
        for (word, bits) in (0..).zip(self.placed) {
            let here = bits.count_ones() as usize;
            if place < here {
                // Clears the bits of the numbers before it.
                let from = (0..place).fold(bits, |bits, _| bits & (bits - 1));
                return word * 64 + from.trailing_zeros();
            }
            place -= here;
        }
        unreachable!("every place belongs to a number");
    }

    /// The sketches of a range of the numbers in this part. `numbers_from`: the first number of the
    /// part.
    pub fn sketches_of(&self, numbers_from: u32, within: Range<u32>) -> SketchesOfRange<'_> {
        let places = self.places_before(within.start)..self.places_before(within.end);
        let bytes = self.sketches.len() / self.heads.len().max(1);
        let sketches = &self.sketches[places.start * bytes..places.end * bytes];
        SketchesOfRange { sketches, part: self, numbers_from, first_place: places.start }
    }

    fn sketch(&self, at: usize) -> &[u8] {
        let bytes = self.sketches.len() / self.heads.len();
        &self.sketches[at * bytes..][..bytes]
    }

    /// Prefetches the data that [`SetsPart::get`] returns.
    #[inline]
    pub fn prefetch(&self, within: u32) {
        if let Some(at) = self.place(within) {
            prefetch_all(self.sketch(at));
            prefetch(&self.heads[at]);
        }
    }

    #[inline]
    pub fn get(&self, within: u32) -> Option<Set<'_>> {
        let at = self.place(within)?;
        let SetHead { fingerprint, shingles, member } = self.heads[at];
        if member == NONE {
            return None;
        }
        let many = if member == MANY { self.many.get(&within) } else { None };
        Some(Set { fingerprint, shingles, sketch: self.sketch(at), member, many })
    }

    pub fn add(&mut self, within: u32, fingerprint: u64, shingles: u32, sketch: &[u8]) {
        let head = SetHead { fingerprint, shingles, member: NONE };
        self.used += 1;
        self.crowded[within as usize / 64] &= !(1 << (within % 64));
        if let Some(at) = self.place(within) {
            self.heads[at] = head;
            self.sketches[at * sketch.len()..][..sketch.len()].copy_from_slice(sketch);
            return;
        }
        let at = self.places_before(within);
        self.placed[within as usize / 64] |= 1 << (within % 64);
        self.heads.insert(at, head);
        let start = at * sketch.len();
        self.sketches.extend_from_slice(sketch);
        self.sketches[start..].rotate_right(sketch.len());
    }

    pub fn is_crowded(&self, within: u32) -> bool {
        self.crowded[within as usize / 64] >> (within % 64) & 1 != 0
    }

    pub fn mark_crowded(&mut self, within: u32) {
        self.crowded[within as usize / 64] |= 1 << (within % 64);
    }

    pub fn add_member(&mut self, within: u32, ordinal: Ordinal) {
        let Some(at) = self.place(within) else { return };
        let member = &mut self.heads[at].member;
        if *member == ordinal && ordinal < MANY {
            return;
        }
        if *member == NONE && ordinal < MANY {
            *member = ordinal;
            return;
        }
        let only = std::mem::replace(member, MANY);
        let members = self.many.entry(within).or_default();
        let before = members.len();
        members.extend((only < MANY).then_some(only));
        members.insert(ordinal);
        self.listed += members.len() - before;
    }

    pub fn remove_member(&mut self, within: u32, ordinal: Ordinal) -> SetRemoval {
        let Some(at) = self.place(within) else { return SetRemoval::Absent };
        let member = &mut self.heads[at].member;
        if *member != MANY {
            let is_it = *member == ordinal && ordinal != NONE;
            return if is_it { SetRemoval::IsLast } else { SetRemoval::Absent };
        }
        let Some(members) = self.many.get_mut(&within) else { return SetRemoval::Absent };
        if !members.contains(&ordinal) {
            return SetRemoval::Absent;
        }
        if members.len() == 1 {
            return SetRemoval::IsLast;
        }
        members.remove(&ordinal);
        self.listed -= 1;
        if let Some(alone) = members.first().filter(|alone| members.len() == 1 && **alone < MANY) {
            *member = *alone;
            self.many.remove(&within);
            self.listed -= 1;
        }
        SetRemoval::OthersRemain
    }

    pub fn release(&mut self, within: u32) {
        let Some(at) = self.place(within) else { return };
        self.listed -= self.many.remove(&within).map_or(0, |members| members.len());
        self.heads[at].member = NONE;
        self.used -= 1;
        if self.used < self.heads.len() / 2 {
            self.pack();
        }
    }

    fn pack(&mut self) {
        let places = (0..RANGE).filter_map(|within| Some((within, self.place(within)?)));
        let used: Vec<_> = places.filter(|(_, at)| self.heads[*at].member != NONE).collect();
        self.sketches = used.iter().flat_map(|(_, at)| self.sketch(*at)).copied().collect();
        self.heads = used.iter().map(|(_, at)| self.heads[*at]).collect();
        self.placed = Bits::default();
        for (within, _) in used {
            self.placed[within as usize / 64] |= 1 << (within % 64);
        }
    }

    pub fn bytes(&self) -> usize {
        self.heads.capacity() * size_of::<SetHead>()
            + self.sketches.capacity()
            + self.listed * super::TREE_BYTES_EACH
            + self.many.len() * size_of::<BTreeSet<Ordinal>>() * 2
    }
}
