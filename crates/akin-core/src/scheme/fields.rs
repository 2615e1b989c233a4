//! Records: a key for each field (Leskovec, Rajaraman and Ullman, "Mining of Massive Datasets",
//! 3.8.1 and 3.8.3).
//!
//! A record's sketch contains the data of its keys, in the declared order of the fields, with zeros
//! for absent fields:
//!
//! ```text
//! for each field   the hash of its normalised value, 4 bytes, little-endian, never 0
//! for each field   the outline of its value, 18 bytes, from which a bound of the points follows
//! for each field   with `field_sketches`: the sketch of its value, 16 slots of 2 bytes
//! ```

use std::ops::Range;
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::measure::FIELD_POINTS_MAX;
use crate::sketch::{Outline, Sketch, SketchSettings, Sketcher};
use crate::text::{NormalisedFields, ShingleSet, ShingleSettings, Shingler, Unit};

use super::{ProbePlan, SchemeSettings, Threshold};

/// Bytes of a field's hash: a key.
const HASH_BYTES: usize = 4;

/// A field is sketched by its pairs of characters. Values of ten characters that differ in a single
/// character share 7 of 11 pairs, and with these bands a key with a probability of 98 %.
const PAIR: u32 = 2;
const BANDS: u32 = 8;
const ROWS: u32 = 2;
const SLOT_BITS: u32 = 16;
const BAND_BYTES: usize = (ROWS * SLOT_BITS / 8) as usize;

/// Makes a key of each field's value and, with `field_sketches`, keys of the bands of each field's
/// sketch, to find values that are nearly equal.
#[derive(Clone, Debug)]
pub struct FieldKeys {
    names: Arc<[String]>,
    seed: u64,
    pub(super) edit_penalty: u32,
    sketched: Option<FieldSketcher>,
}

/// Sketches single fields.
#[derive(Clone, Debug)]
struct FieldSketcher {
    shingler: Shingler,
    sketcher: Sketcher,
}

impl FieldKeys {
    pub(super) fn new(scheme: &SchemeSettings, sketch: &SketchSettings) -> Self {
        Self {
            names: scheme.fields.clone().into(),
            seed: sketch.seed(),
            edit_penalty: scheme.edit_penalty(),
            sketched: scheme.field_sketches.then(|| FieldSketcher::new(sketch)),
        }
    }

    /// The declared names.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The sketch of a record, from its declared fields.
    pub fn sketch(&self, record: &NormalisedFields) -> Sketch {
        let mut bytes = Vec::with_capacity(self.sketch_bytes());
        for name in self.names.iter() {
            let hash = record.get(name).map_or(0, |value| self.hash(value));
            bytes.extend_from_slice(&hash.to_le_bytes());
        }
        for name in self.names.iter() {
            let outline = record.get(name).map(|value| Outline::of(value).to_bytes());
            bytes.extend_from_slice(&outline.unwrap_or_default());
        }
        if let Some(sketcher) = &self.sketched {
            for name in self.names.iter() {
                bytes.extend_from_slice(&sketcher.slots(record.get(name)));
            }
        }
        Sketch::from_bytes(bytes.into())
    }

    /// Looks up all keys. A threshold is a share of the most points. The expected recall depends on
    /// the probe: [`FieldKeys::expected_recall`].
    pub(super) fn plan(&self, threshold: Threshold) -> ProbePlan {
        let points_max = f64::from(FIELD_POINTS_MAX) * self.names.len() as f64;
        ProbePlan {
            bands: self.tables(),
            agreeing_min: (threshold.get() * points_max).round() as u32,
            expected_recall: 1.0,
            expected_recall_estimated: 1.0,
        }
    }

    /// The probability that a value and its copy with `edits` edits share no key; 1 without
    /// `field_sketches`.
    pub(super) fn chance_unkeyed(&self, value: &str, edits: u32) -> f64 {
        let Some(sketcher) = &self.sketched else { return 1.0 };
        let pairs = sketcher.pairs(value).count() as f64;
        let changed = 2.0 * f64::from(edits);
        let resemblance = ((pairs - changed) / (pairs + changed)).max(0.0);
        (1.0 - resemblance.powi(ROWS as i32)).powi(BANDS as i32)
    }

