//! The distinct sets: fingerprint, sketch and member documents of each, by entry number.
//!
//! Numbers of released entries are given out again, so that documents that are replaced for ever do
//! not grow the memory.

mod together;

use std::collections::{BTreeSet, HashMap};
use std::mem::size_of;

use smallvec::SmallVec;

use super::postings::Spreading;
use crate::document::Ordinal;
use crate::simd::{prefer_huge_pages, prefetch_all};

/// What is known of an entry beside its sketch.
#[derive(Clone, Copy, Debug)]
struct Head {
    fingerprint: u64,
    shingles: u32,
    /// The only member's ordinal, or one of the marks.
    member: u32,
}

/// The member of an entry that is released.
const NOBODY: u32 = u32::MAX;
/// The member of an entry whose members are listed elsewhere.
const MANY: u32 = u32::MAX - 1;

/// Entries whose memory is set aside together. It is used from its beginning on.
const CHUNK: usize = 1 << 16;

/// Of the processor's cache: a sketch that begins with one is in fewer of them.
const LINE_BYTES: usize = 64;

/// Entries that are copied together, in tens of microseconds.
pub(super) const PART: usize = 256;

/// So many places may lie idle whatever lives.
const IDLE_SURE: usize = 4_096;

/// Of one ordinal in a tree: four, and its share of nodes that are filled in ascending order.
const TREE_BYTES_EACH: usize = 11;

/// Of an entry beside its sketch.
pub(super) const HEAD_BYTES: f64 = size_of::<Head>() as f64;

pub(super) enum Removal {
    Absent,
    OthersRemain,
    WasLast,
}

/// An entry as it was at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryCopy {
    pub fingerprint: u64,
    pub shingles: u32,
    pub sketch: Box<[u8]>,
    pub members: SmallVec<[Ordinal; 2]>,
}

/// A living entry.
#[derive(Clone, Copy)]
pub(super) struct Entry<'a> {
    pub fingerprint: u64,
    pub shingles: u32,
    pub sketch: &'a [u8],
    member: u32,
    many: Option<&'a BTreeSet<Ordinal>>,
}

#[derive(Debug)]
struct Chunk {
    heads: Vec<Head>,
    /// The sketch of `heads[i]` is at `start + i * sketch_bytes`.
    sketches: Vec<u8>,
    /// Where a line of the processor's cache begins.
    start: usize,
}

#[derive(Debug)]
pub(super) struct Entries {
    chunks: Vec<Chunk>,
    sketch_bytes: usize,
    /// The members of entries that have, or had, several. A tree each, since the copies of a page
    /// are removed first to last as often as not.
    many: HashMap<u32, BTreeSet<Ordinal>, Spreading>,
    /// Members in those trees.
    many_members: usize,
    /// Numbers to be given out again, and some that lie past the end.
    free: Vec<u32>,
    living: usize,
}

impl Entry<'_> {
    pub fn members_count(&self) -> usize {
        self.many.map_or(1, BTreeSet::len)
    }

    /// So many of the lowest.
    pub fn first_members(&self, count: usize) -> SmallVec<[Ordinal; 2]> {
        match self.many {
            None => SmallVec::from_slice(&[Ordinal(self.member)][..count.min(1)]),
            Some(many) => many.iter().copied().take(count).collect(),
        }
    }

    /// Ascending.
    pub fn members(&self) -> impl Iterator<Item = Ordinal> {
        let one = self.many.is_none().then_some(Ordinal(self.member));
        one.into_iter().chain(self.many.into_iter().flatten().copied())
    }
}

impl Entries {
    pub fn new(sketch_bytes: usize) -> Self {
        Self {
            chunks: Vec::new(),
            sketch_bytes,
            many: HashMap::default(),
            many_members: 0,
            free: Vec::new(),
            living: 0,
        }
    }

    pub fn sketch_bytes(&self) -> usize {
        self.sketch_bytes
    }

    /// The number of the new entry.
    pub fn add(&mut self, fingerprint: u64, shingles: u32, sketch: &[u8], ordinal: Ordinal) -> u32 {
        assert_eq!(sketch.len(), self.sketch_bytes, "all sketches of an index have one length");
        let head = Head { fingerprint, shingles, member: NOBODY };
        let number = self.take_number();
        self.put(number, head, sketch);
        self.living += 1;
        self.add_member(number, ordinal);
        number
    }

