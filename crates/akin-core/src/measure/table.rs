//! The measures that comparisons report on request.

use super::{CommonSubsequence, Overlap, angle_degrees, cosine, edit_distance, euclidean};
use crate::text::Bag;

/// A measure of two documents.
#[derive(Clone, Copy, Debug)]
pub struct Measure {
    /// The name by which it is requested, and of its values in an answer.
    pub name: &'static str,
    /// The measured property, as a noun.
    pub meaning: &'static str,
    /// Its values, in the order in which they are computed.
    pub values: &'static [MeasureValue],
    /// How the values are computed.
    pub compute: Compute,
}

/// A value of a measure.
#[derive(Clone, Copy, Debug)]
pub struct MeasureValue {
    /// The name of the value in an answer.
    pub name: &'static str,
    /// What the number is of, as it follows the number: "characters in common".
    pub meaning: &'static str,
    /// The number is whole.
    pub is_count: bool,
}

/// The operands and the function of a measure.
#[derive(Clone, Copy, Debug)]
pub enum Compute {
    /// Texts. The work is the product of their lengths in characters.
    Characters(fn(&str, &str) -> Vec<f64>),
    /// Shingles with their counts.
    Counts(fn(&Bag, &Bag) -> Vec<f64>),
    /// Sets.
    Sets(fn(&Overlap) -> Vec<f64>),
}

const fn count(name: &'static str, meaning: &'static str) -> MeasureValue {
    MeasureValue { name, meaning, is_count: true }
}

const fn number(name: &'static str, meaning: &'static str) -> MeasureValue {
    MeasureValue { name, meaning, is_count: false }
}

/// Every measure. Help, OpenAPI, the types of the clients, tests and pages follow from it.
pub const MEASURES: [Measure; 5] = [
    Measure {
        name: "edit",
        meaning: "the edit distance (Levenshtein distance) of the texts",
        values: &[count("distance", "characters to insert, delete or exchange")],
        compute: Compute::Characters(|a, b| vec![edit_distance(a, b) as f64]),
    },
    Measure {
        name: "lcs",
        meaning: "the longest common subsequence of the texts",
        values: &[
            count("length", "characters in common"),
            count("distance", "characters to insert or delete"),
        ],
        compute: Compute::Characters(|a, b| {
            let CommonSubsequence { length, distance } = CommonSubsequence::of(a, b);
            vec![length as f64, distance as f64]
        }),
    },
    Measure {
        name: "hamming",
        meaning: "the Hamming distance of the sets of shingles",
        values: &[count("distance", "shingles that only one of them has")],
        compute: Compute::Sets(|overlap| vec![overlap.hamming() as f64]),
    },
    Measure {
        name: "cosine",
        meaning: "the cosine similarity of the counts of shingles as vectors",
        values: &[
            number("similarity", "the cosine of the angle between them"),
            number("angle_degrees", "degrees between them, 0 to 90"),
        ],
        compute: Compute::Counts(|a, b| {
            let similarity = cosine(a, b);
            vec![similarity, angle_degrees(similarity)]
        }),
    },
    Measure {
        name: "euclidean",
        meaning: "the Euclidean distance of the counts of shingles as vectors",
        values: &[number("distance", "the length of their difference")],
        compute: Compute::Counts(|a, b| vec![euclidean(a, b)]),
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::text::ShingleSet;

    #[test]
    fn each_measure_has_a_name_of_its_own_and_computes_its_values() {
        let names: BTreeSet<&str> = MEASURES.iter().map(|measure| measure.name).collect();
        assert_eq!(names.len(), MEASURES.len());
        let [a, b] = [[1, 1, 2], [2, 3, 3]].map(|of| Bag::from_shingles(of.to_vec()).unwrap());
        let [set, other] =
            [[1, 2], [2, 3]].map(|of| ShingleSet::from_shingles(of.to_vec()).unwrap());
        for Measure { name, values, compute, .. } in MEASURES {
            let computed = match compute {
                Compute::Characters(of) => of("kitten", "sitting"),
                Compute::Counts(of) => of(&a, &b),
                Compute::Sets(of) => of(&Overlap::of(&set, &other)),
            };
            let expected = match name {
                "edit" => vec![3.0],
                "lcs" => vec![4.0, 5.0],
                "hamming" => vec![2.0],
                "cosine" => vec![0.2],
                _ => vec![8_f64.sqrt()],
            };
            assert_eq!(computed[..expected.len()], expected[..], "{name}");
            assert_eq!(computed.len(), values.len(), "{name}");
        }
    }
}
