//! The scheme of a collection, chosen by the kind in its settings.

use super::{Bands, FieldKeys, Key, Kind, Prefix, ProbePlan, SchemeSettings, Threshold};
use crate::sketch::{Estimator, Sketch, SketchSettings};
use crate::text::ShingleSet;

/// Makes the keys of stored sets and of probes.
#[derive(Clone, Debug)]
pub enum Scheme {
    /// MinHash LSH with bands or random rows.
    Bands(Bands),
    /// The prefix filter: keys are elements, in an index of their own instead of tables.
    Prefix(Prefix),
    /// Records, keyed by their fields.
    Fields(FieldKeys),
}

impl Scheme {
    /// # Panics
    /// If the settings have [`SchemeSettings::faults`] or [`SketchSettings::faults`].
    pub fn new(scheme: &SchemeSettings, sketch: &SketchSettings) -> Self {
        match scheme.kind {
            Kind::Bands | Kind::RandomRows => Self::Bands(Bands::new(scheme, sketch)),
            Kind::Prefix => Self::Prefix(Prefix::new(scheme, sketch)),
            Kind::Fields => Self::Fields(FieldKeys::new(scheme, sketch)),
        }
    }

    /// The scheme with all keys that sketches have, indexed or not: for joins, which make the keys
    /// they need.
    #[must_use]
    pub fn unindexed(&self) -> Self {
        match self {
            Self::Bands(bands) => Self::Bands(bands.unindexed()),
            Self::Prefix(_) | Self::Fields(_) => self.clone(),
        }
    }

    /// The estimator for the scheme's sketches.
    pub fn estimator(&self, sketch: &SketchSettings) -> Estimator {
        let estimator = Estimator::new(sketch);
        self.fields().map_or(estimator, |fields| {
            estimator.of_records(fields.names().len(), fields.edit_penalty)
        })
    }

    /// The number of tables, each with at most one key of a sketch.
    pub fn tables(&self) -> u32 {
        match self {
            Self::Bands(bands) => bands.bands,
            Self::Prefix(_) => 0,
            Self::Fields(fields) => fields.tables(),
        }
    }

    /// Bytes of the sketches that keys are made of.
    pub fn sketch_bytes(&self) -> usize {
        match self {
            Self::Bands(bands) => bands.sketch_bytes(),
            Self::Prefix(prefix) => prefix.sketch_bytes,
            Self::Fields(fields) => fields.sketch_bytes(),
        }
    }

    /// The value of a sketch's key in a table; `None` for a sketch without a key there.
    #[inline]
    pub fn value(&self, sketch: &[u8], table: u32) -> Option<u32> {
        match self {
            Self::Bands(bands) => Some(bands.value(sketch, table)),
            Self::Prefix(_) => None,
            Self::Fields(fields) => fields.value(sketch, table),
        }
    }

    /// A sketch's keys in the first `tables` tables, in their order: at most a key per table.
    #[inline]
    pub fn keys<'a>(&'a self, sketch: &'a [u8], tables: u32) -> impl Iterator<Item = Key> + 'a {
        let key = |table| Some(Key { table, value: self.value(sketch, table)? });
        (0..tables.min(self.tables())).filter_map(key)
    }

    /// A sketch's keys in all tables.
    #[inline]
    pub fn all_keys<'a>(&'a self, sketch: &'a [u8]) -> impl Iterator<Item = Key> + 'a {
        self.keys(sketch, u32::MAX)
    }

    /// The keys under which other documents find a set in flight, which is not in the index yet:
    /// its keys in all tables, if the scheme has tables.
    pub fn arrival_keys(&self, set: &ShingleSet, sketch: &Sketch) -> Vec<Key> {
        match self {
            Self::Prefix(prefix) => prefix.arrival_keys(set),
            Self::Bands(bands) => bands.keys(sketch.as_bytes(), u32::MAX).collect(),
            Self::Fields(_) => self.all_keys(sketch.as_bytes()).collect(),
        }
    }

    /// The keys that a set looks up among the sets in flight, at a threshold. `arrival`: the set's
    /// own [`arrival_keys`](Self::arrival_keys).
    pub fn probe_keys(&self, set: &ShingleSet, arrival: &[Key], threshold: Threshold) -> Vec<Key> {
        match self {
            Self::Prefix(prefix) => prefix.probe_keys(set, threshold),
            Self::Bands(_) | Self::Fields(_) => self.plan(threshold).keys_of(arrival).to_vec(),
        }
    }

    /// The tables in which two sketches have the same key.
    pub fn tables_shared<'a>(&'a self, a: &'a [u8], b: &'a [u8]) -> impl Iterator<Item = u32> + 'a {
        let both = self.all_keys(a).filter(|key| self.value(b, key.table) == Some(key.value));
        both.map(|key| key.table)
    }

    /// The probe plan of a lookup at this threshold. Plans are cached.
    pub fn plan(&self, threshold: Threshold) -> ProbePlan {
        match self {
            Self::Bands(bands) => bands.plan(threshold),
            Self::Prefix(_) => Prefix::PLAN,
            Self::Fields(fields) => fields.plan(threshold),
        }
    }

    /// The probability that two sets of a given resemblance share a key that a lookup at the
    /// threshold probes; `None` where keys do not follow from resemblance.
    pub fn probability_candidate(&self, similarity: f64, threshold: Threshold) -> Option<f64> {
        let bands = self.bands()?;
        Some(bands.probability_candidate(similarity, bands.plan(threshold).bands))
    }

    /// The probability that a lookup at the threshold, in the scheme's default mode, reports a set
    /// of a given resemblance; for records, of a record that shares a key.
    pub fn probability_reported(&self, similarity: f64, threshold: Threshold) -> f64 {
        match self {
            _ if similarity < threshold.get() => 0.0,
            Self::Bands(bands) => bands.probability_found(similarity, &bands.plan(threshold)),
            Self::Prefix(_) | Self::Fields(_) => 1.0,
        }
    }

    /// The bands, if the scheme has any: only these have a [`super::Curve`].
    pub fn bands(&self) -> Option<&Bands> {
        match self {
            Self::Bands(bands) => Some(bands),
            Self::Prefix(_) | Self::Fields(_) => None,
        }
    }

    /// The fields, if the scheme is for records.
    pub fn fields(&self) -> Option<&FieldKeys> {
        match self {
            Self::Bands(_) | Self::Prefix(_) => None,
            Self::Fields(fields) => Some(fields),
        }
    }
}
