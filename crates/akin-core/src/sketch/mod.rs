//! Computes the sketches of sets, and estimates resemblance from two sketches.

mod estimate;
mod fast;
mod fillers;
mod mix;
mod outline;
mod permutations;

pub use estimate::{Estimate, Estimator};
pub use outline::Outline;

use serde::{Deserialize, Serialize};

use crate::simd::{Level, Loop};
use crate::text::{ShingleSet, finalise};

use self::fast::Fast;
use self::mix::Remix;
use self::permutations::Permutations;

const SLOTS_MIN: u32 = 16;
const SLOTS_MAX: u32 = 1024;

/// How the MinHash sketch of a set is computed. Decides the stored data: fixed for the life of a
/// collection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct SketchSettings {
    /// Number of MinHash slots of a sketch; more slots estimate better.
    #[cfg_attr(feature = "schema", schema(minimum = 16, maximum = 1024, multiple_of = 4))]
    pub slots: u32,
    /// Bits kept of each slot: 8, 16 or 32.
    #[cfg_attr(feature = "schema", schema(minimum = 8, maximum = 32))]
    pub bits: u32,
    /// Seed of all hash functions. A collection without a given seed gets a random seed, which is
    /// kept secret: anyone with the seed can make unlike documents look alike.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    pub method: Method,
}

impl SketchSettings {
    /// The faults of these settings, a sentence each, starting with the key's name.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if !(SLOTS_MIN..=SLOTS_MAX).contains(&self.slots) || !self.slots.is_multiple_of(4) {
            let slots = self.slots;
            faults.push(format!(
                "slots must be a multiple of 4 from {SLOTS_MIN} to {SLOTS_MAX}, not {slots}"
            ));
        }
        if ![8, 16, 32].contains(&self.bits) {
            faults.push(format!("bits must be 8, 16 or 32, not {}", self.bits));
        }
        faults
    }

    /// The seed, or 0 where no collection has a secret seed.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed.unwrap_or_default()
    }

    /// Bytes per slot in a sketch.
    pub fn slot_bytes(&self) -> usize {
        self.bits as usize / 8
    }

    /// Bytes per sketch.
    pub fn sketch_bytes(&self) -> usize {
        self.slots as usize * self.slot_bytes()
    }
}

impl Default for SketchSettings {
    fn default() -> Self {
        Self { slots: 128, bits: 8, seed: None, method: Method::Fast32 }
    }
}

/// `fast32`: one-permutation MinHash whose empty slots are filled by 32-bit hashes. `permutations`:
/// textbook MinHash, one hash per shingle and slot, much slower. `foreign`: documents are
/// signatures that clients compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", schema(as = SketchMethod))]
pub enum Method {
    /// A single hash per shingle, regardless of the number of slots; small sets need more hashes,
    /// of 32 bits each.
    Fast32,
    /// A hash per shingle and slot: textbook MinHash.
    Permutations,
    /// Documents are given as signatures, a MinHash value for each slot, all computed with the same
    /// functions. Answers are estimates.
    Foreign,
}

/// The slots of one set, each little-endian in `bits / 8` bytes.
///
/// ```
/// # use akin_core::{ShingleSet, Sketch, Sketcher, sketch::SketchSettings};
/// let set = ShingleSet::from_shingles(vec![1, 2, 3]).unwrap();
/// let sketch = Sketcher::new(SketchSettings::default()).sketch(&set);
/// assert_eq!(sketch.as_bytes().len(), 128);
/// assert_eq!(Sketch::from_bytes(sketch.as_bytes().into()), sketch);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sketch(Box<[u8]>);

impl Sketch {
    /// Takes the bytes of a sketch made with the same settings.
    pub fn from_bytes(bytes: Box<[u8]>) -> Self {
        Self(bytes)
    }

