//! Id → ordinal, in eight bytes a document: the ids themselves are elsewhere.

use std::hash::{BuildHasher, RandomState};
use std::mem::size_of;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::document::Ordinal;

/// Each is locked by itself, and grows and shrinks by itself: at ten million documents that takes
/// a fraction of a millisecond.
const SHARDS: usize = 256;

/// A table with fewer places than this is not worth shrinking.
const PLACES_KEPT: usize = 64;

#[derive(Clone, Copy, Debug)]
struct Hashed {
    /// Half of the hash of the id.
    hash: u32,
    ordinal: Ordinal,
}

/// Half of a hash over 64 bits, as tables take tag and place from its ends: Fibonacci hashing
/// (Knuth, TAOCP 3, 6.4).
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Ids that a thread has met, to be filed all at once: a list for each shard.
#[derive(Debug)]
pub struct Noted(Vec<Vec<Hashed>>);

impl Default for Noted {
    fn default() -> Self {
        Self(vec![Vec::new(); SHARDS])
    }
}

/// Whoever asks says which ordinal has the id that is meant: hashes alone do not.
#[derive(Debug)]
pub struct ById {
    shards: Box<[RwLock<HashTable<Hashed>>]>,
    /// Drawn at random, so that nobody can choose ids that share a hash.
    seed: u64,
}

impl Default for ById {
    fn default() -> Self {
        let shards = (0..SHARDS).map(|_| RwLock::default()).collect();
        Self { shards, seed: RandomState::new().hash_one(0) }
    }
}

impl ById {
    pub fn note(&self, id: &str, ordinal: Ordinal, noted: &mut Noted) {
        let (shard, hash) = self.place(id);
        noted.0[shard].push(Hashed { hash, ordinal });
    }

    /// Files all that was noted, shard by shard, so that each is in the near cache while it fills
    /// up. An id may be there several times; it stands for the highest of its ordinals, and
    /// `replaced` is told the others.
    pub fn file(
        &self,
        noted: &[Noted],
        have_one_id: impl Fn(Ordinal, Ordinal) -> bool,
        mut replaced: impl FnMut(Ordinal),
    ) {
        for (number, shard) in self.shards.iter().enumerate() {
            let of_shard = || noted.iter().map(|noted| &noted.0[number]);
            let mut table = write(shard);
            table.reserve(of_shard().map(Vec::len).sum(), |at| spread(at.hash));
            for new in of_shard().flatten() {
                let same = |at: &Hashed| {
                    let other = at.ordinal;
                    at.hash == new.hash && (other == new.ordinal || have_one_id(other, new.ordinal))
                };
                match table.entry(spread(new.hash), same, |at| spread(at.hash)) {
                    Entry::Occupied(mut occupied) => {
                        let stands = &mut occupied.get_mut().ordinal;
                        if *stands != new.ordinal {
                            replaced(new.ordinal.min(*stands));
                            *stands = new.ordinal.max(*stands);
                        }
                    }
                    Entry::Vacant(vacant) => drop(vacant.insert(*new)),
                }
            }
        }
    }

    pub fn get(&self, id: &str, has_id: impl Fn(Ordinal) -> bool) -> Option<Ordinal> {
        let (shard, hash) = self.shard(id);
        let table = read(shard);
        let found = table.find(spread(hash), |at| at.hash == hash && has_id(at.ordinal));
        found.map(|at| at.ordinal)
    }

    /// Gives back what the id stood for before.
    pub fn insert(
        &self,
        id: &str,
        ordinal: Ordinal,
        has_id: impl Fn(Ordinal) -> bool,
    ) -> Option<Ordinal> {
        let (shard, hash) = self.shard(id);
        let mut table = write(shard);
        let same = |at: &Hashed| at.hash == hash && has_id(at.ordinal);
        match table.entry(spread(hash), same, |at| spread(at.hash)) {
            Entry::Occupied(mut occupied) => {
                Some(std::mem::replace(&mut occupied.get_mut().ordinal, ordinal))
            }
            Entry::Vacant(vacant) => {
                vacant.insert(Hashed { hash, ordinal });
                None
            }
        }
    }

    pub fn remove(&self, id: &str, has_id: impl Fn(Ordinal) -> bool) -> Option<Ordinal> {
        let (shard, hash) = self.shard(id);
        let mut table = write(shard);
        let same = |at: &Hashed| at.hash == hash && has_id(at.ordinal);
        let (removed, _) = table.find_entry(spread(hash), same).ok()?.remove();
        if table.capacity() > PLACES_KEPT && table.len() < table.capacity() / 4 {
            let room = table.len() * 3 / 2;
            table.shrink_to(room, |at| spread(at.hash));
        }
        Some(removed.ordinal)
    }

    /// A table has a byte of tag beside each place.
    pub fn bytes(&self) -> usize {
        let bytes = |shard| read(shard).num_buckets() * (size_of::<Hashed>() + 1);
        let tables: usize = self.shards.iter().map(bytes).sum();
        tables + size_of_val(&*self.shards)
    }

    fn shard(&self, id: &str) -> (&RwLock<HashTable<Hashed>>, u32) {
        let (shard, hash) = self.place(id);
        (&self.shards[shard], hash)
    }

    /// The number of a shard, and half of the hash.
    fn place(&self, id: &str) -> (usize, u32) {
        let hash = xxh3_64_with_seed(id.as_bytes(), self.seed);
        ((hash >> 32) as usize % SHARDS, hash as u32)
    }
}

fn read(shard: &RwLock<HashTable<Hashed>>) -> RwLockReadGuard<'_, HashTable<Hashed>> {
    shard.read().unwrap_or_else(PoisonError::into_inner)
}

fn write(shard: &RwLock<HashTable<Hashed>>) -> RwLockWriteGuard<'_, HashTable<Hashed>> {
    shard.write().unwrap_or_else(PoisonError::into_inner)
}
