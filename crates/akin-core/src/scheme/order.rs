//! The order of elements: rare elements first.
//!
//! Sets are indexed by their first elements, so rare elements mean fewer candidates. The
//! frequencies are estimated from a sample of the first sets and then frozen, because a lookup must
//! use the order in which the sets were indexed. Any order gives the same results: a poor estimate
//! only costs time.

use std::collections::HashMap;

/// Sets in a complete sample.
const SAMPLE_SETS_MAX: usize = 1_024;

/// Elements, counted in each set, that complete a sample of fewer sets.
const SAMPLE_ELEMENTS_MAX: usize = 1 << 20;

/// Common elements that an order records; further elements count as rare.
const COMMON_MAX: usize = 1 << 16;

/// An order of elements: by the logarithm of their frequency in a sample, then by value (a hash).
#[derive(Clone, Debug, Default)]
pub struct ElementOrder {
    /// For elements in more than one set of the sample: the logarithm of their number of sets.
    classes: HashMap<u64, u8>,
}

impl ElementOrder {
    /// The order by the number of sets that contain each element. With an empty sample, elements
    /// are ordered by value.
    fn of(frequencies: HashMap<u64, u32>) -> Self {
        let mut common: Vec<(u32, u64)> = frequencies
            .into_iter()
            .filter_map(|(element, sets)| (sets > 1).then_some((sets, element)))
            .collect();
        common.sort_unstable_by(|a, b| b.cmp(a));
        common.truncate(COMMON_MAX);
        let class = |(sets, element): (u32, u64)| (element, sets.ilog2() as u8);
        Self { classes: common.into_iter().map(class).collect() }
    }

    /// The first `len` elements of a set in this order, or all that it has.
    pub fn prefix(&self, set: &[u64], len: usize) -> Vec<u64> {
        let mut prefix = Vec::with_capacity(len.min(set.len()));
        let mut common = Vec::new();
        for element in set {
            if prefix.len() == len {
                return prefix;
            }
            match self.classes.get(element) {
                None => prefix.push(*element),
                Some(class) => common.push((*class, *element)),
            }
        }
        common.sort_unstable();
        let room = len - prefix.len();
        prefix.extend(common.into_iter().take(room).map(|(_, element)| element));
        prefix
    }

    /// The approximate memory in bytes.
    pub fn bytes(&self) -> usize {
        self.classes.capacity() * (size_of::<(u64, u8)>() + 1)
    }
}

/// Collects element frequencies of the sets from which an order is made.
#[derive(Clone, Debug, Default)]
pub struct FrequencySample {
    frequencies: HashMap<u64, u32>,
    sets: usize,
    elements: usize,
}

impl FrequencySample {
    /// Counts the elements of a set.
    pub fn add(&mut self, set: &[u64]) {
        self.sets += 1;
        self.elements += set.len();
        for element in set {
            *self.frequencies.entry(*element).or_default() += 1;
        }
    }

    /// Whether the sample is large enough to make an order from.
    pub fn is_whole(&self) -> bool {
        self.sets >= SAMPLE_SETS_MAX || self.elements >= SAMPLE_ELEMENTS_MAX
    }

    /// The order of elements by their frequency in the sample.
    pub fn order(self) -> ElementOrder {
        ElementOrder::of(self.frequencies)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The order by a sample of the first sets.
    fn order(sets: &[&[u64]]) -> ElementOrder {
        let mut sample = FrequencySample::default();
        for set in sets {
            if !sample.is_whole() {
                sample.add(set);
            }
        }
        sample.order()
    }

    #[test]
    fn rare_elements_come_first_and_then_the_least() {
        let order = order(&[&[1, 2, 3, 4], &[1, 2, 3, 5], &[1, 2, 6], &[1, 7]]);
        assert_eq!(order.prefix(&[1, 2, 3, 4, 9], 5), [4, 9, 2, 3, 1]);
        assert_eq!(order.prefix(&[1, 2, 3, 4, 9], 3), [4, 9, 2]);
        assert_eq!(order.prefix(&[1, 3], 9), [3, 1]);
        assert_eq!(ElementOrder::default().prefix(&[1, 2, 3], 2), [1, 2]);
    }

    #[test]
    fn a_prefix_is_the_beginning_of_a_longer_one() {
        let order = order(&[&[1, 2, 3, 4, 5, 6], &[2, 4, 6, 8], &[4, 8]]);
        let whole = order.prefix(&[1, 2, 3, 4, 5, 6, 7, 8], 8);
        for len in 0..8 {
            assert_eq!(order.prefix(&[1, 2, 3, 4, 5, 6, 7, 8], len), whole[..len]);
        }
    }

    #[test]
    fn an_order_knows_a_bounded_number_of_common_elements() {
        let everything: Vec<u64> = (0..200_000).collect();
        let order = order(&[&everything, &everything, &[7], &[9]]);
        assert_eq!(order.classes.len(), COMMON_MAX);
        assert!(order.classes.contains_key(&7), "the most frequent ones are kept");
        let mut sample = FrequencySample::default();
        (0..5).for_each(|_| sample.add(&everything));
        assert!(!sample.is_whole());
        sample.add(&everything);
        assert!(sample.is_whole());
    }
}
