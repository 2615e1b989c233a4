//! Crowds: keys with so many sets that these are not compared pair by pair.
//!
//! Documents made from a template share keys in great numbers. Their own elements decide which of
//! them are near-duplicates. So their sets are compared by their rarest elements, with bounds that
//! skip the elements of the template ([`super::reach`]). All pairs of two sets of crowds are found
//! in that way.

use super::counts::SPREAD;
use super::keys::KeyOf;
use super::{JoinError, JoinProgress, Sets, Stage};

/// The maximum number of sets with a key that are compared because they share the key.
const MEMBERS_MAX: u16 = if cfg!(test) { 6 } else { 32 };

const CELLS_MIN: usize = 1 << 10;

/// The maximum average number of sets in a cell: far fewer than [`MEMBERS_MAX`].
const CELL_SETS: usize = 8;

/// The keys of crowds, and the sets with a key of a crowd.
#[derive(Debug)]
pub(super) struct Crowds {
    /// The number of sets with a key in each cell. There are many cells, so if many sets are in a
    /// cell, most of them have the same key. If their keys differ, they are compared by their
    /// elements without need.
    cells: Vec<u16>,
    shift: u32,
    /// A bit for each set.
    sets: Vec<u64>,
    is_empty: bool,
}

impl Crowds {
    /// Reads the sketches twice.
    ///
    /// # Errors
    /// [`JoinError::Stopped`], and errors of reading the sketches.
    pub fn of<S: Sets>(
        tables: u32,
        value: &KeyOf<'_>,
        sets: &mut S,
        progress: &JoinProgress,
    ) -> Result<Self, JoinError<S::Error>> {
        let count = sets.count() as usize;
        let cells = (count * tables as usize / CELL_SETS).next_power_of_two().max(CELLS_MIN);
        let (cells, shift) = (vec![0; cells], u64::BITS - cells.ilog2());
        let bits = count.div_ceil(64);
        let mut crowds = Self { cells, shift, sets: vec![0; bits], is_empty: true };
        progress.begin(Stage::Counting, 2 * u64::from(sets.count()));
        for number in 0..sets.count() {
            let sketch = sets.sketch(number).map_err(JoinError::Sets)?;
            for table in 0..tables {
                if let Some(key) = value(sketch, table) {
                    let cell = crowds.cell(table, key);
                    let members = &mut crowds.cells[cell];
                    *members = members.saturating_add(1);
                }
            }
            progress.advance(1)?;
        }
        if crowds.cells.iter().all(|members| *members <= MEMBERS_MAX) {
            crowds.cells = Vec::new();
            return Ok(crowds);
        }
        for number in 0..sets.count() {
            let sketch = sets.sketch(number).map_err(JoinError::Sets)?;
            let is_crowd = |table| value(sketch, table).is_some_and(|key| crowds.is(table, key));
            if (0..tables).any(is_crowd) {
                crowds.sets[number as usize / 64] |= 1 << (number % 64);
                crowds.is_empty = false;
            }
            progress.advance(1)?;
        }
        Ok(crowds)
    }

    #[inline]
    fn cell(&self, table: u32, key: u32) -> usize {
        let place = u64::from(table) << 32 | u64::from(key);
        // Multiplies twice, because keys may be small numbers.
        let spread = place.wrapping_mul(SPREAD);
        ((spread ^ spread >> 32).wrapping_mul(SPREAD) >> self.shift) as usize
    }

    /// Whether this is a key of a crowd.
    #[inline]
    pub fn is(&self, table: u32, key: u32) -> bool {
        !self.cells.is_empty() && self.cells[self.cell(table, key)] > MEMBERS_MAX
    }

    /// Whether a set has a key of a crowd.
    #[inline]
    pub fn has(&self, set: u32) -> bool {
        !self.is_empty && self.sets[set as usize / 64] & 1 << (set % 64) != 0
    }

    pub fn is_empty(&self) -> bool {
        self.is_empty
    }
}
