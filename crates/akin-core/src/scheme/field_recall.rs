//! The expected recall of lookups of records.

use crate::measure::{FIELD_POINTS_MAX, edits_cost};
use crate::text::NormalisedFields;

use super::fields::FieldKeys;

impl FieldKeys {
    /// The lowest probability that a record with at least `points_min` points shares a key with the
    /// probe. In the worst case no field is equal, and the edits are distributed over the fields so
    /// that the most keys are lost. 1 if `points_min` cannot be reached without an equal field.
    ///
    /// An edit removes at most two of a value's character pairs and adds at most two, so d edits of
    /// a value with p pairs leave a resemblance of at least (p − 2d) / (p + 2d).
    pub fn expected_recall(&self, probe: &NormalisedFields, points_min: u32, penalty: u32) -> f64 {
        let Some(room) = (FIELD_POINTS_MAX * probe.count() as u32).checked_sub(points_min) else {
            return 1.0;
        };
        // Indexed by the lost points: the highest probability that no key is shared; 0 if no record
        // loses exactly that number.
        let mut missed = vec![0.0_f64; room as usize + 1];
        missed[0] = 1.0;
        for (_, value) in probe.iter() {
            let losses = self.losses(value, penalty);
            let mut next = vec![0.0_f64; missed.len()];
            for (lost, before) in missed.iter().enumerate().filter(|(_, before)| **before > 0.0) {
                for (cost, chance) in &losses {
                    let Some(highest) = next.get_mut(lost + *cost as usize) else { continue };
                    *highest = highest.max(before * chance);
                }
            }
            missed = next;
        }
        1.0 - missed.into_iter().fold(0.0, f64::max)
    }

    /// The possible outcomes for a field that is not equal: the points lost, and the probability
    /// that the field shares no key.
    fn losses(&self, value: &str, penalty: u32) -> Vec<(u32, f64)> {
        let characters = value.chars().count() as u32;
        let mut losses = vec![(FIELD_POINTS_MAX, 1.0)];
        for edits in 1.. {
            // Insertions cost the fewest points, as they lengthen the value.
            let cost = edits_cost(edits, characters + edits, penalty);
            if cost >= FIELD_POINTS_MAX {
                return losses;
            }
            losses.push((cost, self.chance_unkeyed(value, edits)));
        }
        losses
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use crate::document::Content;
    use crate::scheme::{Kind, Scheme, SchemeSettings};
    use crate::sketch::SketchSettings;
    use crate::text::{NormalisedFields, ShingleSettings, Shingler, Unit};

    fn record(values: &[&str]) -> NormalisedFields {
        let settings = ShingleSettings { unit: Unit::Field, ..ShingleSettings::default() };
        let named = |(n, value): (usize, &&str)| (format!("f{n}"), (*value).to_owned());
        let fields: BTreeMap<_, _> = values.iter().enumerate().map(named).collect();
        Shingler::new(settings, 0, 100).fields(&Content::Fields(fields)).unwrap()
    }

    fn scheme(field_sketches: bool) -> Scheme {
        let fields = ["f0", "f1", "f2"].map(str::to_owned).to_vec();
        let settings = SchemeSettings {
            kind: Kind::Fields,
            fields,
            field_sketches,
            ..SchemeSettings::default()
        };
        Scheme::new(&settings, &SketchSettings::default())
    }

    const VALUES: [&str; 3] = ["katherine johnson", "742 evergreen terrace", "springfield north"];

    #[test]
    fn without_field_sketches_recall_is_0_or_1() {
        let scheme = scheme(false);
        let recall = |points, values: &[&str]| {
            scheme.fields().unwrap().expected_recall(&record(values), points, 4)
        };
        assert_eq!(recall(289, &VALUES), 1.0, "with an edit in each field it were 288");
        assert_eq!(recall(288, &VALUES), 0.0);
        assert_eq!(recall(100, &VALUES), 0.0);
        assert_eq!(recall(101, &VALUES[..1]), 1.0, "no record has as many");
        assert_eq!(recall(97, &VALUES[..1]), 1.0);
        assert_eq!(recall(96, &VALUES[..1]), 0.0);
    }

    /// Edits at random places of each field: the recall is at least the expected recall.
    #[test]
    fn edited_records_are_found_with_the_expected_recall() {
        let scheme = scheme(true);
        let fields = scheme.fields().unwrap();
        for (edits, points, low, high) in [(1, 288, 0.99, 1.0), (4, 108, 0.7, 0.99)] {
            let promised = fields.expected_recall(&record(&VALUES), points, 4);
            let (mut found, trials) = (0, 2_000_usize);
            for trial in 0..trials {
                let mut numbers = (0..).map(|n| trial * 7_919 + n * 104_729 + trial / 7);
                let edited = VALUES.map(|value| {
                    let mut chars: Vec<char> = value.chars().collect();
                    for _ in 0..edits {
                        let (at, letter) = (numbers.next().unwrap(), numbers.next().unwrap());
                        let count = chars.len();
                        chars[at % count] = char::from(b'a' + (letter % 26) as u8);
                    }
                    chars.into_iter().collect::<String>()
                });
                let edited = edited.each_ref().map(String::as_str);
                let [a, b] = [&VALUES, &edited].map(|values| fields.sketch(&record(values)));
                found += usize::from(scheme.tables_shared(a.as_bytes(), b.as_bytes()).count() > 0);
            }
            let found = found as f64 / trials as f64;
            assert!(found + 0.01 >= promised, "{edits} edits: {found} of {promised}");
            assert!((low..=high).contains(&promised), "{edits}: {promised}");
        }
    }
}
