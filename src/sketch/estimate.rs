//! What the agreeing slots of two sketches say of the resemblance of their sets.

use super::SketchSettings;

/// The standard normal quantile of a two-sided 95 % interval.
const Z_95: f64 = 1.959_963_984_540_054;

/// Bytes compared side by side; each lane counts its own, and at most 1024 / 16 of them.
const LANES: usize = 16;

/// Compares sketches made with one [`SketchSettings`].
#[derive(Clone, Copy, Debug)]
pub struct Estimator {
    slots: u32,
    bits: u32,
}

/// An estimate of resemblance from the slots that agree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// 0..=1, accidental agreements of b-bit slots taken out.
    pub value: f64,
    pub standard_error: f64,
    /// The 95 % Wilson interval, accidents taken out.
    pub interval: (f64, f64),
    pub agreeing: u32,
    pub slots: u32,
}

impl Estimator {
    #[must_use]
    pub fn new(settings: &SketchSettings) -> Self {
        Self { slots: settings.slots, bits: settings.bits }
    }

    /// How many slots of two sketches (as bytes, of equal length) agree.
    #[must_use]
    pub fn agreeing(&self, a: &[u8], b: &[u8]) -> u32 {
        match self.bits {
            8 => agreeing_bytes(a, b),
            16 => agreeing_slots::<2>(a, b),
            _ => agreeing_slots::<4>(a, b),
        }
    }

    /// The resemblance of two sets of whose sketches `agreeing` slots agree.
    ///
    /// Two b-bit slots also agree by accident, one time in 2ᵇ (Li and König, "b-bit minwise
    /// hashing", 2010): of slots that hold different shingles, c = 2⁻ᵇ are seen to agree.
    #[must_use]
    pub fn estimate(&self, agreeing: u32) -> Estimate {
        let slots = f64::from(self.slots);
        let share = f64::from(agreeing) / slots;
        let (low, high) = wilson_interval(share, slots);
        Estimate {
            value: self.without_accidents(share),
            standard_error: (share * (1.0 - share) / slots).sqrt() / (1.0 - self.accidents()),
            interval: (self.without_accidents(low), self.without_accidents(high)),
            agreeing,
            slots: self.slots,
        }
    }

    /// The chance that two slots which hold different shingles agree.
    fn accidents(&self) -> f64 {
        (-f64::from(self.bits)).exp2()
    }

    fn without_accidents(&self, share: f64) -> f64 {
        let accidents = self.accidents();
        ((share - accidents) / (1.0 - accidents)).clamp(0.0, 1.0)
    }
}

/// The 95 % interval of a share seen in `trials` (E. B. Wilson 1927). Other than the usual ± it
/// stays sensible near 0 and 1, where near-duplicates are.
fn wilson_interval(share: f64, trials: f64) -> (f64, f64) {
    let z2 = Z_95 * Z_95;
    let middle = share + z2 / (2.0 * trials);
    let spread = Z_95 * (share * (1.0 - share) / trials + z2 / (4.0 * trials * trials)).sqrt();
    let scale = 1.0 + z2 / trials;
    ((middle - spread) / scale, (middle + spread) / scale)
}

/// Counts in lanes of a byte, which compilers turn into vector instructions.
fn agreeing_bytes(a: &[u8], b: &[u8]) -> u32 {
    let (a_chunks, a_rest) = a.as_chunks::<LANES>();
    let (b_chunks, b_rest) = b.as_chunks::<LANES>();
    let mut lanes = [0_u8; LANES];
    for (a, b) in a_chunks.iter().zip(b_chunks) {
        for lane in 0..LANES {
            lanes[lane] += u8::from(a[lane] == b[lane]);
        }
    }
    lanes.iter().map(|&count| u32::from(count)).sum::<u32>() + agreeing_slots::<1>(a_rest, b_rest)
}

fn agreeing_slots<const BYTES: usize>(a: &[u8], b: &[u8]) -> u32 {
    let slots = a.as_chunks::<BYTES>().0.iter().zip(b.as_chunks::<BYTES>().0);
    slots.map(|(a, b)| u32::from(a == b)).sum()
}
