//! Points for matching records (entity resolution): a hundred for each equal field, fewer with
//! each edit between the values (Leskovec, Rajaraman and Ullman, "Mining of Massive Datasets",
//! 3.8.2).

use std::collections::BTreeMap;

use rapidfuzz::distance::levenshtein;

use crate::measure::Overlap;
use crate::text::NormalisedFields;

/// Points for an equal field.
pub const FIELD_POINTS_MAX: u32 = 100;

/// The similarity of two records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Points {
    /// Points of each field of both records, 0..=100: a hundred if the values are equal.
    pub by_field: BTreeMap<String, u32>,
    /// Fields of the first record, at least 1.
    a: usize,
    /// Fields of the second record, at least 1.
    b: usize,
}

impl Points {
    /// `penalty`: the points that a single edit costs, see [`edits_cost`]; at least 1.
    pub fn of(a: &NormalisedFields, b: &NormalisedFields, penalty: u32) -> Self {
        let of_field = |(name, ours): (&str, &str)| {
            Some((name.to_owned(), field_points(ours, b.get(name)?, penalty)))
        };
        Self { by_field: a.iter().filter_map(of_field).collect(), a: a.count(), b: b.count() }
    }

    /// The sum of the points of all fields.
    pub fn total(&self) -> u32 {
        self.by_field.values().sum()
    }

    /// The points as a share of the maximum for the fields of either record, 0..=1.
    pub fn resemblance(&self) -> f64 {
        let either = self.a + self.b - self.by_field.len();
        f64::from(self.total()) / (f64::from(FIELD_POINTS_MAX) * either as f64)
    }

    /// The overlap of the records as sets of fields with their values.
    pub fn overlap(&self) -> Overlap {
        let agree = |points: &&u32| **points == FIELD_POINTS_MAX;
        Overlap { shared: self.by_field.values().filter(agree).count(), a: self.a, b: self.b }
    }
}

/// A hundred minus the cost of the edits between two values, at least 0.
fn field_points(a: &str, b: &str, penalty: u32) -> u32 {
    if a == b {
        return FIELD_POINTS_MAX;
    }
    let edits_max = ((FIELD_POINTS_MAX - 1) / penalty).isqrt() as usize;
    let args = levenshtein::Args::default().score_cutoff(edits_max);
    let Some(edits) = levenshtein::distance_with_args(a.chars(), b.chars(), &args) else {
        return 0;
    };
    let characters = a.chars().count().max(b.chars().count());
    FIELD_POINTS_MAX - edits_cost(edits as u32, characters as u32, penalty)
}

/// The cost of d edits in points, n being the characters of the longer value: d² times the penalty
/// or 100 / n², whichever is more, at most 100. Values without a common character thus score 0, and
/// only the penalty matters from √(100 / penalty) characters on.
pub fn edits_cost(edits: u32, characters: u32, penalty: u32) -> u32 {
    let (edits, characters) = (u64::from(edits), u64::from(characters.max(1)));
    let by_length = (u64::from(FIELD_POINTS_MAX) * edits * edits).div_ceil(characters * characters);
    by_length.max(u64::from(penalty) * edits * edits).min(u64::from(FIELD_POINTS_MAX)) as u32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::document::Content;
    use crate::text::{ShingleSettings, Shingler, Unit};

    fn record(fields: &[(&str, &str)]) -> NormalisedFields {
        let settings = ShingleSettings { unit: Unit::Field, ..ShingleSettings::default() };
        let fields = fields.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        Shingler::new(settings, 0, 100).fields(&Content::Fields(fields.collect())).unwrap()
    }

    /// The edit distance as it is defined (Wagner and Fischer 1974).
    fn edits(a: &[char], b: &[char]) -> u32 {
        let mut row: Vec<u32> = (0..=b.len() as u32).collect();
        for (i, x) in a.iter().enumerate() {
            let mut diagonal = row[0];
            row[0] = i as u32 + 1;
            for (j, y) in b.iter().enumerate() {
                let exchanged = diagonal + u32::from(x != y);
                diagonal = row[j + 1];
                row[j + 1] = exchanged.min(row[j] + 1).min(diagonal + 1);
            }
        }
        row[b.len()]
    }

    #[test]
    fn the_penalty_grows_with_the_square_of_the_edits() {
        let points = ["smith", "smyth", "smythe", "smythes", "smythess", "smythesses"]
            .map(|other| field_points("smith", other, 4));
        assert_eq!(points, [100, 96, 84, 64, 36, 0]);
        assert_eq!(field_points("smith", "smyth", 100), 0);
        assert_eq!(field_points("smith", "smyth", 99), 1);
        assert_eq!(field_points("smith", "jones", 1), 0);
        assert_eq!(field_points("résumé", "resumé", 1), 97, "an edit is of a character");
    }

    #[test]
    fn short_values_that_are_unlike_have_no_points() {
        for (a, b, points) in [
            ("a", "b", 0),
            ("ab", "cd", 0),
            ("ab", "ac", 75),
            ("a", "ab", 75),
            ("abc", "abd", 88),
            ("abc", "ade", 55),
            ("abc", "def", 0),
            ("abcd", "abce", 93),
            ("abcd", "efgh", 0),
            ("abcde", "abcdf", 96),
            ("abcde", "fghij", 0),
        ] {
            assert_eq!(field_points(a, b, 4), points, "{a} {b}");
        }
    }

    #[test]
    fn missing_fields_give_no_points() {
        let a = record(&[("name", "Ann Lee"), ("phone", "555 1234"), ("city", "Rome")]);
        let b = record(&[("name", "Anne Lee"), ("phone", "555-1234"), ("mail", "a@b.c")]);
        let points = Points::of(&a, &b, 4);
        let by_field = [("name".to_owned(), 96), ("phone".to_owned(), 100)];
        assert_eq!(points.by_field, BTreeMap::from(by_field));
        assert_eq!((points.total(), points.resemblance()), (196, 0.49));
        assert_eq!(points.overlap(), Overlap { shared: 1, a: 3, b: 3 });
        assert_eq!(Points::of(&a, &a, 4).resemblance(), 1.0);
        let none = Points::of(&a, &record(&[("mail", "x")]), 4);
        assert_eq!((none.total(), none.resemblance(), none.by_field.len()), (0, 0.0, 0));
    }

    proptest! {
        #[test]
        fn points_follow_the_definition(
            a in "[abcé]{0,90}", b in "[abcé]{0,90}", cut in 0..90_usize, penalty in 1..=100_u32,
        ) {
            // The second pair is alike except for a few edits, which random pairs never are.
            let near: String = a.chars().take(cut).chain(['x']).chain(a.chars().skip(cut + 1))
                .collect();
            for (a, b) in [(&a, &b), (&a, &near)] {
                let chars = |text: &str| text.chars().collect::<Vec<_>>();
                let edits = edits(&chars(a), &chars(b));
                let length = a.chars().count().max(b.chars().count()).max(1) as f64;
                let share = f64::from(edits) / length;
                let by_length = (100.0 * (1.0 - share * share) + 1e-9).floor() as u32;
                let points = 100_u32.saturating_sub(penalty * edits * edits).min(by_length);
                prop_assert_eq!(field_points(a, b, penalty), points);
                prop_assert_eq!(field_points(b, a, penalty), points);
            }
        }
    }
}
