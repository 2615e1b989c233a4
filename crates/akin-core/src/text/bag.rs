//! The bag of a document.

use std::collections::HashMap;

use super::hash::occurrence;

/// Hashed shingles with how often each occurs (at least once), ascending; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bag(Vec<(u64, u64)>);

impl Bag {
    /// `None` for no shingles at all.
    pub fn from_shingles(mut shingles: Vec<u64>) -> Option<Self> {
        shingles.sort_unstable();
        let runs = shingles.chunk_by(|a, b| a == b);
        let counted: Vec<_> = runs.map(|run| (run[0], run.len() as u64)).collect();
        (!counted.is_empty()).then_some(Self(counted))
    }

    /// Sums the counts of equal shingles. `None` if there are no shingles, or none is counted.
    pub fn from_counted(counted: impl IntoIterator<Item = (u64, u32)>) -> Option<Self> {
        let wide = |(shingle, count)| (shingle, u64::from(count));
        let mut counted: Vec<(u64, u64)> =
            counted.into_iter().filter(|(_, count)| *count > 0).map(wide).collect();
        counted.sort_unstable();
        counted.dedup_by(|next, kept| {
            let equal = next.0 == kept.0;
            kept.1 += if equal { next.1 } else { 0 };
            equal
        });
        (!counted.is_empty()).then_some(Self(counted))
    }

    /// Each shingle with its count, by ascending shingle.
    pub fn as_slice(&self) -> &[(u64, u64)] {
        &self.0
    }

    /// The number of shingles, each as often as it occurs.
    pub fn total(&self) -> u64 {
        self.0.iter().map(|(_, count)| count).fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// Each occurrence of a shingle as an element of its own, [`Self::total`] elements. The first
    /// occurrence is the shingle itself, so a text without repetitions has the same elements as its
    /// set, in ascending order.
    pub(super) fn elements(&self) -> Vec<u64> {
        let each = self.0.iter();
        let repeated = |(shingle, count): &(u64, u64)| {
            let shingle = *shingle;
            (1..*count).map(move |number| occurrence(shingle, number))
        };
        let firsts = each.clone().map(|(shingle, _)| *shingle);
        firsts.chain(each.flat_map(repeated)).collect()
    }
}

/// Numbers the occurrences of shingles in the order of the text, and turns them into the elements
/// of the bag.
#[derive(Default)]
pub(super) struct Occurrences(HashMap<u64, u64>);

impl Occurrences {
    pub(super) fn next(&mut self, shingle: u64) -> u64 {
        let seen = self.0.entry(shingle).or_default();
        *seen += 1;
        occurrence(shingle, *seen - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bag_counts_its_elements() {
        let bag = Bag::from_shingles(vec![7, 3, 7, 7]).unwrap();
        assert_eq!(bag.as_slice(), [(3, 1), (7, 3)]);
        assert_eq!(bag.total(), 4);
        assert_eq!(Bag::from_counted([(7, 1), (3, 1), (5, 0), (7, 2)]), Some(bag));
        assert_eq!(Bag::from_shingles(vec![]), None);
        assert_eq!(Bag::from_counted([(1, 0)]), None);
        let many = Bag::from_counted((0..9).map(|_| (1, u32::MAX))).unwrap();
        assert_eq!(many.total(), 9 * u64::from(u32::MAX));
    }

    #[test]
    fn each_occurrence_is_an_element_of_its_own() {
        let text = [7, 3, 7, 7, 1];
        let mut elements = Bag::from_shingles(text.to_vec()).unwrap().elements();
        assert_eq!(elements[..3], [1, 3, 7]);
        let mut occurrences = Occurrences::default();
        let mut in_order = text.map(|shingle| occurrences.next(shingle));
        elements.sort_unstable();
        in_order.sort_unstable();
        assert_eq!(elements, in_order);
        elements.dedup();
        assert_eq!(elements.len(), 5);
    }
}
