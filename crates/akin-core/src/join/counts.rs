//! Approximate document frequencies of elements, and the elements of a set by ascending frequency.

use super::{JoinError, JoinProgress, Sets, Stage};

/// Maximum number of cells: 128 MiB.
const CELLS_BITS_MAX: u32 = 26;
const CELLS_BITS_MIN: u32 = 10;

/// 2⁶⁴ divided by the golden ratio: spreads elements over the cells, even if all are 0 modulo some
/// number.
pub(super) const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Counts below this have a class each.
const EXACT_CLASSES: u16 = 64;

const CLASSES: usize = 256;

/// The approximate number of sets with each element: a cell counts all elements that hash to it.
/// Any order of elements is correct; rarest first is fast.
#[derive(Debug)]
pub(super) struct ElementCounts {
    cells: Vec<u16>,
    shift: u32,
}

impl ElementCounts {
    /// Counts the elements of the sets for which `is_counted` holds.
    pub fn of<S: Sets>(
        sets: &mut S,
        is_counted: impl Fn(u32) -> bool,
        progress: &JoinProgress,
    ) -> Result<Self, JoinError<S::Error>> {
        let counted = (0..sets.count()).filter(|number| is_counted(*number));
        let elements: usize = counted.clone().map(|number| sets.shingles(number)).sum();
        let bits = elements.next_power_of_two().ilog2().clamp(CELLS_BITS_MIN, CELLS_BITS_MAX);
        let mut counts = Self { cells: vec![0; 1 << bits], shift: 64 - bits };
        progress.begin(Stage::Counting, counted.clone().count() as u64);
        for number in (0..sets.count()).filter(|number| is_counted(*number)) {
            let set = sets.set(number).map_err(JoinError::Sets)?;
            for &element in set.as_slice() {
                let cell = counts.cell(element);
                counts.cells[cell] = counts.cells[cell].saturating_add(1);
            }
            progress.advance(1)?;
        }
        Ok(counts)
    }

    fn cell(&self, element: u64) -> usize {
        (element.wrapping_mul(SPREAD) >> self.shift) as usize
    }

    /// Writes the class of each element of a set into `classes`.
    pub fn classify(&self, set: &[u64], classes: &mut Vec<u8>) {
        classes.clear();
        classes.extend(set.iter().map(|&element| class(self.cells[self.cell(element)])));
    }
}

/// Classes ascend with the counts: each count up to 64 has a class, then each doubling has 16.
fn class(count: u16) -> u8 {
    if count < EXACT_CLASSES {
        return count as u8;
    }
    let doublings = count.ilog2();
    let sixteenth = (count >> (doublings - 4)) & 15;
    (EXACT_CLASSES + (doublings as u16 - 6) * 16 + sixteenth) as u8
}

/// Visits the first `len` elements of a set by class, then by value, each with its position from 0.
/// A counting sort, so visits are not in that order. Elements of a single set are skipped, but have
/// positions.
pub(super) fn rarest(set: &[u64], classes: &[u8], len: usize, mut visit: impl FnMut(u64, u32)) {
    let mut next = [0_u32; CLASSES];
    for class in classes {
        next[*class as usize] += 1;
    }
    let mut before = 0;
    for next in &mut next {
        (*next, before) = (before, before + *next);
    }
    for (&element, &class) in set.iter().zip(classes) {
        let position = &mut next[class as usize];
        if class > 1 && (*position as usize) < len {
            visit(element, *position);
        }
        *position += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_ascend_with_the_counts() {
        let classes: Vec<u8> = (0..=u16::MAX).map(class).collect();
        assert!(classes.is_sorted());
        assert!(classes[..65].iter().copied().eq(0..65));
        assert_eq!((classes[127], classes[128], classes[u16::MAX as usize]), (79, 80, 223));
    }

    #[test]
    fn rare_elements_come_first_and_then_the_least() {
        let mut found = Vec::new();
        let set = [10, 20, 30, 40, 50, 60];
        rarest(&set, &[9, 2, 1, 9, 2, 7], 5, |element, position| found.push((position, element)));
        found.sort_unstable();
        assert_eq!(found, [(1, 20), (2, 50), (3, 60), (4, 10)]);
    }
}