    pub fn add_member(&mut self, number: u32, ordinal: Ordinal) {
        let head = self.head_mut(number);
        if head.member == ordinal.0 && ordinal.0 < MANY {
            return;
        }
        if head.member == NOBODY && ordinal.0 < MANY {
            head.member = ordinal.0;
            return;
        }
        let first = std::mem::replace(&mut head.member, MANY);
        let members = self.many.entry(number).or_default();
        let before = members.len();
        members.extend((first < MANY).then_some(Ordinal(first)));
        members.insert(ordinal);
        self.many_members += members.len() - before;
    }

    /// An entry without members is to be released by the caller, once no postings lead to it.
    pub fn remove_member(&mut self, number: u32, ordinal: Ordinal) -> Removal {
        let head = self.head_mut(number);
        if head.member != MANY {
            if head.member != ordinal.0 || ordinal.0 == NOBODY {
                return Removal::Absent;
            }
            head.member = NOBODY;
            self.living -= 1;
            return Removal::WasLast;
        }
        let Some(members) = self.many.get_mut(&number) else { return Removal::Absent };
        if !members.remove(&ordinal) {
            return Removal::Absent;
        }
        self.many_members -= 1;
        let alone = members.first().filter(|alone| members.len() == 1 && alone.0 < MANY).copied();
        let is_empty = members.is_empty();
        if let Some(alone) = alone {
            self.many.remove(&number);
            self.many_members -= 1;
            self.head_mut(number).member = alone.0;
        }
        if !is_empty {
            return Removal::OthersRemain;
        }
        self.many.remove(&number);
        self.head_mut(number).member = NOBODY;
        self.living -= 1;
        Removal::WasLast
    }

    /// Has one entry be the other, too: gives it those members that this one has.
    pub fn merge(&mut self, number: u32, into: u32) {
        let members: Vec<Ordinal> = self
            .get(number)
            .into_iter()
            .flat_map(|entry| entry.members().collect::<Vec<_>>())
            .collect();
        for ordinal in members {
            self.add_member(into, ordinal);
            self.remove_member(number, ordinal);
        }
        self.release(number);
    }

    /// The highest number that the next entry may get.
    pub fn number_max(&self) -> u32 {
        self.end() as u32
    }

    pub fn has_much_idle(&self) -> bool {
        self.idle() > IDLE_SURE && self.idle() > self.end() / 8
    }

    /// If much lies idle: the last entry's number, and the one that it has from now on. Idle places
    /// at the end go with it.
    pub fn pull_in(&mut self) -> Option<(u32, u32)> {
        while self.has_much_idle() {
            let last = self.end() as u32 - 1;
            if self.head_mut(last).member == NOBODY {
                self.drop_last();
                continue;
            }
            let number = self.take_number();
            let head = *self.head_mut(last);
            let chunk = &self.chunks[last as usize / CHUNK];
            let sketch: SmallVec<[u8; 128]> = self.sketch(chunk, last as usize % CHUNK).into();
            self.put(number, head, &sketch);
            if let Some(members) = self.many.remove(&last) {
                self.many.insert(number, members);
            }
            self.drop_last();
            return Some((last, number));
        }
        None
    }

    pub fn release(&mut self, number: u32) {
        self.free.push(number);
    }

