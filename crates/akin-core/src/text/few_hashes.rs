//! A small set of hashes that is asked for every word or shingle of a text.

/// A table that is at most a quarter full, probed from the slot of a hash's low bits on. An empty
/// slot is 0, so the hash 0 is never in it.
#[derive(Clone, Debug)]
pub(super) struct FewHashes(Box<[u64]>);

impl FromIterator<u64> for FewHashes {
    fn from_iter<I: IntoIterator<Item = u64>>(hashes: I) -> Self {
        let hashes: Vec<u64> = hashes.into_iter().collect();
        let slots = (4 * hashes.len()).max(1).next_power_of_two();
        let mut table = Self(vec![0; slots].into_boxed_slice());
        for hash in hashes {
            let slot = table.slot(hash);
            table.0[slot] = hash;
        }
        table
    }
}

impl FewHashes {
    pub(super) fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.iter().copied().filter(|hash| *hash != 0)
    }

    #[inline]
    pub(super) fn contains(&self, hash: u64) -> bool {
        hash != 0 && self.0[self.slot(hash)] == hash
    }

    /// The slot of a hash, or the empty slot where it belongs.
    #[inline]
    fn slot(&self, hash: u64) -> usize {
        let mask = self.0.len() - 1;
        let mut slot = hash as usize & mask;
        while self.0[slot] != 0 && self.0[slot] != hash {
            slot = (slot + 1) & mask;
        }
        slot
    }
}
