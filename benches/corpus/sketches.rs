//! Made-up sketches: families of five, of which each agrees with the family's first in four slots
//! of five.

use akin::sketch::Sketch;

use super::random::Random;

const FAMILY: u64 = 5;

/// Sixteen slots from two random numbers: values from one, and which of them differ from the
/// family's from the other.
pub fn made_up(number: u64) -> Sketch {
    let mut of_family = Random(number / FAMILY);
    let mut own = Random(!number);
    let mut slots = Vec::with_capacity(128);
    for _ in 0..16 {
        let (first, other) = (of_family.next().to_le_bytes(), own.next().to_le_bytes());
        let differs = own.next().to_le_bytes();
        let differs = |at: usize| !number.is_multiple_of(FAMILY) && differs[at] < 51;
        slots.extend((0..8).map(|at| if differs(at) { other[at] } else { first[at] }));
    }
    Sketch::from_bytes(slots.into())
}
