//! The steps of a join, and the bound on unsuccessful comparisons.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

/// The maximum cost of the unsuccessful comparisons of a set in a crowd. The unit is a comparison
/// of two sketches.
const IN_VAIN_MAX: u64 = 1 << 14;

/// The cost of comparing two sets exactly, in the same unit.
const VERIFIED: u64 = 16;

/// The steps of a join.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Steps {
    /// The number of times that a set was considered as a candidate of another set.
    pub visited: u64,
    /// Pairs of sketches that were compared.
    pub compared: u64,
    /// Pairs of sets that were compared.
    pub verified: u64,
}

/// Sets that were not compared with all their candidates, as too many comparisons were in vain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// The number of these sets.
    pub sets: u32,
    /// The numbers of these sets: the lowest [`LeftOut::NAMED_MAX`].
    pub named: BTreeSet<u32>,
    /// One of these sets, and a set that it was not compared with.
    pub example: Option<(u32, u32)>,
}

impl LeftOut {
    /// The number of sets that are named.
    pub const NAMED_MAX: usize = 100;

    /// Notes a set that was not noted before, and a set that it was not compared with.
    pub fn note(&mut self, set: u32, further: u32) {
        self.sets += 1;
        self.example.get_or_insert((set, further));
        self.named.insert(set);
        if self.named.len() > Self::NAMED_MAX {
            self.named.pop_last();
        }
    }
}

/// Counts the steps, and the sets that reach the bound.
#[derive(Debug)]
pub(super) struct Effort {
    steps: Cell<Steps>,
    left_out: RefCell<LeftOut>,
    unsuccessful_max: u64,
}

impl Effort {
    /// Ends the search of a set in a crowd after many unsuccessful comparisons.
    pub fn bounded() -> Self {
        Self { unsuccessful_max: IN_VAIN_MAX, ..Self::unbounded() }
    }

    pub fn unbounded() -> Self {
        Self { steps: Cell::default(), left_out: RefCell::default(), unsuccessful_max: u64::MAX }
    }

    #[cfg(test)]
    pub fn bound(&mut self, unsuccessful_max: u64) {
        self.unsuccessful_max = unsuccessful_max;
    }

    pub fn steps(&self) -> Steps {
        self.steps.get()
    }

    pub fn left_out(&self) -> LeftOut {
        self.left_out.borrow().clone()
    }

    #[inline]
    pub fn add_visited(&self, visited: u64) {
        let steps = self.steps.get();
        self.steps.set(Steps { visited: steps.visited + visited, ..steps });
    }

    #[inline]
    pub fn add_compared(&self) {
        let steps = self.steps.get();
        self.steps.set(Steps { compared: steps.compared + 1, ..steps });
    }

    #[inline]
    pub fn add_verified(&self) {
        let steps = self.steps.get();
        self.steps.set(Steps { verified: steps.verified + 1, ..steps });
    }

    /// The cost of all comparisons, in comparisons of two sketches.
    #[inline]
    pub fn units(&self) -> u64 {
        let Steps { compared, verified, .. } = self.steps.get();
        compared + verified * (VERIFIED - 1)
    }

    /// Whether the cost `unsuccessful` of a set's unsuccessful comparisons has reached the bound.
    /// If so, notes that `set` is not compared with `further`.
    #[inline]
    pub fn ends(&self, unsuccessful: &mut u64, set: u32, further: u32) -> bool {
        if *unsuccessful < self.unsuccessful_max {
            return false;
        }
        // Each set is counted once.
        if *unsuccessful < u64::MAX {
            *unsuccessful = u64::MAX;
            self.left_out.borrow_mut().note(set, further);
        }
        true
    }
}
