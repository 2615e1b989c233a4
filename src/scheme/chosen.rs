//! The scheme that a collection's settings choose.

use super::{Bands, Key, Kind, ProbePlan, SchemeSettings, Threshold};
use crate::sketch::SketchSettings;

/// What a collection files sets under, and how it looks them up.
#[derive(Clone, Debug)]
pub enum Scheme {
    /// Minhash LSH, of bands or of random rows.
    Bands(Bands),
}

impl Scheme {
    /// # Panics
    /// If the settings have [`SchemeSettings::faults`] or [`SketchSettings::faults`].
    #[must_use]
    pub fn new(scheme: &SchemeSettings, sketch: &SketchSettings) -> Self {
        match scheme.kind {
            Kind::Bands | Kind::RandomRows => Self::Bands(Bands::new(scheme, sketch)),
        }
    }

    /// How many tables the keys have.
    #[must_use]
    pub fn tables(&self) -> u32 {
        match self {
            Self::Bands(bands) => bands.bands,
        }
    }

    /// The value of a sketch's key in one table; `None` for a sketch that has none there.
    #[must_use]
    #[inline]
    pub fn value(&self, sketch: &[u8], table: u32) -> Option<u32> {
        match self {
            Self::Bands(bands) => Some(bands.value(sketch, table)),
        }
    }

    /// A sketch's keys in the first `tables` tables, in their order: one in each at most.
    pub fn keys<'a>(&'a self, sketch: &'a [u8], tables: u32) -> impl Iterator<Item = Key> + 'a {
        let key = |table| Some(Key { table, value: self.value(sketch, table)? });
        (0..tables.min(self.tables())).filter_map(key)
    }

    /// A sketch's keys in all tables.
    pub fn all_keys<'a>(&'a self, sketch: &'a [u8]) -> impl Iterator<Item = Key> + 'a {
        self.keys(sketch, u32::MAX)
    }

    /// The tables in which two sketches have the same key.
    pub fn tables_shared<'a>(&'a self, a: &'a [u8], b: &'a [u8]) -> impl Iterator<Item = u32> + 'a {
        let both = self.all_keys(a).filter(|key| self.value(b, key.table) == Some(key.value));
        both.map(|key| key.table)
    }

    /// How a lookup at this threshold goes. Asking again costs next to nothing.
    #[must_use]
    pub fn plan(&self, threshold: Threshold) -> ProbePlan {
        match self {
            Self::Bands(bands) => bands.plan(threshold),
        }
    }

    /// The chance that a lookup at the threshold finds a set of a given resemblance.
    #[must_use]
    pub fn probability_found(&self, similarity: f64, threshold: Threshold) -> f64 {
        match self {
            Self::Bands(bands) => bands.probability_found(similarity, &bands.plan(threshold)),
        }
    }

    /// The bands, where there are any: what a [`super::Curve`] is of.
    #[must_use]
    pub fn bands(&self) -> Option<&Bands> {
        match self {
            Self::Bands(bands) => Some(bands),
        }
    }
}