    /// The bytes of the slots.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Makes sketches.
///
/// ```
/// use akin_core::sketch::SketchSettings;
/// use akin_core::{Estimator, ShingleSet, Sketcher};
///
/// let settings = SketchSettings { slots: 256, ..SketchSettings::default() };
/// let sketcher = Sketcher::new(settings.clone());
/// let [a, b] = [0..100, 20..100].map(|range| ShingleSet::from_shingles(range.collect()).unwrap());
/// let estimate = Estimator::new(&settings).compare(&sketcher.sketch(&a), &sketcher.sketch(&b));
/// assert!((estimate.value - 0.8).abs() < 4.0 * estimate.standard_error);
/// ```
#[derive(Clone, Debug)]
pub struct Sketcher {
    settings: SketchSettings,
    remix: Remix,
    minima: Minima,
    level: Level,
}

/// How the minimum of each slot is found.
#[derive(Clone, Debug)]
enum Minima {
    Fast(Fast),
    Permutations(Permutations),
    /// They are not found here.
    Given,
}

impl Sketcher {
    /// # Panics
    /// If the settings have [`SketchSettings::faults`].
    pub fn new(settings: SketchSettings) -> Self {
        assert!(settings.faults().is_empty(), "{:?}", settings.faults());
        let (slots, seed) = (settings.slots, settings.seed());
        let minima = match settings.method {
            Method::Fast32 => Minima::Fast(Fast::new(slots, seed)),
            Method::Permutations => Minima::Permutations(Permutations::new(slots, seed)),
            Method::Foreign => Minima::Given,
        };
        Self { remix: Remix::new(seed), minima, settings, level: Level::best() }
    }

    /// Limits the instructions to a level, for tests and benchmarks. Sketches do not depend on the
    /// level.
    #[must_use]
    pub fn with_level(self, level: Level) -> Self {
        Self { level, ..self }
    }

    /// Bytes per sketch.
    pub fn sketch_bytes(&self) -> usize {
        self.settings.sketch_bytes()
    }

    /// The sketch of a set.
    pub fn sketch(&self, set: &ShingleSet) -> Sketch {
        self.sketch_shingles(set.as_slice())
    }

    /// The sketch of the set of these shingles. Minima do not depend on order or repetition, so the
    /// sketch of a text can be computed without building its set.
    ///
    /// # Panics
    /// If there are no shingles, or the method is [`Method::Foreign`].
    pub fn sketch_shingles(&self, shingles: &[u64]) -> Sketch {
        assert!(!shingles.is_empty(), "no set is empty");
        let minima = match &self.minima {
            Minima::Fast(fast) => fast.minima(shingles, self.remix, self.level),
            Minima::Permutations(permutations) => {
                permutations.minima(shingles, self.remix, self.level)
            }
            Minima::Given => panic!("the sketches of signatures are not made of sets"),
        };
        self.sketch_minima(&minima)
    }

    /// The sketch of a signature: of the minima of the slots.
    pub fn sketch_minima(&self, minima: &[u64]) -> Sketch {
        let mut bytes = vec![0; self.settings.sketch_bytes()].into_boxed_slice();
        match self.settings.bits {
            8 => self.level.run(Keeping::<1> { minima, sketch: &mut bytes }),
            16 => self.level.run(Keeping::<2> { minima, sketch: &mut bytes }),
            _ => self.level.run(Keeping::<4> { minima, sketch: &mut bytes }),
        }
        Sketch(bytes)
    }
}

/// Keeps the low `BYTES` bytes of each minimum after a finaliser. Without a finaliser, the low bits
/// of a minimum depend on its rank, and the low bits of `a * h + b` only on the low bits of h.
struct Keeping<'a, const BYTES: usize> {
    minima: &'a [u64],
    sketch: &'a mut [u8],
}

impl<const BYTES: usize> Loop for Keeping<'_, BYTES> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (slots, _) = self.sketch.as_chunks_mut::<BYTES>();
        for (slot, &minimum) in slots.iter_mut().zip(self.minima) {
            let bytes = finalise(minimum).to_le_bytes();
            *slot = *bytes.first_chunk().expect("a slot is at most half a minimum");
        }
    }
}

#[cfg(test)]
mod golden;
#[cfg(test)]
mod tests;