    fn hash(&self, value: &str) -> u32 {
        (xxh3_64_with_seed(value.as_bytes(), self.seed) as u32).max(1)
    }

    /// A table per field, followed by eight tables per field with `field_sketches`.
    pub(super) fn tables(&self) -> u32 {
        let tables_each = if self.sketched.is_some() { 1 + BANDS } else { 1 };
        self.names.len() as u32 * tables_each
    }

    pub(super) fn sketch_bytes(&self) -> usize {
        let sketch_bytes = if self.sketched.is_some() { FieldSketcher::BYTES } else { 0 };
        self.names.len() * (HASH_BYTES + Outline::BYTES + sketch_bytes)
    }

    /// `None` if the record lacks the table's field.
    pub(super) fn value(&self, sketch: &[u8], table: u32) -> Option<u32> {
        let (table, fields) = (table as usize, self.names.len());
        if table < fields {
            return Some(number(sketch, hash_place(table))).filter(|hash| *hash != 0);
        }
        let (field, band) = ((table - fields) / BANDS as usize, (table - fields) % BANDS as usize);
        if number(sketch, hash_place(field)) == 0 {
            return None;
        }
        let sketches = fields * (HASH_BYTES + Outline::BYTES);
        let start = sketches + field * FieldSketcher::BYTES + band * BAND_BYTES;
        Some(number(sketch, start..start + BAND_BYTES))
    }
}

impl FieldSketcher {
    const BYTES: usize = BANDS as usize * BAND_BYTES;

    fn new(collection: &SketchSettings) -> Self {
        let pairs = ShingleSettings {
            unit: Unit::Character,
            size: PAIR,
            lowercase: false,
            ..ShingleSettings::default()
        };
        let slots = SketchSettings { slots: BANDS * ROWS, bits: SLOT_BITS, ..collection.clone() };
        Self {
            shingler: Shingler::new(pairs, collection.seed(), usize::MAX),
            sketcher: Sketcher::new(slots),
        }
    }

    /// Zeros for an absent value.
    fn slots(&self, value: Option<&str>) -> [u8; Self::BYTES] {
        let Some(value) = value else { return [0; Self::BYTES] };
        let sketch = self.sketcher.sketch(&self.pairs(value));
        sketch.as_bytes().try_into().expect("the sketcher's slots have BYTES bytes in all")
    }

    fn pairs(&self, value: &str) -> ShingleSet {
        self.shingler.text(value).expect("a normalised value has a character").set
    }
}

fn hash_place(field: usize) -> Range<usize> {
    field * HASH_BYTES..(field + 1) * HASH_BYTES
}

