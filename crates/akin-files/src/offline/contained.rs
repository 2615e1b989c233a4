//! Sets that lie in other sets.
//!
//! A set lies in another only if the other has its rarest element, whatever order of rarity is
//! taken (the prefix filter of Chaudhuri, Ganti and Kaushik 2006 for a containment of 1). So each
//! set is filed under its rarest element, and each element of a set is looked up.

use std::collections::HashMap;
use std::io;

use super::{NOT_COUNTED, OfflineCorpus};
use akin_core::join::Sets;
use akin_core::measure::Overlap;

/// Counters of elements, which elements may share: they decide the order of rarity only.
const COUNTERS_MIN: usize = 1 << 16;
const NONE: u32 = u32::MAX;

/// Sets by their rarest elements.
pub struct Rarest {
    /// The last set filed under an element.
    last: HashMap<u64, u32>,
    /// By set, the set filed before it under the same element.
    before: Vec<u32>,
    /// A bit for each element filed, by its lowest bits: most elements need no look-up.
    filter: Vec<u64>,
}

impl Rarest {
    fn of(sets: &mut impl Sets<Error = io::Error>) -> io::Result<Self> {
        let count = sets.count() as usize;
        let mut counters = vec![0_u16; (4 * count).next_power_of_two().max(COUNTERS_MIN)];
        let mask = counters.len() as u64 - 1;
        for number in 0..sets.count() {
            for element in sets.set(number)?.as_slice() {
                let counter = &mut counters[(element & mask) as usize];
                *counter = counter.saturating_add(1);
            }
        }
        let words = (counters.len() / 64).max(1);
        // A table that grows would take the memory of two.
        let last = HashMap::with_capacity(count);
        let mut rarest = Self { last, before: vec![NONE; count], filter: vec![0; words] };
        for number in 0..sets.count() {
            let set = sets.set(number)?;
            let rarity = |element: &&u64| (counters[(**element & mask) as usize], **element);
            let Some(element) = set.as_slice().iter().min_by_key(rarity) else { continue };
            let before = rarest.last.insert(*element, number);
            rarest.before[number as usize] = before.unwrap_or(NONE);
            rarest.filter[(element & mask) as usize / 64] |= 1 << (element & 63);
        }
        Ok(rarest)
    }

    /// The sets whose rarest element this is.
    fn sets(&self, element: u64) -> impl Iterator<Item = u32> + '_ {
        let word = element as usize & (self.filter.len() * 64 - 1);
        let may_be = self.filter[word / 64] >> (element & 63) & 1 == 1;
        let last = may_be.then(|| self.last.get(&element).copied()).flatten();
        std::iter::successors(last, |set| {
            Some(self.before[*set as usize]).filter(|before| *before != NONE)
        })
    }
}

impl OfflineCorpus {
    /// The number of elements of a set that its representative does not have.
    ///
    /// # Errors
    /// A set could not be read back.
    pub fn lacking(&mut self, set: u32, representative: Option<u32>) -> io::Result<usize> {
        let counted = self.lacking.get(set as usize).filter(|count| **count != NOT_COUNTED);
        match (representative, counted) {
            (None, _) => Ok(self.size(set)),
            (Some(other), _) if other == set => Ok(0),
            (Some(_), Some(count)) => Ok(*count as usize),
            (Some(other), None) => {
                let overlap = Overlap::of(&self.sets.set(set)?, &self.sets.set(other)?);
                Ok(overlap.a - overlap.shared)
            }
        }
    }

    /// # Errors
    /// A set could not be read back.
    pub fn rarest(&mut self) -> io::Result<Rarest> {
        Rarest::of(&mut self.sets)
    }

    /// The smaller sets that lie in a set, of those that are wanted.
    ///
    /// # Errors
    /// A set could not be read back.
    pub fn sets_within(
        &mut self,
        rarest: &Rarest,
        outer: u32,
        wanted: impl Fn(u32) -> bool,
    ) -> io::Result<Vec<u32>> {
        let sets = &mut self.sets;
        let elements = sets.set(outer)?;
        let mut found = Vec::new();
        for inner in elements.as_slice().iter().flat_map(|element| rarest.sets(*element)) {
            let may_lie_in = sets.shingles(inner) < elements.count() && wanted(inner);
            if may_lie_in && lies_in(sets.set(inner)?.as_slice(), elements.as_slice()) {
                found.push(inner);
            }
        }
        Ok(found)
    }
}

/// Whether all elements of one ascending list are in another.
fn lies_in(inner: &[u64], outer: &[u64]) -> bool {
    let mut rest = outer;
    inner.iter().all(|element| {
        let at = rest.partition_point(|other| other < element);
        rest = &rest[at..];
        rest.first() == Some(element)
    })
}
