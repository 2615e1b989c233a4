//! MinHash LSH: keys of a few slots each.

use std::sync::Arc;

use quick_cache::sync::Cache;
use xxhash_rust::xxh3::xxh3_64;

use crate::sketch::SketchSettings;

use super::random_rows::draw;
use super::tuner::{ProbePlan, Tuner};
use super::{Kind, ROWS_MAX, SchemeSettings, Threshold};

/// The maximum number of rows of a band by default. Fewer rows give more false positives; more rows
/// would not reach the wanted recall at thresholds below the default threshold.
const ROWS_USUAL_MAX: u32 = 4;

/// The maximum number of cached plans; each recently used threshold has a plan.
const PLANS_MAX: usize = 256;

/// Keys and rows of [`Kind::RandomRows`] by default.
const RANDOM_BANDS_USUAL: u32 = 125;
const RANDOM_ROWS_USUAL: u32 = 3;

/// A key of the index: a value in a table of the scheme (each band has a table).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// The number of the table.
    pub table: u32,
    /// The value in the table.
    pub value: u32,
}

/// MinHash LSH: `bands` keys of `rows` slots, consecutive or drawn at random (Indyk and Motwani
/// 1998; Broder 1997). Sets of resemblance s share a given key with a chance of at least sʳ.
#[derive(Clone, Debug)]
pub struct Bands {
    /// The number of keys that a sketch is indexed under.
    pub bands: u32,
    /// The number of keys that a sketch has; more than `bands` with
    /// [`SchemeSettings::threshold_min`].
    keys_made: u32,
    /// The number of slots of a key.
    pub rows: u32,
    slot_bytes: usize,
    sketch_bytes: usize,
    slots: KeySlots,
    tuner: Tuner,
    /// Keyed by the bits of the threshold.
    plans: Arc<Cache<u64, ProbePlan>>,
}

/// The slots of a sketch that make each key.
#[derive(Clone, Debug)]
enum KeySlots {
    Consecutive,
    /// `rows` slots per key.
    Drawn(Arc<[u16]>),
}

impl Bands {
    /// # Panics
    /// If the settings have [`SchemeSettings::faults`] or [`SketchSettings::faults`].
    pub fn new(scheme: &SchemeSettings, sketch: &SketchSettings) -> Self {
        assert!(sketch.faults().is_empty(), "{:?}", sketch.faults());
        assert!(scheme.faults(sketch).is_empty(), "{:?}", scheme.faults(sketch));
        let tuner = Tuner::new(scheme, sketch);
        let (bands, rows, slots, tuner) = if scheme.kind == Kind::RandomRows {
            let bands = scheme.bands.unwrap_or(RANDOM_BANDS_USUAL);
            let rows = scheme.rows.unwrap_or(RANDOM_ROWS_USUAL);
            let drawn = draw(bands, rows, sketch);
            let tuner = tuner.with_drawn(&drawn, rows);
            (bands, rows, KeySlots::Drawn(drawn), tuner)
        } else {
            let rows = scheme.rows.unwrap_or_else(|| Self::most_rows(scheme, sketch, &tuner));
            (scheme.bands.unwrap_or(sketch.slots / rows), rows, KeySlots::Consecutive, tuner)
        };
        let all = Self {
            bands,
            keys_made: bands,
            rows,
            slot_bytes: sketch.slot_bytes(),
            sketch_bytes: sketch.sketch_bytes(),
            slots,
            tuner,
            plans: Arc::new(Cache::new(PLANS_MAX)),
        };
        match scheme.threshold_min {
            Some(least) => Self { bands: all.plan(least).bands, ..all },
            None => all,
        }
    }

    /// The scheme with all keys that a sketch has, for work that needs no index.
    pub(super) fn unindexed(&self) -> Self {
        let plans = match self.bands == self.keys_made {
            true => Arc::clone(&self.plans),
            false => Arc::new(Cache::new(PLANS_MAX)),
        };
        Self { bands: self.keys_made, plans, ..self.clone() }
    }

    /// The most rows with which the configured bands, or else all that fit the sketch, reach the
    /// wanted recall at the lowest threshold that the scheme serves; 1 if none do.
    fn most_rows(scheme: &SchemeSettings, sketch: &SketchSettings, tuner: &Tuner) -> u32 {
        let reaches = |rows: &u32| {
            let bands = scheme.bands.unwrap_or(sketch.slots / rows);
            let fits = bands * rows <= sketch.slots;
            fits && tuner.plan(scheme.served_from(), bands, *rows).expected_recall >= scheme.recall
        };
        (2..=ROWS_USUAL_MAX).rev().find(reaches).unwrap_or(1)
    }

