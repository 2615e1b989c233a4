//! Clusters by representative, in blocks that fit into memory.
//!
//! In the order of their numbers, each set joins the first representative that it is a pair with,
//! or becomes one. So each set need only be compared with representatives. If not all of these fit
//! into memory, the sets are read again for each block of them: the sets that are behind the block
//! and near none of it are undecided until a later one.

use super::check::Subject;
use super::filing::Filed;
use super::{Join, JoinError, Progress, Sets, Stage};

const UNDECIDED: u32 = u32::MAX;

/// Representatives by their keys, as chained hash tables of a fixed size.
struct Block {
    tables: Vec<Table>,
    entries_max: usize,
    /// A set was refused. A later one with fewer keys would fit, but may be near the one refused.
    closed: bool,
}

struct Table {
    /// One more than the place of the latest entry with this hash, or 0.
    latest: Vec<u32>,
    entries: Vec<Entry>,
    shift: u32,
}

#[derive(Clone, Copy)]
struct Entry {
    key: u32,
    position: u32,
    number: u32,
    /// One more than the place of an earlier entry with this hash, or 0.
    before: u32,
}

/// Bytes for each entry: itself, and at most two slots of the hash table.
const ENTRY_BYTES: usize = size_of::<Entry>() + 2 * size_of::<u32>();
const ENTRIES_MIN: usize = 4;

/// 2³² divided by the golden ratio.
const SPREAD: u32 = 0x9e37_79b9;

impl Join<'_> {
    /// The representative of each set. Sets below `protected` represent themselves.
    ///
    /// # Errors
    /// [`JoinError::Stopped`], and errors of reading the sets.
    pub(super) fn representatives<S: Sets>(
        &self,
        sets: &mut S,
        progress: &Progress,
    ) -> Result<Vec<u32>, JoinError<S::Error>> {
        let count = sets.count();
        progress.begin(Stage::Joining, u64::from(count));
        let mut representatives = vec![UNDECIDED; count as usize];
        let mut first = 0;
        let is_undecided = |representative: &u32| *representative == UNDECIDED;
        while let Some(behind) = representatives[first..].iter().position(is_undecided) {
            first += behind;
            self.decide(first as u32, &mut representatives, sets, progress)?;
        }
        Ok(representatives)
    }

    /// Fills a block with representatives from `first` on, and decides the sets that are near one.
    fn decide<S: Sets>(
        &self,
        first: u32,
        representatives: &mut [u32],
        sets: &mut S,
        progress: &Progress,
    ) -> Result<(), JoinError<S::Error>> {
        let tables = self.filing.tables() as usize;
        let mut block = Block::new(tables, self.memory, self.keys_of_a_table(sets));
        let (mut filed, mut near) = (Vec::new(), Vec::new());
        for number in first..representatives.len() as u32 {
            progress.go_on()?;
            if representatives[number as usize] != UNDECIDED {
                continue;
            }
            filed.clear();
            self.filing.visit(number, 0..tables as u32, sets, |key| filed.push(key))?;
            let mut found = None;
            if number >= self.protected {
                let size = sets.shingles(number);
                near.clear();
                block.visit(&filed, |ours, theirs| {
                    let theirs_size = sets.shingles(theirs.number);
                    if self.filing.admits((theirs.position, theirs_size), (ours, size)) {
                        near.push(theirs.number);
                    }
                });
                found = self.first_pair(number, &mut near, sets, progress)?;
            }
            if found.is_none() && block.takes(number, &filed) {
                found = Some(number);
            }
            if let Some(representative) = found {
                representatives[number as usize] = representative;
                progress.advance(1)?;
            }
        }
        Ok(())
    }

    /// The lowest of these numbers that is a pair with this one.
    fn first_pair<S: Sets>(
        &self,
        number: u32,
        near: &mut Vec<u32>,
        sets: &mut S,
        progress: &Progress,
    ) -> Result<Option<u32>, JoinError<S::Error>> {
        near.sort_unstable();
        near.dedup();
        let mut subject = Subject::new(number);
        for other in near {
            progress.go_on()?;
            if self.check.pair(&mut subject, *other, sets)?.is_some() {
                return Ok(Some(*other));
            }
        }
        Ok(None)
    }
}

impl Block {
    /// As large as `memory` allows, but for no more than these keys in each table.
    fn new(tables: usize, memory: usize, keys: usize) -> Self {
        let entries_max = (memory / (tables * ENTRY_BYTES)).min(keys).max(ENTRIES_MIN);
        let slots = entries_max.next_power_of_two();
        let table = || Table {
            latest: vec![0; slots],
            entries: Vec::with_capacity(entries_max),
            shift: u32::BITS - slots.ilog2(),
        };
        Self { tables: (0..tables).map(|_| table()).collect(), entries_max, closed: false }
    }

    /// Adds a representative, unless there is no room for it or was none for an earlier one.
    fn takes(&mut self, number: u32, filed: &[Filed]) -> bool {
        self.closed |= self.is_full_for(filed.len());
        if !self.closed {
            self.add(number, filed);
        }
        !self.closed
    }

    /// Whether there is no room for a set with so many keys in all tables. For the first one there
    /// always is.
    fn is_full_for(&self, keys: usize) -> bool {
        let most = self.tables.iter().map(|table| table.entries.len()).max().unwrap_or(0);
        most > 0 && most + keys.div_ceil(self.tables.len()) > self.entries_max
    }

    fn add(&mut self, number: u32, filed: &[Filed]) {
        for Filed { table, key, position } in filed {
            self.tables[*table as usize].add(*key, *position, number);
        }
    }

    /// Visits the entries with the same keys, each with the position in the set that is filed.
    fn visit(&self, filed: &[Filed], mut visit: impl FnMut(u32, &Entry)) {
        for Filed { table, key, position } in filed {
            self.tables[*table as usize].visit(*key, |entry| visit(*position, entry));
        }
    }
}

impl Table {
    fn slot(&self, key: u32) -> usize {
        (key.wrapping_mul(SPREAD) >> self.shift) as usize
    }

    fn add(&mut self, key: u32, position: u32, number: u32) {
        let slot = self.slot(key);
        let before = self.latest[slot];
        self.entries.push(Entry { key, position, number, before });
        self.latest[slot] = self.entries.len() as u32;
    }

    fn visit(&self, key: u32, mut visit: impl FnMut(&Entry)) {
        let mut at = self.latest[self.slot(key)];
        while let Some(entry) = (at as usize).checked_sub(1).map(|at| &self.entries[at]) {
            if entry.key == key {
                visit(entry);
            }
            at = entry.before;
        }
    }
}
