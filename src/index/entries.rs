//! The distinct sets: fingerprint, sketch and member documents of each, by entry number.
//!
//! An entry's number says where it is: shard `number % SHARDS`, place `number / SHARDS`. Numbers of
//! released entries are given out again, so that documents that are replaced for ever do not grow
//! the memory.

use std::collections::BTreeSet;
use std::mem::size_of;
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use smallvec::SmallVec;

use crate::document::Ordinal;

/// What is known of an entry beside its sketch.
#[derive(Debug)]
pub(super) struct Head {
    pub fingerprint: u64,
    pub shingles: u32,
    pub members: Members,
}

/// The documents that share a set, ascending: mostly one. None for an entry that is released.
#[derive(Debug)]
pub(super) enum Members {
    None,
    One(Ordinal),
    /// At least two. A tree, since the copies of a page are removed first to last as often as not.
    // A box keeps the common case small: 16 bytes rather than 32.
    #[expect(clippy::box_collection, reason = "the box is what keeps the common variant small")]
    Many(Box<BTreeSet<Ordinal>>),
}

/// Of one ordinal in a tree: four, and its share of nodes that are filled in ascending order.
const TREE_BYTES_EACH: usize = 11;

impl Members {
    pub fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::One(_) => 1,
            Self::Many(ordinals) => ordinals.len(),
        }
    }

    /// Ascending.
    pub fn iter(&self) -> impl Iterator<Item = Ordinal> {
        let (one, many) = match self {
            Self::None => (None, None),
            Self::One(ordinal) => (Some(*ordinal), None),
            Self::Many(ordinals) => (None, Some(ordinals.iter().copied())),
        };
        one.into_iter().chain(many.into_iter().flatten())
    }

    fn add(&mut self, ordinal: Ordinal) {
        match self {
            Self::None => *self = Self::One(ordinal),
            Self::One(other) if *other == ordinal => {}
            Self::One(other) => *self = Self::Many(Box::new([*other, ordinal].into())),
            Self::Many(ordinals) => {
                ordinals.insert(ordinal);
            }
        }
    }

    fn remove(&mut self, ordinal: Ordinal) -> Removal {
        match self {
            Self::One(other) if *other == ordinal => {
                *self = Self::None;
                Removal::WasLast
            }
            Self::Many(ordinals) => {
                if !ordinals.remove(&ordinal) {
                    return Removal::Absent;
                }
                if ordinals.len() == 1
                    && let Some(last) = ordinals.pop_first()
                {
                    *self = Self::One(last);
                }
                Removal::OthersRemain
            }
            _ => Removal::Absent,
        }
    }

    fn heap_bytes(&self) -> usize {
        match self {
            Self::Many(ordinals) => {
                size_of::<BTreeSet<Ordinal>>() + ordinals.len() * TREE_BYTES_EACH
            }
            _ => 0,
        }
    }
}

/// Of an entry beside its sketch, with the tenth of the places that lies idle on average, as they
/// grow by a quarter.
pub(super) const HEAD_BYTES: f64 = size_of::<Head>() as f64 * 1.1;

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

#[derive(Debug, Default)]
struct Shard {
    heads: Vec<Head>,
    /// The sketch of `heads[i]` is at `i * sketch_bytes`.
    sketches: Vec<u8>,
    /// Of all members together.
    members_bytes: usize,
}

#[derive(Debug, Default)]
struct Numbers {
    next: u32,
    free: Vec<u32>,
}

#[derive(Debug)]
pub(super) struct Entries {
    shards: Box<[RwLock<Shard>]>,
    numbers: Mutex<Numbers>,
    sketch_bytes: usize,
}

impl Entries {
    pub const SHARDS: usize = 64;

    pub fn new(sketch_bytes: usize) -> Self {
        let shards = (0..Self::SHARDS).map(|_| RwLock::default()).collect();
        Self { shards, numbers: Mutex::default(), sketch_bytes }
    }

    /// The number of the new entry.
    pub fn add(&self, fingerprint: u64, shingles: u32, sketch: &[u8], ordinal: Ordinal) -> u32 {
        assert_eq!(sketch.len(), self.sketch_bytes, "all sketches of an index have one length");
        let head = Head { fingerprint, shingles, members: Members::One(ordinal) };
        let number = self.take_number();
        let (mut shard, place) = self.write(number);
        // Numbers are given out one by one but may get here in another order: fill up to the place.
        while shard.heads.len() <= place {
            shard.grow(self.sketch_bytes);
        }
        shard.heads[place] = head;
        let start = place * self.sketch_bytes;
        shard.sketches[start..start + self.sketch_bytes].copy_from_slice(sketch);
        number
    }