    /// The first `bands` keys of a sketch, in the order of their tables.
    ///
    /// Slots that fit a key are the key; longer rows are hashed to 32 bits. Equal slots have equal
    /// hashes, so hashing cannot lower recall: it only adds false candidates, with probability 2⁻³²
    /// a key.
    #[inline]
    pub fn keys<'a>(&'a self, sketch: &'a [u8], bands: u32) -> impl Iterator<Item = Key> + 'a {
        let tables = 0..bands.min(self.bands);
        tables.map(|table| Key { table, value: self.value(sketch, table) })
    }

    /// The value of a sketch's key in a table.
    #[inline]
    pub fn value(&self, sketch: &[u8], table: u32) -> u32 {
        let first = table as usize * self.rows as usize;
        let rows = first..first + self.rows as usize;
        match &self.slots {
            KeySlots::Consecutive => {
                key_value(&sketch[rows.start * self.slot_bytes..rows.end * self.slot_bytes])
            }
            KeySlots::Drawn(slots) => drawn_value(sketch, &slots[rows], self.slot_bytes),
        }
    }

    /// Probes the fewest keys that reach the wanted recall at this threshold, or all of them. Plans
    /// are cached.
    pub fn plan(&self, threshold: Threshold) -> ProbePlan {
        let by = threshold.get().to_bits();
        if let Some(plan) = self.plans.get(&by) {
            return plan;
        }
        let plan = self.tuner.plan(threshold, self.bands, self.rows);
        self.plans.insert(by, plan);
        plan
    }

    /// Probes all keys, regardless of the wanted recall.
    pub fn plan_all(&self, threshold: Threshold) -> ProbePlan {
        self.tuner.plan_all(threshold, self.bands, self.rows)
    }

    /// Bytes of the sketches that keys are made of.
    pub(super) fn sketch_bytes(&self) -> usize {
        self.sketch_bytes
    }

    /// The probability that sets of a given resemblance share at least one of the first `bands`
    /// keys: for bands the S-curve 1 − (1 − sʳ)ᵇ. Accidental agreements of slots only raise it.
    pub fn probability_candidate(&self, similarity: f64, bands: u32) -> f64 {
        match &self.slots {
            KeySlots::Consecutive => {
                let band_agrees = similarity.powf(f64::from(self.rows));
                1.0 - (1.0 - band_agrees).powf(f64::from(bands))
            }
            KeySlots::Drawn(_) => self.tuner.probability_found(similarity, bands, self.rows, 0),
        }
    }

    /// The probability that sets of a given resemblance are found with a plan: they share a probed
    /// key, and at least `agreeing_min` of their slots agree.
    pub fn probability_found(&self, similarity: f64, plan: &ProbePlan) -> f64 {
        self.tuner.probability_found(similarity, plan.bands, self.rows, plan.agreeing_min)
    }
}

/// Not inlined, like [`other_key_value`], so that the common case stays small enough to be.
#[inline(never)]
fn drawn_value(sketch: &[u8], slots: &[u16], slot_bytes: usize) -> u32 {
    match slot_bytes {
        1 => gathered_value::<1>(sketch, slots),
        2 => gathered_value::<2>(sketch, slots),
        _ => gathered_value::<4>(sketch, slots),
    }
}

fn gathered_value<const SLOT_BYTES: usize>(sketch: &[u8], slots: &[u16]) -> u32 {
    let (sketch, _) = sketch.as_chunks::<SLOT_BYTES>();
    let mut gathered = [[0; SLOT_BYTES]; ROWS_MAX as usize];
    let gathered = &mut gathered[..slots.len()];
    for (place, slot) in gathered.iter_mut().zip(slots) {
        *place = sketch[*slot as usize];
    }
    key_value(gathered.as_flattened())
}

#[inline]
fn key_value(slots: &[u8]) -> u32 {
    match slots.try_into() {
        Ok(band) => u32::from_le_bytes(band),
        Err(_) => other_key_value(slots),
    }
}

/// The value of a key if its slots do not have exactly four bytes.
#[inline(never)]
fn other_key_value(slots: &[u8]) -> u32 {
    if slots.len() > 4 {
        return xxh3_64(slots) as u32;
    }
    let mut padded = [0; 4];
    padded[..slots.len()].copy_from_slice(slots);
    u32::from_le_bytes(padded)
}
