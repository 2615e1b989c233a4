//! Every pair of documents that resemble each other, exactly, with no code of akin's.
//!
//! A prefix filter (Bayardo, Ma, Srikant 2007): sets that resemble each other at J share one of
//! their first L − ⌈J·L⌉ + 1 elements, in any order that is the same for all, here rare ones
//! first. Whatever shares one and has a fitting size is intersected.
//!
//! `truth.bin` has pairs of 16 bytes: two numbers of documents (u32), the lower first, and their
//! resemblance (f64), all little-endian.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

use rayon::prelude::*;

use crate::corpus::FlatSets;

/// The least resemblance that is known of, far enough below the threshold for an S-curve.
pub const FLOOR: f64 = 0.5;

/// Elements are counted in so many cells; those that share one seem more frequent than they are,
/// which costs time and nothing else.
const CELLS_BITS: u32 = 26;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    pub a: u32,
    pub b: u32,
    pub resemblance: f64,
}

/// Pairs ascend.
#[derive(Debug)]
pub struct Truth {
    pub pairs: Vec<Pair>,
}

impl Truth {
    pub fn of(sets: &FlatSets) -> Self {
        let groups = Groups::of(sets);
        let near = Join::of(sets, &groups.firsts).pairs();
        let mut pairs: Vec<Pair> = groups.within().collect();
        pairs.extend(near.iter().flat_map(|pair| groups.between(pair)));
        pairs.par_sort_unstable_by_key(|pair| (pair.a, pair.b));
        Self { pairs }
    }

    /// The pairs at or over a resemblance, and those of equal sets.
    pub fn counts(&self, from: f64) -> (u64, u64) {
        let count = |from| self.pairs.iter().filter(|pair| pair.resemblance >= from).count() as u64;
        (count(from), count(1.0))
    }

    pub fn write(&self, folder: &Path) {
        let mut bytes = Vec::with_capacity(self.pairs.len() * 16);
        for pair in &self.pairs {
            bytes.extend(pair.a.to_le_bytes());
            bytes.extend(pair.b.to_le_bytes());
            bytes.extend(pair.resemblance.to_le_bytes());
        }
        fs::write(folder.join("truth.bin"), bytes).expect("the disk has room");
    }

    /// The pairs among the first `count` documents.
    pub fn read(folder: &Path, count: usize) -> Self {
        let bytes = fs::read(folder.join("truth.bin")).expect("the corpus is prepared");
        let (records, _) = bytes.as_chunks::<16>();
        let pairs = records.iter().map(|record| {
            let number = |at: usize| {
                u32::from_le_bytes(*record[at..].first_chunk().expect("a record has room"))
            };
            let resemblance = f64::from_le_bytes(*record.last_chunk().expect("16 are more than 8"));
            Pair { a: number(0), b: number(4), resemblance }
        });
        Self { pairs: pairs.filter(|pair| (pair.b as usize) < count).collect() }
    }
}

/// Documents of equal sets.
struct Groups {
    /// The first document of each group, ascending.
    firsts: Vec<u32>,
    /// By group, ascending.
    members: Vec<Vec<u32>>,
}

impl Groups {
    fn of(sets: &FlatSets) -> Self {
        let mut known: HashMap<&[u64], usize> = HashMap::new();
        let mut groups = Self { firsts: Vec::new(), members: Vec::new() };
        for (number, set) in (0..).zip(sets.iter()) {
            let group = *known.entry(set).or_insert(groups.members.len());
            if group == groups.members.len() {
                groups.firsts.push(number);
                groups.members.push(Vec::new());
            }
            groups.members[group].push(number);
        }
        groups
    }

    fn within(&self) -> impl Iterator<Item = Pair> {
        self.members.iter().flat_map(|members| {
            members.iter().enumerate().flat_map(move |(place, &a)| {
                let pair = move |&b| Pair { a, b, resemblance: 1.0 };
                members[place + 1..].iter().map(pair)
            })
        })
    }

    /// Between the members of two groups.
    fn between(&self, groups: &Pair) -> impl Iterator<Item = Pair> {
        let [left, right] = [groups.a, groups.b].map(|group| &self.members[group as usize]);
        let resemblance = groups.resemblance;
        left.iter().flat_map(move |&a| {
            right.iter().map(move |&b| Pair { a: a.min(b), b: a.max(b), resemblance })
        })
    }
}

/// Distinct sets, the smallest first, and who else has an element of their prefix.
struct Join<'s> {
    sets: &'s FlatSets,
    /// The document and the group of each set, by rank.
    by_size: Vec<(u32, u32)>,
    /// Sets that share an element of the prefix, by element, ascending.
    sharing: Vec<u32>,
    /// For each element of a set's prefix: where its sets begin in `sharing`, and the set's own
    /// place there. Of set n they are at `prefix_starts[n]..prefix_starts[n + 1]`.
    prefixes: Vec<(u32, u32)>,
    prefix_starts: Vec<u32>,
}

