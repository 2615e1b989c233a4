//! Maps ids to ordinals, in the byte order of the ids.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ops::Bound::{Excluded, Unbounded};

use parking_lot::{Mutex, RwLock};
use xxhash_rust::xxh3::xxh3_64;

use crate::backend::parallel::share_out;
use crate::document::{DocumentId, Ordinal};

/// Each shard has its own lock.
const SHARDS: usize = 64;

/// Memory of a B-tree entry: a leaf of eleven takes 256 bytes and is half full where ids ascend,
/// two thirds full where they are random; inner nodes add a seventh.
const ENTRY_BYTES: usize = 44;

/// Ids read per shard in addition to its share of a page.
const BEYOND_SHARE: usize = 8;

type Shard = BTreeMap<DocumentId, Ordinal>;

/// B-trees, sharded by the hash of the id. Being sorted, they serve pages without a scan, and
/// unlike hash tables they grow without rehashing.
#[derive(Debug)]
pub struct Ids(Box<[RwLock<Shard>]>);

impl Default for Ids {
    fn default() -> Self {
        Self((0..SHARDS).map(|_| RwLock::default()).collect())
    }
}

impl Ids {
    pub fn get(&self, id: &DocumentId) -> Option<Ordinal> {
        self.shard(id).read().get(id).copied()
    }

    /// Returns the previous ordinal of the id.
    pub fn insert(&self, id: DocumentId, ordinal: Ordinal) -> Option<Ordinal> {
        self.shard(&id).write().insert(id, ordinal)
    }

    pub fn remove(&self, id: &DocumentId) -> Option<Ordinal> {
        self.shard(id).write().remove(id)
    }

    /// Inserts all ids, which come in pieces, on all cores: many times as fast as single
    /// insertions. A repeated id gets its highest ordinal; its other ordinals are returned.
    pub fn load(
        &self,
        pieces: usize,
        piece: impl Fn(usize) -> Vec<(DocumentId, Ordinal)> + Sync,
    ) -> Vec<Ordinal> {
        let by_shard: Vec<Mutex<Vec<_>>> = (0..SHARDS).map(|_| Mutex::default()).collect();
        let Ok(()) = share_out::<_, Infallible>(
            pieces,
            || vec![Vec::new(); SHARDS],
            |own, number| {
                for (id, ordinal) in piece(number) {
                    own[shard_of(&id)].push((id, ordinal));
                }
                for (ids, own) in by_shard.iter().zip(own) {
                    ids.lock().append(own);
                }
                Ok(())
            },
        );
        let replaced = Mutex::new(Vec::new());
        let Ok(()) = share_out::<_, Infallible>(
            SHARDS,
            || (),
            |(), number| {
                let ids = sorted(std::mem::take(&mut *by_shard[number].lock()));
                let repeated = ids.windows(2).filter(|pair| pair[0].0 == pair[1].0);
                replaced.lock().extend(repeated.map(|pair| pair[0].1));
                // A map keeps the last of equal keys.
                *self.0[number].write() = ids.into_iter().collect();
                Ok(())
            },
        );
        replaced.into_inner()
    }

    /// The lowest ids above `after`, in byte order: at least one if there are any, and at most
    /// `limit`. Contains every id in its range that exists throughout the call.
    pub fn page(&self, after: Option<&DocumentId>, limit: usize) -> Vec<(DocumentId, Ordinal)> {
        let share = limit / SHARDS * 2 + BEYOND_SHARE;
        let mut page = Vec::with_capacity(SHARDS * share);
        // The page is complete up to the lowest of the last ids read from each shard.
        let mut complete_up_to: Option<DocumentId> = None;
        for shard in &self.0 {
            let start = page.len();
            let above = (after.map_or(Unbounded, Excluded), Unbounded);
            let ids = shard.read();
            let ids = ids.range::<DocumentId, _>(above).take(share);
            page.extend(ids.map(|(id, ordinal)| (id.clone(), *ordinal)));
            if page.len() - start == share {
                let last = page.last().map(|(id, _)| id.clone());
                complete_up_to = complete_up_to.into_iter().chain(last).min();
            }
        }
        page.sort_unstable();
        if let Some(last) = complete_up_to {
            page.truncate(page.partition_point(|(id, _)| *id <= last));
        }
        page.truncate(limit);
        page
    }

