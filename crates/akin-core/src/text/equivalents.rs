//! Words that mean the same.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::fields::normalised_words;
use super::words::TextRules;

/// The maximum number of words and values in all groups together.
const EQUIVALENTS_MAX: usize = 10_000;

/// The maximum length of a word or value in bytes: each word of a field may be replaced by a word
/// of that length.
const EQUIVALENT_BYTES_MAX: usize = 64;

/// The maximum number of reported faults: each word may have a fault.
const FAULTS_MAX: usize = 8;

/// Groups of words or whole values that mean the same in a field, as "Bill" and "William" do. The
/// first member of a group replaces the other members.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(transparent)]
#[cfg_attr(feature = "schema", schema(example = json!([["william", "bill", "will"]])))]
pub struct Equivalents(Vec<Vec<String>>);

impl Equivalents {
    /// The given groups, which [`ShingleSettings::faults`](super::ShingleSettings::faults) checks.
    pub fn new(groups: Vec<Vec<String>>) -> Self {
        Self(groups)
    }

    /// Whether there are no groups.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The faults of the groups: a sentence for each, starting with the setting's name.
    pub(super) fn faults(&self, rules: TextRules) -> Vec<String> {
        let mut faults = Vec::new();
        let count: usize = self.0.iter().map(Vec::len).sum();
        if count > EQUIVALENTS_MAX {
            faults.push(format!("equivalents must be at most {EQUIVALENTS_MAX}, not {count}"));
            return faults;
        }
        let mut groups = HashMap::new();
        for (number, group) in self.0.iter().enumerate() {
            if group.len() < 2 {
                faults.push(format!("equivalents must be two or more, not {}", group.len()));
            }
            for member in group {
                let value = normalised_words(member, rules).text;
                let bytes = member.len().max(value.len());
                if bytes > EQUIVALENT_BYTES_MAX {
                    faults.push(format!(
                        "equivalents must have at most {EQUIVALENT_BYTES_MAX} bytes, not {bytes}"
                    ));
                } else if value.is_empty() {
                    faults.push(format!("equivalents must have a letter or digit, not {member:?}"));
                } else if groups.insert(value, number).is_some_and(|other| other != number) {
                    faults.push(format!("equivalents must be in one group each, not {member:?}"));
                }
            }
        }
        faults.truncate(FAULTS_MAX);
        faults
    }

    /// Each member of each group, normalised → the first of its group.
    pub(super) fn firsts(&self, rules: TextRules) -> HashMap<String, String> {
        let normalise = |member: &String| normalised_words(member, rules).text;
        let of_group = |group: &Vec<String>| {
            let members: Vec<String> = group.iter().map(normalise).collect();
            let first = members.first().cloned().unwrap_or_default();
            members.into_iter().map(move |member| (member, first.clone())).collect::<Vec<_>>()
        };
        self.0.iter().flat_map(of_group).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Normalize;
    use super::*;

    fn faults(groups: &[&[&str]], lowercase: bool) -> Vec<String> {
        self::groups(groups).faults(TextRules::new(Normalize::Nfkc, lowercase))
    }

    fn groups(groups: &[&[&str]]) -> Equivalents {
        let group = |group: &&[&str]| group.iter().map(|word| (*word).to_owned()).collect();
        Equivalents::new(groups.iter().map(group).collect())
    }

    #[test]
    fn faults_of_groups_are_named() {
        let good = faults(&[&["william", "Bill", "bill"], &["st", "saint"]], true);
        assert_eq!(good, [""; 0]);
        assert_eq!(
            faults(&[&["a", "B"], &["b", "--"], &["c"]], true),
            [
                r#"equivalents must be in one group each, not "b""#,
                r#"equivalents must have a letter or digit, not "--""#,
                "equivalents must be two or more, not 1",
            ]
        );
        let long = "x".repeat(65);
        let of_long = faults(&[&["x", &long], &[]], true);
        assert_eq!(of_long[0], "equivalents must have at most 64 bytes, not 65");
        assert_eq!(of_long.len(), 2);
        assert_eq!(faults(&[&["-"; 100]], true).len(), FAULTS_MAX);
        assert_eq!(faults(&[&["a", "B"], &["b", "c"]], false), [""; 0], "case is kept");
        let many = Equivalents::new(vec![vec!["a".to_owned(); EQUIVALENTS_MAX + 1]]);
        let rules = TextRules::new(Normalize::Nfkc, true);
        assert_eq!(many.faults(rules), ["equivalents must be at most 10000, not 10001"]);
    }
}