impl<'s> Join<'s> {
    fn of(sets: &'s FlatSets, firsts: &[u32]) -> Self {
        let mut by_size: Vec<(u32, u32)> = firsts.iter().copied().zip(0..).collect();
        by_size.sort_by_key(|(document, _)| sets.get(*document as usize).len());
        let cells = count(sets, firsts);
        let mut filed: Vec<(u64, u32)> = by_size
            .par_iter()
            .enumerate()
            .flat_map_iter(|(rank, (document, _))| {
                let prefix = prefix(sets.get(*document as usize), &cells);
                prefix.into_iter().map(move |element| (element, rank as u32))
            })
            .collect();
        drop(cells);
        filed.par_sort_unstable();
        let (prefixes, prefix_starts) = places(&filed, by_size.len());
        let sharing = filed.into_iter().map(|(_, rank)| rank).collect();
        Self { sets, by_size, sharing, prefixes, prefix_starts }
    }

    /// Pairs of groups.
    fn pairs(&self) -> Vec<Pair> {
        let ranks = (0..self.by_size.len()).into_par_iter().with_min_len(1024);
        ranks.map_init(HashSet::new, |seen, rank| self.near(rank, seen)).flatten_iter().collect()
    }

    /// The smaller sets that resemble this one; `seen` is cleared.
    fn near(&self, rank: usize, seen: &mut HashSet<u32>) -> Vec<Pair> {
        seen.clear();
        let (set, own) = self.set(rank);
        let size_min = (FLOOR * set.len() as f64).ceil() as usize;
        let mut near = Vec::new();
        let own_prefix = self.prefix_starts[rank] as usize..self.prefix_starts[rank + 1] as usize;
        for &(start, place) in &self.prefixes[own_prefix] {
            // Ranks ascend in a group, so those before this one's are the smaller sets.
            for &other in self.sharing[start as usize..place as usize].iter().rev() {
                let (other_set, group) = self.set(other as usize);
                if other_set.len() < size_min {
                    break;
                }
                if seen.insert(other) {
                    let resemblance = resemblance(set, other_set);
                    let pair = Pair { a: own, b: group, resemblance };
                    near.extend((resemblance >= FLOOR).then_some(pair));
                }
            }
        }
        near
    }

    fn set(&self, rank: usize) -> (&'s [u64], u32) {
        let (document, group) = self.by_size[rank];
        (self.sets.get(document as usize), group)
    }
}

/// In how many sets the elements of each cell are.
fn count(sets: &FlatSets, firsts: &[u32]) -> Vec<u32> {
    let mut cells = vec![0; 1 << CELLS_BITS];
    for &first in firsts {
        for &element in sets.get(first as usize) {
            cells[cell(element)] += 1;
        }
    }
    cells
}

fn cell(element: u64) -> usize {
    (element.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - CELLS_BITS)) as usize
}

/// The first elements, rare ones first, without those that no other set has.
fn prefix(set: &[u64], cells: &[u32]) -> Vec<u64> {
    let mut ordered: Vec<(u32, u64)> =
        set.iter().map(|&element| (cells[cell(element)], element)).collect();
    ordered.sort_unstable();
    let shared_min = (FLOOR * set.len() as f64).ceil() as usize;
    ordered.truncate(set.len() - shared_min.min(set.len()) + 1);
    ordered.into_iter().filter(|(count, _)| *count > 1).map(|(_, element)| element).collect()
}

/// For each set its places in what is filed, as [`Join`] has them.
fn places(filed: &[(u64, u32)], sets: usize) -> (Vec<(u32, u32)>, Vec<u32>) {
    let mut starts = vec![0; sets + 1];
    for (_, rank) in filed {
        starts[*rank as usize + 1] += 1;
    }
    (0..sets).for_each(|rank| starts[rank + 1] += starts[rank]);
    let (mut next, mut places) = (starts.clone(), vec![(0, 0); filed.len()]);
    let mut begin = 0;
    for (place, (element, rank)) in filed.iter().enumerate() {
        if *element != filed[begin].0 {
            begin = place;
        }
        places[next[*rank as usize] as usize] = (begin as u32, place as u32);
        next[*rank as usize] += 1;
    }
    (places, starts)
}

/// Jaccard similarity of two ascending sets.
pub fn resemblance(a: &[u64], b: &[u64]) -> f64 {
    let (mut left, mut right, mut shared) = (0, 0, 0);
    while left < a.len() && right < b.len() {
        let (x, y) = (a[left], b[right]);
        shared += usize::from(x == y);
        left += usize::from(x <= y);
        right += usize::from(y <= x);
    }
    shared as f64 / (a.len() + b.len() - shared) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sets in chains, of which each has lost some elements of the one before; and copies.
    fn sets() -> FlatSets {
        let mut sets = FlatSets::default();
        for family in 0..40_u64 {
            for member in 0..8 {
                let from = family * 10_000 + member / 2 * (family % 9);
                let set: Vec<u64> = (from..from + 30 + family).map(|n| n * 7).collect();
                sets.push(&set);
            }
        }
        sets
    }

    #[test]
    fn the_join_finds_what_comparing_each_with_each_finds() {
        let sets = sets();
        let mut expected = Vec::new();
        for a in 0..sets.len() {
            for b in a + 1..sets.len() {
                let resemblance = resemblance(sets.get(a), sets.get(b));
                let pair = Pair { a: a as u32, b: b as u32, resemblance };
                expected.extend((resemblance >= FLOOR).then_some(pair));
            }
        }
        assert!(expected.len() > 500, "{}", expected.len());
        assert_eq!(Truth::of(&sets).pairs, expected);
    }
}