fn number(sketch: &[u8], place: Range<usize>) -> u32 {
    u32::from_le_bytes(sketch[place].try_into().expect("a key has four bytes"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Kind, Scheme};
    use super::*;
    use crate::document::Content;
    use crate::measure::Points;

    fn settings(field_sketches: bool) -> SchemeSettings {
        let fields = ["name", "phone"].map(str::to_owned).to_vec();
        SchemeSettings { kind: Kind::Fields, fields, field_sketches, ..SchemeSettings::default() }
    }

    fn scheme(field_sketches: bool) -> Scheme {
        Scheme::new(&settings(field_sketches), &SketchSettings::default())
    }

    /// `None` if no field has a word.
    fn record(fields: &[(&str, &str)]) -> Option<NormalisedFields> {
        let settings = ShingleSettings { unit: Unit::Field, ..ShingleSettings::default() };
        let fields = fields.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        Shingler::new(settings, 0, 100).fields(&Content::Fields(fields.collect())).ok()
    }

    fn sketch(scheme: &Scheme, fields: &[(&str, &str)]) -> Sketch {
        scheme.fields().unwrap().sketch(&record(fields).unwrap())
    }

    fn shared(scheme: &Scheme, a: &[(&str, &str)], b: &[(&str, &str)]) -> Vec<u32> {
        let (a, b) = (sketch(scheme, a), sketch(scheme, b));
        scheme.tables_shared(a.as_bytes(), b.as_bytes()).collect()
    }

    #[test]
    fn equal_fields_are_shared_keys() {
        let scheme = scheme(false);
        assert_eq!((scheme.tables(), scheme.sketch_bytes()), (2, 44));
        let ann = [("name", "Ann"), ("phone", "1")];
        assert_eq!(shared(&scheme, &ann, &[("name", "ann!"), ("phone", "2")]), [0]);
        assert_eq!(shared(&scheme, &ann, &[("phone", "1")]), [1]);
        assert_eq!(shared(&scheme, &ann, &[("name", "1"), ("phone", "Ann")]), [0; 0]);
        assert_eq!(shared(&scheme, &[("name", "Ann")], &[("name", "Bob")]), [0; 0], "absent");
        assert_eq!(scheme.all_keys(sketch(&scheme, &[("phone", "1")]).as_bytes()).count(), 1);
    }

    #[test]
    fn sketched_fields_are_found_by_similar_values() {
        let scheme = scheme(true);
        assert_eq!((scheme.tables(), scheme.sketch_bytes()), (18, 108));
        let one = [("name", "katherine johnson")];
        let near = shared(&scheme, &one, &[("name", "catherine johnson")]);
        assert!(!near.is_empty() && near.iter().all(|table| (2..10).contains(table)), "{near:?}");
        assert_eq!(shared(&scheme, &one, &[("phone", "katherine johnson")]), [0; 0]);
        assert_eq!(shared(&scheme, &one, &one).len(), 9);
        assert_eq!(shared(&scheme, &one, &[("name", "bob")]), [0; 0]);
    }

    /// A changed hash would change the keys of every stored record.
    #[test]
    fn sketches_are_made_as_they_always_were() {
        let ann = [("name", "Ann")];
        let plain = sketch(&scheme(false), &ann);
        assert_eq!(plain.as_bytes()[..8], [200, 98, 189, 76, 0, 0, 0, 0]);
        let outline = [3, 0, 2, 64, 0, 0, 0, 64, 0, 0, 0, 32, 0, 0, 0, 24, 0, 16];
        assert_eq!(plain.as_bytes()[8..26], outline);
        assert_eq!(plain.as_bytes()[26..], [0; 18], "of the absent field");
        let sketched = sketch(&scheme(true), &ann);
        assert_eq!(sketched.as_bytes()[..44], *plain.as_bytes());
        assert_eq!(sketched.as_bytes()[44..52], [40, 13, 16, 32, 16, 146, 26, 30]);
        assert_eq!(sketched.as_bytes()[76..], [0; 32], "of the absent field");
    }

    proptest! {
        #[test]
        fn sketches_bound_the_points(
            a in ["[ab]{0,3}", "[a-d ]{0,12}"], b in ["[ab]{0,3}", "[a-d ]{0,12}"],
            penalty in 1..=100_u32, field_sketches: bool,
        ) {
            let settings = SchemeSettings {
                penalty: Some(penalty), ..settings(field_sketches)
            };
            let scheme = Scheme::new(&settings, &SketchSettings::default());
            let estimator = scheme.estimator(&SketchSettings::default());
            let [a, b] = [&a, &b].map(|[name, phone]| [("name", &**name), ("phone", &**phone)]);
            let (Some(ours), Some(its)) = (record(&a), record(&b)) else { return Ok(()) };
            let [a, b] = [&ours, &its].map(|record| scheme.fields().unwrap().sketch(record));
            let points = Points::of(&ours, &its, penalty);
            let bound = estimator.agreeing(a.as_bytes(), b.as_bytes());
            prop_assert!(bound >= points.total(), "{bound} {points:?}");
            prop_assert_eq!(bound, estimator.agreeing(b.as_bytes(), a.as_bytes()));
            if ours == its {
                prop_assert_eq!(bound, points.total());
            }
        }
    }
}