    pub fn get(&self, number: u32) -> Option<Entry<'_>> {
        let (chunk, at) = (self.chunks.get(number as usize / CHUNK)?, number as usize % CHUNK);
        let Head { fingerprint, shingles, member } = *chunk.heads.get(at)?;
        if member == NOBODY {
            return None;
        }
        let many = if member == MANY { self.many.get(&number) } else { None };
        let sketch = self.sketch(chunk, at);
        Some(Entry { fingerprint, shingles, sketch, member, many })
    }

    /// The sketch of an entry that is filed.
    #[inline]
    pub fn sketch_of(&self, number: u32) -> &[u8] {
        self.sketch(&self.chunks[number as usize / CHUNK], number as usize % CHUNK)
    }

    /// Begins to fetch a sketch.
    #[inline]
    pub fn prefetch_sketch(&self, number: u32) {
        prefetch_all(self.sketch_of(number));
    }

    /// The sketch of each entry, by number; of one that is released, none.
    pub fn sketches(&self) -> impl Iterator<Item = Option<&[u8]>> {
        self.living().map(|living| living.map(|(chunk, at)| self.sketch(chunk, at)))
    }

    /// The same of fingerprints.
    pub fn fingerprints(&self) -> impl Iterator<Item = Option<u64>> {
        self.living().map(|living| living.map(|(chunk, at)| chunk.heads[at].fingerprint))
    }

    pub fn parts(&self) -> usize {
        self.end().div_ceil(PART)
    }

    pub fn copy_part(&self, part: usize) -> Vec<EntryCopy> {
        let numbers = part * PART..((part + 1) * PART).min(self.end());
        let copy = |entry: Entry<'_>| EntryCopy {
            fingerprint: entry.fingerprint,
            shingles: entry.shingles,
            sketch: entry.sketch.into(),
            members: entry.members().collect(),
        };
        numbers.filter_map(|number| self.get(number as u32).map(copy)).collect()
    }

    pub fn count(&self) -> u64 {
        self.living as u64
    }

    pub fn bytes(&self) -> u64 {
        let entries = self.end() * (size_of::<Head>() + self.sketch_bytes);
        let map = self.many.capacity() * (size_of::<(u32, BTreeSet<Ordinal>)>() + 1);
        let free = self.free.capacity() * size_of::<u32>();
        (entries + map + self.many_members * TREE_BYTES_EACH + free) as u64
    }

    fn living(&self) -> impl Iterator<Item = Option<(&Chunk, usize)>> {
        self.chunks.iter().flat_map(|chunk| {
            let heads = chunk.heads.iter().enumerate();
            heads.map(move |(at, head)| (head.member != NOBODY).then_some((chunk, at)))
        })
    }

    fn idle(&self) -> usize {
        self.end() - self.living
    }

    fn drop_last(&mut self) {
        let chunk = self.chunks.last_mut().expect("there is a last entry");
        chunk.heads.pop();
        chunk.sketches.truncate(chunk.start + chunk.heads.len() * self.sketch_bytes);
        if chunk.heads.is_empty() {
            self.chunks.pop();
            let end = self.end();
            self.free.retain(|number| (*number as usize) < end);
            self.free.shrink_to_fit();
        }
    }

    fn take_number(&mut self) -> u32 {
        let end = self.end();
        while let Some(number) = self.free.pop() {
            if (number as usize) < end {
                return number;
            }
        }
        // There are never more entries than living ordinals, which are u32 as well.
        u32::try_from(end).expect("fewer entries than ordinals")
    }

    fn end(&self) -> usize {
        let last = self.chunks.last().map_or(0, |chunk| chunk.heads.len());
        self.chunks.len().saturating_sub(1) * CHUNK + last
    }

    fn put(&mut self, number: u32, head: Head, sketch: &[u8]) {
        let (index, at) = (number as usize / CHUNK, number as usize % CHUNK);
        if index == self.chunks.len() {
            self.chunks.push(Chunk::new(self.sketch_bytes, index > 0));
        }
        let chunk = &mut self.chunks[index];
        if at == chunk.heads.len() {
            chunk.heads.push(head);
            chunk.sketches.extend_from_slice(sketch);
        } else {
            chunk.heads[at] = head;
            let start = chunk.start + at * self.sketch_bytes;
            chunk.sketches[start..start + self.sketch_bytes].copy_from_slice(sketch);
        }
    }

    fn sketch<'a>(&self, chunk: &'a Chunk, at: usize) -> &'a [u8] {
        let start = chunk.start + at * self.sketch_bytes;
        &chunk.sketches[start..start + self.sketch_bytes]
    }

    fn head_mut(&mut self, number: u32) -> &mut Head {
        &mut self.chunks[number as usize / CHUNK].heads[number as usize % CHUNK]
    }
}

impl Chunk {
    /// Of an index with few entries a large page would be mostly empty.
    fn new(sketch_bytes: usize, by_large_pages: bool) -> Self {
        let mut sketches = Vec::<u8>::with_capacity(CHUNK * sketch_bytes + LINE_BYTES);
        if by_large_pages {
            prefer_huge_pages(sketches.spare_capacity_mut());
        }
        let start = sketches.as_ptr().align_offset(LINE_BYTES).min(LINE_BYTES);
        sketches.resize(start, 0);
        Self { heads: Vec::with_capacity(CHUNK), sketches, start }
    }
}
