//! The keys under which sets meet: those of a scheme, or their rarest elements.
//!
//! The latter are the prefix filter with bounds on size and position (R. Bayardo, Y. Ma, R.
//! Srikant, "Scaling up all pairs similarity search", 2007; C. Xiao et al., "Efficient similarity
//! joins for near duplicate detection", 2008). The bounds are those of online lookups,
//! [`prefix_len`] and [`ElementPosition::admits`]. Unlike online, elements are ordered by counts
//! over all sets instead of a sample.

use std::ops::Range;

use super::counts::{Counts, SPREAD, rarest};
use super::{JoinError, Sets};
use crate::scheme::{ElementPosition, Threshold, prefix_len};

/// The key of a sketch in a table, if it has one.
type KeyOf<'k> = dyn Fn(&[u8], u32) -> Option<u32> + 'k;

pub(super) enum Filing<'k> {
    Keys {
        /// Number of keys per set, each in its own table.
        tables: u32,
        value: Box<KeyOf<'k>>,
    },
    /// One table, whose keys are elements. They miss no pair.
    Prefixes { threshold: Threshold, counts: Counts },
}

/// Where a set is filed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Filed {
    pub table: u32,
    pub key: u32,
    /// Position of the shared element in the set, from the rarest; 0 for the keys of a scheme.
    pub position: u32,
}

impl Filing<'_> {
    pub fn tables(&self) -> u32 {
        match self {
            Self::Keys { tables, .. } => *tables,
            Self::Prefixes { .. } => 1,
        }
    }

    /// Visits the keys of a set in these tables.
    ///
    /// # Errors
    /// Errors of reading the set.
    pub fn visit<S: Sets>(
        &self,
        number: u32,
        tables: Range<u32>,
        sets: &mut S,
        mut visit: impl FnMut(Filed),
    ) -> Result<(), JoinError<S::Error>> {
        match self {
            Self::Keys { value, .. } => {
                let sketch = sets.sketch(number).map_err(JoinError::Sets)?;
                for table in tables {
                    if let Some(key) = value(sketch, table) {
                        visit(Filed { table, key, position: 0 });
                    }
                }
            }
            Self::Prefixes { threshold, counts } => {
                let set = sets.set(number).map_err(JoinError::Sets)?;
                let mut classes = Vec::new();
                counts.classify(set.as_slice(), &mut classes);
                let len = prefix_len(*threshold, set.count());
                rarest(set.as_slice(), &classes, len, |element, position| {
                    visit(Filed { table: 0, key: fold(element), position });
                });
            }
        }
        Ok(())
    }

    /// Whether two sets that share a key may be a pair, by their sizes and the positions of the
    /// shared element. The first element that a pair shares always admits it.
    #[inline]
    pub fn admits(&self, a: (u32, usize), b: (u32, usize)) -> bool {
        let position =
            |(position, size): (u32, usize)| ElementPosition::new(position as usize, size);
        match self {
            Self::Keys { .. } => true,
            Self::Prefixes { threshold, .. } => position(a).admits(position(b), *threshold),
        }
    }
}

/// Folds an element to 32 bits. A collision costs a comparison, and loses no pair.
fn fold(element: u64) -> u32 {
    (element.wrapping_mul(SPREAD) >> 32) as u32
}
