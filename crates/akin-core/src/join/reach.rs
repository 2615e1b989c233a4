//! The sets of a list that can be pairs with a set, by their [`SizeReach`].
//!
//! In documents with enough words of their own, the elements of the template come last. These
//! elements admit only sets that are smaller than the documents, so no two of the documents are
//! compared.

use crate::scheme::SizeReach;

impl SizeReach {
    /// Admits nothing.
    pub(super) const NONE: Self = Self { size: u32::MAX, most: 0 };

    /// The reach of a set in a bucket of a key: [`Self::CROWD`] admits [`Self::ALONE`] only,
    /// because two sets of crowds are compared by their elements.
    #[inline]
    pub(super) fn of_key(most: u32) -> Self {
        Self { size: Self::CROWD + Self::ALONE - most, most }
    }

    /// `most` of a set with the key of a crowd.
    pub(super) const CROWD: u32 = 1;
    /// `most` of a set without the key of a crowd.
    pub(super) const ALONE: u32 = 2;

    /// The weaker of both bounds: it admits every set that one of the two admits.
    #[inline]
    fn or(self, other: Self) -> Self {
        Self { size: self.size.min(other.size), most: self.most.max(other.most) }
    }
}

/// Finds the admitted sets of a list in its order. A node admits a set if any leaf below it may, so
/// halves, quarters and so on of the list without admitted sets are skipped.
#[derive(Debug, Default)]
pub(super) struct ReachTree {
    /// The node n bounds the nodes 2n and 2n + 1; the list is the second half.
    nodes: Vec<SizeReach>,
    len: usize,
}

impl ReachTree {
    /// Replaces the list.
    pub fn fill(&mut self, list: impl ExactSizeIterator<Item = SizeReach>) {
        self.len = list.len();
        let leaves = self.len.next_power_of_two();
        self.nodes.clear();
        self.nodes.resize(2 * leaves, SizeReach::NONE);
        for (leaf, reach) in self.nodes[leaves..].iter_mut().zip(list) {
            *leaf = reach;
        }
        for node in (1..leaves).rev() {
            self.nodes[node] = self.nodes[2 * node].or(self.nodes[2 * node + 1]);
        }
    }

    /// Appends to the list.
    pub fn push(&mut self, reach: SizeReach) {
        let leaves = self.nodes.len() / 2;
        if self.len == leaves {
            let mut list = self.nodes.split_off(leaves);
            list.push(reach);
            self.fill(list.into_iter());
            return;
        }
        let mut node = leaves + self.len;
        self.len += 1;
        self.nodes[node] = reach;
        while node > 1 {
            node /= 2;
            self.nodes[node] = self.nodes[node].or(reach);
        }
    }

    /// Removes the entry at `at`; later entries keep their places.
    #[inline]
    pub fn remove(&mut self, at: usize) {
        let mut node = self.nodes.len() / 2 + at;
        self.nodes[node] = SizeReach::NONE;
        while node > 1 {
            node /= 2;
            self.nodes[node] = self.nodes[2 * node].or(self.nodes[2 * node + 1]);
        }
    }

    /// The first entry at `from` or later that this set admits.
    #[inline]
    pub fn next(&self, from: usize, of: SizeReach) -> Option<usize> {
        if from >= self.len {
            return None;
        }
        let leaves = self.nodes.len() / 2;
        let mut node = leaves + from;
        loop {
            if self.nodes[node].admits(of) {
                if node >= leaves {
                    return Some(node - leaves);
                }
                node *= 2;
                continue;
            }
            // The second child of a node is odd. Go up to a first child, and then to its sibling.
            node >>= node.trailing_ones();
            if node == 0 {
                return None;
            }
            node += 1;
        }
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.len
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::measure::Overlap;
    use crate::scheme::Threshold;

    proptest! {
        #[test]
        fn reaches_admit_what_positions_admit(
            a in (1..300_u32, 0..300_u32),
            b in (1..300_u32, 0..300_u32),
            threshold in prop_oneof![0.001..=1.0_f64, Just(0.5), Just(0.8), Just(1.0)],
        ) {
            let threshold = Threshold::new(threshold).unwrap();
            let [a, b] = [a, b].map(|(size, position)| (size, position % size));
            let reach = |(size, at)| SizeReach::at(threshold, size, at);
            // At best all elements after it in the smaller remainder are shared.
            let shared = (a.0 - a.1).min(b.0 - b.1) as usize;
            let best = Overlap { shared, a: a.0 as usize, b: b.0 as usize };
            let expected = best.resemblance() >= threshold.get();
            prop_assert_eq!(reach(a).admits(reach(b)), expected);
        }

        #[test]
        fn a_tree_finds_what_a_scan_finds(
            list in vec((1..30_u32, 1..30_u32), 0..70),
            pushed in 0..70_usize,
            removed in vec(0..70_usize, 0..20),
            probes in vec((0..70_usize, 1..30_u32, 1..30_u32), 1..10),
        ) {
            let reach = |(size, most)| SizeReach { size, most };
            let mut list: Vec<SizeReach> = list.into_iter().map(reach).collect();
            let at_once = list.len().saturating_sub(pushed);
            let mut tree = ReachTree::default();
            tree.fill(list[..at_once].iter().copied());
            list[at_once..].iter().for_each(|reach| tree.push(*reach));
            for at in removed {
                if let Some(reach) = list.get_mut(at) {
                    *reach = SizeReach::NONE;
                    tree.remove(at);
                }
            }
            prop_assert_eq!(tree.len(), list.len());
            for (from, size, most) in probes {
                let probe = SizeReach { size, most };
                let scanned = (from..list.len()).find(|at| list[*at].admits(probe));
                prop_assert_eq!(tree.next(from, probe), scanned);
            }
        }
    }

    #[test]
    fn two_sets_of_crowds_are_not_compared_by_key() {
        let [crowd, alone] = [SizeReach::CROWD, SizeReach::ALONE].map(SizeReach::of_key);
        assert!(crowd.admits(alone) && alone.admits(crowd) && alone.admits(alone));
        assert!(!crowd.admits(crowd));
    }

    #[test]
    fn places_of_a_template_admit_nothing_below_the_threshold() {
        // 30 elements of 100 are a document's own, and then 18.
        let threshold = Threshold::new(0.8).unwrap();
        assert!(SizeReach::at(threshold, 100, 30).most < 100);
        assert!(SizeReach::at(threshold, 100, 18).most < 100);
        assert!(SizeReach::at(threshold, 100, 11).most >= 100);
    }
}
