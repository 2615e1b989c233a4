//! Exact measures of two sets.

use crate::text::ShingleSet;

/// How two sets overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overlap {
    pub shared: usize,
    pub a: usize,
    pub b: usize,
}

impl Overlap {
    #[must_use]
    pub fn of(_a: &ShingleSet, _b: &ShingleSet) -> Self {
        todo!()
    }

    #[must_use]
    pub fn union(&self) -> usize {
        self.a + self.b - self.shared
    }

    /// Jaccard similarity |A∩B| / |A∪B|, 0..=1.
    #[must_use]
    pub fn resemblance(&self) -> f64 {
        todo!()
    }

    /// |A∩B| / |A|.
    #[must_use]
    pub fn containment_of_a(&self) -> f64 {
        todo!()
    }

    /// |A∩B| / |B|.
    #[must_use]
    pub fn containment_of_b(&self) -> f64 {
        todo!()
    }
}