    pub fn add_member(&self, number: u32, ordinal: Ordinal) {
        let (mut shard, place) = self.write(number);
        shard.change_members(place, |members| members.add(ordinal));
    }

    /// An entry without members is to be released by the caller, once no postings lead to it.
    pub fn remove_member(&self, number: u32, ordinal: Ordinal) -> Removal {
        let (mut shard, place) = self.write(number);
        shard.change_members(place, |members| members.remove(ordinal))
    }

    pub fn release(&self, number: u32) {
        self.numbers().free.push(number);
    }

    /// What `read` makes of a living entry.
    pub fn read<R>(&self, number: u32, read: impl FnOnce(&Head, &[u8]) -> R) -> Option<R> {
        let shard = read_lock(&self.shards[number as usize % Self::SHARDS]);
        let place = number as usize / Self::SHARDS;
        let head = shard.heads.get(place)?;
        if matches!(head.members, Members::None) {
            return None;
        }
        Some(read(head, shard.sketch(place, self.sketch_bytes)))
    }

    /// Visits the number and sketch of every entry.
    pub fn for_each(&self, mut visit: impl FnMut(u32, &[u8])) {
        for (index, shard) in self.shards.iter().enumerate() {
            let shard = read_lock(shard);
            for (place, _) in shard.living() {
                let number = (place * Self::SHARDS + index) as u32;
                visit(number, shard.sketch(place, self.sketch_bytes));
            }
        }
    }

    pub fn copy_shard(&self, index: usize) -> Vec<EntryCopy> {
        let shard = read_lock(&self.shards[index]);
        let copy = |(place, head): (usize, &Head)| EntryCopy {
            fingerprint: head.fingerprint,
            shingles: head.shingles,
            sketch: shard.sketch(place, self.sketch_bytes).into(),
            members: head.members.iter().collect(),
        };
        shard.living().map(copy).collect()
    }

    pub fn count(&self) -> u64 {
        let numbers = self.numbers();
        u64::from(numbers.next) - numbers.free.len() as u64
    }

    pub fn bytes(&self) -> u64 {
        self.shards.iter().map(|shard| read_lock(shard).bytes()).sum::<usize>() as u64
    }

    fn take_number(&self) -> u32 {
        let mut numbers = self.numbers();
        if let Some(number) = numbers.free.pop() {
            return number;
        }
        let number = numbers.next;
        // There are never more entries than living ordinals, which are u32 as well; the last number
        // is the mark of crowded postings.
        numbers.next = number.checked_add(1).expect("fewer entries than ordinals");
        number
    }

    fn numbers(&self) -> std::sync::MutexGuard<'_, Numbers> {
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, number: u32) -> (RwLockWriteGuard<'_, Shard>, usize) {
        let shard = &self.shards[number as usize % Self::SHARDS];
        let guard = shard.write().unwrap_or_else(PoisonError::into_inner);
        (guard, number as usize / Self::SHARDS)
    }
}

fn read_lock(shard: &RwLock<Shard>) -> RwLockReadGuard<'_, Shard> {
    shard.read().unwrap_or_else(PoisonError::into_inner)
}

impl Shard {
    /// Adds a released place. Growing by a quarter rather than doubling keeps what lies idle under
    /// a fifth.
    fn grow(&mut self, sketch_bytes: usize) {
        let places = self.heads.len();
        if places == self.heads.capacity() {
            let more = (places / 4).max(64);
            self.heads.reserve_exact(more);
            self.sketches.reserve_exact(more * sketch_bytes);
        }
        self.heads.push(Head { fingerprint: 0, shingles: 0, members: Members::None });
        self.sketches.resize((places + 1) * sketch_bytes, 0);
    }

    fn sketch(&self, place: usize, sketch_bytes: usize) -> &[u8] {
        &self.sketches[place * sketch_bytes..(place + 1) * sketch_bytes]
    }

    fn living(&self) -> impl Iterator<Item = (usize, &Head)> {
        self.heads.iter().enumerate().filter(|(_, head)| !matches!(head.members, Members::None))
    }

    fn change_members<R>(&mut self, place: usize, change: impl FnOnce(&mut Members) -> R) -> R {
        let members = &mut self.heads[place].members;
        let before = members.heap_bytes();
        let outcome = change(members);
        self.members_bytes = self.members_bytes + members.heap_bytes() - before;
        outcome
    }

    fn bytes(&self) -> usize {
        self.heads.capacity() * size_of::<Head>() + self.sketches.capacity() + self.members_bytes
    }
}