    pub fn bytes(&self, documents: u64) -> u64 {
        (size_of_val(&*self.0) + ENTRY_BYTES * documents as usize) as u64
    }

    fn shard(&self, id: &DocumentId) -> &RwLock<Shard> {
        &self.0[shard_of(id)]
    }
}

/// Sorts by id, then by ordinal. Compares eight bytes after the common prefix of all ids first, and
/// the ids themselves, which are scattered in memory, only where the eight bytes are equal.
fn sorted(ids: Vec<(DocumentId, Ordinal)>) -> Vec<(DocumentId, Ordinal)> {
    let Some(first) = ids.first().map(|(id, _)| id.clone()) else { return ids };
    let first = first.as_str().as_bytes();
    let equal = |id: &DocumentId, within: usize| {
        let pairs = first[..within].iter().zip(id.as_str().as_bytes());
        pairs.take_while(|(a, b)| a == b).count()
    };
    let common = ids.iter().fold(first.len(), |common, (id, _)| equal(id, common));
    let behind = |id: &DocumentId| {
        let mut bytes = [0; 8];
        let rest = &id.as_str().as_bytes()[common..];
        let length = rest.len().min(bytes.len());
        bytes[..length].copy_from_slice(&rest[..length]);
        u64::from_be_bytes(bytes)
    };
    let mut keyed: Vec<_> =
        ids.into_iter().map(|(id, ordinal)| (behind(&id), id, ordinal)).collect();
    keyed.sort_unstable();
    keyed.into_iter().map(|(_, id, ordinal)| (id, ordinal)).collect()
}

fn shard_of(id: &DocumentId) -> usize {
    xxh3_64(id.as_str().as_bytes()) as usize % SHARDS
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn id(text: &str) -> DocumentId {
        DocumentId::new(text).unwrap()
    }

    #[test]
    fn repeated_id_gets_its_highest_ordinal() {
        let ids = Ids::default();
        let all = [("a", 4), ("b", 2), ("a", 9), ("a", 1)];
        let all = all.map(|(text, ordinal)| (id(text), Ordinal::from(ordinal)));
        // Each in a piece of its own, so that threads meet.
        let mut replaced = ids.load(all.len(), |piece| vec![all[piece].clone()]);
        replaced.sort_unstable();
        assert_eq!(
            (ids.get(&id("a")), ids.get(&id("b"))),
            (Some(Ordinal::from(9)), Some(Ordinal::from(2)))
        );
        assert_eq!(replaced, [Ordinal::from(1), Ordinal::from(4)]);
    }

    #[test]
    fn ids_that_several_threads_load_are_all_there() {
        let ids = Ids::default();
        let of = |number: u32| (id(&format!("id {number}")), Ordinal::from(number));
        let piece = |piece: usize| (0..1_000).map(|n| of(piece as u32 * 1_000 + n)).collect();
        assert_eq!(ids.load(20, piece), []);
        for number in 0..20_000 {
            let (id, ordinal) = of(number);
            assert_eq!(ids.get(&id), Some(ordinal));
        }
    }

    proptest! {
        #[test]
        fn ids_are_sorted_whatever_they_begin_with(
            texts in prop::collection::vec("(common/)?[a-b]{0,9}x", 0..60),
        ) {
            let ids = (0..).zip(&texts).map(|(number, text)| (id(text), Ordinal::from(number)));
            let mut expected: Vec<_> = ids.collect();
            let found = sorted(expected.clone());
            expected.sort();
            prop_assert_eq!(found, expected);
        }

        /// The pages together equal an ordered set of all ids.
        #[test]
        fn pages_follow_each_other_in_byte_order(
            texts in prop::collection::btree_set("[a-c]{1,4}|é", 0..120),
            limit in 1_usize..100,
        ) {
            let ids = Ids::default();
            for text in &texts {
                ids.insert(id(text), Ordinal::from(7));
            }
            let mut listed = Vec::new();
            loop {
                let page = ids.page(listed.last(), limit);
                prop_assert!(page.len() <= limit);
                if page.is_empty() {
                    break;
                }
                listed.extend(page.into_iter().map(|(id, _)| id));
            }
            let expected: BTreeSet<_> = texts.iter().map(|text| id(text)).collect();
            prop_assert!(listed.iter().eq(&expected));
        }
    }
}
