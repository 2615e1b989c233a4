//! Compares a sketch with many sketches that lie one after another in memory.

use std::ops::AddAssign;

use super::{Level, Loop};

/// Slots that are compared side by side.
const LANES: usize = 32;

/// Finds the sketches among `sketches` that agree with a sketch of the same length in `least` slots
/// or more: at most 1,024 slots of `slot_bytes` (1, 2 or 4) bytes each. Writes the place of each
/// and the number of its agreeing slots to `found`, in their order, and returns their count.
///
/// # Panics
/// If `found` is shorter than `sketches` has sketches.
pub fn find_agreeing(
    level: Level,
    slot_bytes: usize,
    sketch: &[u8],
    sketches: &[u8],
    least: u32,
    found: &mut [(u16, u16)],
) -> usize {
    assert!(found.len() >= sketches.len() / sketch.len().max(1), "room for every sketch");
    let least = u16::try_from(least).unwrap_or(u16::MAX);
    match slot_bytes {
        1 => level.run(Slots::<1> { sketch, sketches, least, found }),
        2 => level.run(Slots::<2> { sketch, sketches, least, found }),
        _ => level.run(Slots::<4> { sketch, sketches, least, found }),
    }
}

struct Slots<'a, const BYTES: usize> {
    sketch: &'a [u8],
    sketches: &'a [u8],
    least: u16,
    found: &'a mut [(u16, u16)],
}

impl<const BYTES: usize> Loop for Slots<'_, BYTES> {
    type Output = usize;

    #[inline(always)]
    fn run(self) -> usize {
        let mut count = 0;
        for (place, other) in self.sketches.chunks_exact(self.sketch.len()).enumerate() {
            // A lane of bytes counts to 32 at most, so it does not overflow.
            let agreeing = match BYTES {
                1 => agreeing::<u8, BYTES>(self.sketch, other),
                _ => agreeing::<u16, BYTES>(self.sketch, other),
            };
            // Without a branch, which would often be predicted wrong.
            self.found[count] = (place as u16, agreeing);
            count += usize::from(agreeing >= self.least);
        }
        count
    }
}

/// `C`: the type of the counts of the lanes.
#[inline(always)]
fn agreeing<C, const BYTES: usize>(a: &[u8], b: &[u8]) -> u16
where
    C: Copy + Default + AddAssign + From<bool> + Into<u16>,
{
    let (a, a_rest) = a.as_chunks::<BYTES>().0.as_chunks::<LANES>();
    let (b, b_rest) = b.as_chunks::<BYTES>().0.as_chunks::<LANES>();
    let mut counts = [C::default(); LANES];
    for (a, b) in a.iter().zip(b) {
        for ((count, a), b) in counts.iter_mut().zip(a).zip(b) {
            *count += C::from(a == b);
        }
    }
    let mut sum = 0;
    for count in counts {
        sum += count.into();
    }
    for (a, b) in a_rest.iter().zip(b_rest) {
        sum += u16::from(a == b);
    }
    sum
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_level_finds_the_sketches_that_agree(
            slots in (4..=32_usize).prop_map(|fours| 4 * fours),
            slot_bytes in prop::sample::select(vec![1, 2, 4]),
            sketches in 0..40_usize,
            least in 0..60_u32,
            seed in any::<u64>(),
        ) {
            // Few values, so that slots agree in some of their bytes, in all or in none.
            let byte = |at: usize| (seed.rotate_left(at as u32 * 7) as usize + at * at) as u8 % 3;
            let bytes: Vec<u8> = (0..(sketches + 1) * slots * slot_bytes).map(byte).collect();
            let (sketch, others) = bytes.split_at(slots * slot_bytes);
            let agreeing = |other: &[u8]| {
                let pairs = sketch.chunks(slot_bytes).zip(other.chunks(slot_bytes));
                pairs.filter(|(a, b)| a == b).count() as u16
            };
            let all = (0..).zip(others.chunks(slots * slot_bytes).map(agreeing));
            let expected: Vec<(u16, u16)> =
                all.filter(|(_, agreeing)| u32::from(*agreeing) >= least).collect();
            for level in Level::available() {
                let mut found = vec![(0, 0); sketches];
                let count = find_agreeing(level, slot_bytes, sketch, others, least, &mut found);
                prop_assert_eq!(&found[..count], &expected);
            }
        }
    }

    #[test]
    fn the_largest_sketches_are_counted() {
        for slot_bytes in [1, 2, 4] {
            let bytes = vec![7; 2 * 1_024 * slot_bytes];
            let one = &bytes[..1_024 * slot_bytes];
            for level in Level::available() {
                let mut found = [(0, 0); 2];
                assert_eq!(find_agreeing(level, slot_bytes, one, &bytes, 1_024, &mut found), 2);
                assert_eq!(found, [(0, 1_024), (1, 1_024)]);
                assert_eq!(find_agreeing(level, slot_bytes, one, &bytes, 1_025, &mut found), 0);
            }
        }
    }
}
