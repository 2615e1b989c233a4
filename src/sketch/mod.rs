//! Set → sketch; what two sketches say of their sets' resemblance.

use serde::{Deserialize, Serialize};

use crate::text::ShingleSet;

/// How sets are sketched. Decides what is stored: fixed for a collection's life.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SketchSettings {
    /// Slots of a sketch: 16..=1024, a multiple of 4.
    pub slots: u32,
    /// Bits kept of each slot: 8, 16 or 32.
    pub bits: u32,
    pub seed: u64,
    pub method: Method,
}

impl Default for SketchSettings {
    fn default() -> Self {
        Self { slots: 128, bits: 8, seed: 0, method: Method::Fast }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    Fast,
    Permutations,
}

/// The slots of one set, each little-endian in `bits / 8` bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sketch(Box<[u8]>);

impl Sketch {
    /// Takes the bytes of a sketch that was made earlier with the same settings.
    #[must_use]
    pub fn from_bytes(bytes: Box<[u8]>) -> Self {
        Self(bytes)
    }

    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Makes sketches.
#[derive(Clone, Debug)]
pub struct Sketcher {
    _settings: SketchSettings,
}

impl Sketcher {
    #[must_use]
    pub fn new(settings: SketchSettings) -> Self {
        Self { _settings: settings }
    }

    #[must_use]
    pub fn sketch(&self, _set: &ShingleSet) -> Sketch {
        todo!()
    }
}

/// Compares sketches made with one [`SketchSettings`].
#[derive(Clone, Copy, Debug)]
pub struct Estimator {
    _slots: u32,
    _bits: u32,
}

impl Estimator {
    #[must_use]
    pub fn new(settings: &SketchSettings) -> Self {
        Self { _slots: settings.slots, _bits: settings.bits }
    }

    /// How many slots of two sketches (as bytes, of equal length) agree.
    #[must_use]
    pub fn agreeing(&self, _a: &[u8], _b: &[u8]) -> u32 {
        todo!()
    }

    #[must_use]
    pub fn estimate(&self, _agreeing: u32) -> Estimate {
        todo!()
    }
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
