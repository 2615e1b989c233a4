//! Reach: which sets can still be a pair with a set, given the position of an element that they
//! share.
//!
//! Let an element be the first that two sets share. Then they share at most this element and the
//! elements after it, which bounds the size of the larger set. An element *admits* two sets that
//! have it if each is small enough for the other. This is
//! [`crate::scheme::ElementPosition::admits`], split into a number for each set. The first shared
//! element of a pair always admits it.
//!
//! In documents with enough words of their own, the elements of the template come last. These
//! elements admit only sets that are smaller than the documents, so no two of the documents are
//! compared.

use crate::measure::Overlap;
use crate::scheme::Threshold;

/// The reach of a set at an element or a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reach {
    pub size: u32,
    /// The size of the largest set that can be a pair with this set.
    pub most: u32,
}

impl Reach {
    /// Admits nothing.
    pub const NONE: Self = Self { size: u32::MAX, most: 0 };

    /// The reach of a set in a bucket of a key: [`Self::CROWD`] admits [`Self::ALONE`] only,
    /// because two sets of crowds are compared by their elements.
    #[inline]
    pub fn of_key(most: u32) -> Self {
        Self { size: Self::CROWD + Self::ALONE - most, most }
    }

    /// `most` of a set with the key of a crowd.
    pub const CROWD: u32 = 1;
    /// `most` of a set without the key of a crowd.
    pub const ALONE: u32 = 2;

    /// Whether two sets can be a pair.
    #[inline]
    pub fn admits(self, other: Self) -> bool {
        self.most >= other.size && other.most >= self.size
    }

    /// The weaker of both bounds: it admits every set that one of the two admits.
    #[inline]
    fn or(self, other: Self) -> Self {
        Self { size: self.size.min(other.size), most: self.most.max(other.most) }
    }
}

/// The size of the largest set that can be a pair with a set of `size` elements if the first
/// element that they share is at `position` from 0; 0 if no set can. The estimate of the size is
/// corrected by the arithmetic of [`Overlap`], so that rounding loses no pair.
pub(super) fn most(threshold: Threshold, size: u32, position: u32) -> u32 {
    let (size, shared) = (size as usize, (size - position) as usize);
    let reaches =
        |other: usize| Overlap { shared, a: size, b: other }.resemblance() >= threshold.get();
    let union = shared as f64 / threshold.get();
    let mut most = ((union as usize + shared).saturating_sub(size)).clamp(shared, LARGEST);
    while most < LARGEST && reaches(most + 1) {
        most += 1;
    }
    while most >= shared && !reaches(most) {
        most -= 1;
    }
    if most < shared { 0 } else { most as u32 }
}

/// Sets have fewer elements.
const LARGEST: usize = u32::MAX as usize;

/// Finds the admitted sets of a list in its order. A node admits a set if any leaf below it may, so
/// halves, quarters and so on of the list without admitted sets are skipped.
#[derive(Debug, Default)]
pub(super) struct ReachTree {
    /// The node n bounds the nodes 2n and 2n + 1; the list is the second half.
    nodes: Vec<Reach>,
    len: usize,
}

impl ReachTree {
    /// Replaces the list.
    pub fn fill(&mut self, list: impl ExactSizeIterator<Item = Reach>) {
        self.len = list.len();
        let leaves = self.len.next_power_of_two();
        self.nodes.clear();
        self.nodes.resize(2 * leaves, Reach::NONE);
        for (leaf, reach) in self.nodes[leaves..].iter_mut().zip(list) {
            *leaf = reach;
        }
        for node in (1..leaves).rev() {
            self.nodes[node] = self.nodes[2 * node].or(self.nodes[2 * node + 1]);
        }
    }

    /// Appends to the list.
    pub fn push(&mut self, reach: Reach) {
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
        self.nodes[node] = Reach::NONE;
        while node > 1 {
            node /= 2;
            self.nodes[node] = self.nodes[2 * node].or(self.nodes[2 * node + 1]);
        }
    }

    /// The first entry at `from` or later that this set admits.
    #[inline]
    pub fn next(&self, from: usize, of: Reach) -> Option<usize> {
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
    use crate::scheme::ElementPosition;

    proptest! {
        #[test]
        fn reaches_admit_what_positions_admit(
            a in (1..300_u32, 0..300_u32),
            b in (1..300_u32, 0..300_u32),
            threshold in prop_oneof![0.001..=1.0_f64, Just(0.5), Just(0.8), Just(1.0)],
        ) {
            let threshold = Threshold::new(threshold).unwrap();
            let [a, b] = [a, b].map(|(size, position)| (size, position % size));
            let place = |(size, at): (u32, u32)| ElementPosition::new(at as usize, size as usize);
            let reach = |(size, at)| Reach { size, most: most(threshold, size, at) };
            let expected = place(a).admits(place(b), threshold);
            prop_assert_eq!(reach(a).admits(reach(b)), expected);
        }

        #[test]
        fn a_tree_finds_what_a_scan_finds(
            list in vec((1..30_u32, 1..30_u32), 0..70),
            pushed in 0..70_usize,
            removed in vec(0..70_usize, 0..20),
            probes in vec((0..70_usize, 1..30_u32, 1..30_u32), 1..10),
        ) {
            let reach = |(size, most)| Reach { size, most };
            let mut list: Vec<Reach> = list.into_iter().map(reach).collect();
            let at_once = list.len().saturating_sub(pushed);
            let mut tree = ReachTree::default();
            tree.fill(list[..at_once].iter().copied());
            list[at_once..].iter().for_each(|reach| tree.push(*reach));
            for at in removed {
                if let Some(reach) = list.get_mut(at) {
                    *reach = Reach::NONE;
                    tree.remove(at);
                }
            }
            prop_assert_eq!(tree.len(), list.len());
            for (from, size, most) in probes {
                let probe = Reach { size, most };
                let scanned = (from..list.len()).find(|at| list[*at].admits(probe));
                prop_assert_eq!(tree.next(from, probe), scanned);
            }
        }
    }

    #[test]
    fn two_sets_of_crowds_are_not_compared_by_key() {
        let [crowd, alone] = [Reach::CROWD, Reach::ALONE].map(Reach::of_key);
        assert!(crowd.admits(alone) && alone.admits(crowd) && alone.admits(alone));
        assert!(!crowd.admits(crowd));
    }

    #[test]
    fn places_of_a_template_admit_nothing_below_the_threshold() {
        // 30 elements of 100 are a document's own, and then 18.
        let threshold = Threshold::new(0.8).unwrap();
        assert!(most(threshold, 100, 30) < 100);
        assert!(most(threshold, 100, 18) < 100);
        assert!(most(threshold, 100, 11) >= 100);
    }
}
