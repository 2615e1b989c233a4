//! The settings of the kind `fields`: names of fields, points and the edit penalty.

use std::collections::HashSet;

use crate::measure::FIELD_POINTS_MAX;

use super::{Kind, SchemeSettings};

/// The maximum number of declared fields.
const FIELDS_MAX: usize = 32;

/// The maximum length of a field's name, in bytes of UTF-8.
const FIELD_NAME_BYTES_MAX: usize = 64;

/// Points per field and cost of an edit by default.
const FIELD_POINTS_USUAL: u32 = 80;
const PENALTY_USUAL: u32 = 4;

impl SchemeSettings {
    /// The maximum points of two records.
    pub fn points_max(&self) -> u32 {
        FIELD_POINTS_MAX * self.fields.len() as u32
    }

    /// The points from which records count as near-duplicates.
    pub fn points_min(&self) -> u32 {
        self.points.unwrap_or(FIELD_POINTS_USUAL * self.fields.len() as u32)
    }

    /// The points that an edit of a field costs.
    pub fn edit_penalty(&self) -> u32 {
        self.penalty.unwrap_or(PENALTY_USUAL)
    }

    pub(super) fn record_faults(&self) -> Vec<String> {
        match self.kind {
            Kind::Fields => self.faults_with_fields(),
            _ => self.faults_without_fields(),
        }
    }

    fn faults_without_fields(&self) -> Vec<String> {
        let given = [
            ("fields", !self.fields.is_empty()),
            ("field_sketches", self.field_sketches),
            ("points", self.points.is_some()),
            ("penalty", self.penalty.is_some()),
        ];
        let given = given.iter().filter(|(_, is_given)| *is_given);
        given.map(|(key, _)| format!("{key} must not be given unless the kind is fields")).collect()
    }

    fn faults_with_fields(&self) -> Vec<String> {
        let mut faults = self.faults_of_names();
        for (key, value) in [("bands", self.bands), ("rows", self.rows)] {
            if value.is_some() {
                faults.push(format!("{key} must not be given where the kind is fields"));
            }
        }
        let points_max = self.points_max();
        if let Some(points) = self.points.filter(|points| !(1..=points_max).contains(points)) {
            faults.push(format!("points must be from 1 to {points_max}, not {points}"));
        }
        if let Some(penalty) = self.penalty.filter(|it| !(1..=FIELD_POINTS_MAX).contains(it)) {
            faults.push(format!("penalty must be from 1 to {FIELD_POINTS_MAX}, not {penalty}"));
        }
        faults
    }

    fn faults_of_names(&self) -> Vec<String> {
        let count = self.fields.len();
        if !(1..=FIELDS_MAX).contains(&count) {
            return vec![format!("fields must be from 1 to {FIELDS_MAX} names, not {count}")];
        }
        let mut faults = Vec::new();
        let mut known = HashSet::new();
        for name in &self.fields {
            let bytes = name.len();
            let is_clean = !name.chars().any(char::is_control);
            if !(1..=FIELD_NAME_BYTES_MAX).contains(&bytes) || !is_clean {
                faults.push(format!(
                    "fields must have names of 1 to {FIELD_NAME_BYTES_MAX} bytes without control \
                     characters, not one of {bytes}"
                ));
            } else if !known.insert(name) {
                faults.push(format!("fields must have distinct names: '{name}' comes twice"));
            }
        }
        faults
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch::SketchSettings;

    fn with_fields(names: &[&str]) -> SchemeSettings {
        let fields = names.iter().map(|name| (*name).to_owned()).collect();
        SchemeSettings { kind: Kind::Fields, fields, ..SchemeSettings::default() }
    }

    fn faults(settings: &SchemeSettings) -> Vec<String> {
        settings.faults(&SketchSettings::default())
    }

    #[test]
    fn points_are_at_most_100_a_field() {
        let settings = with_fields(&["name", "phone", "mail"]);
        assert_eq!(faults(&settings), [""; 0]);
        assert_eq!((settings.points_min(), settings.points_max()), (240, 300));
        let settings = SchemeSettings { points: Some(301), penalty: Some(0), ..settings };
        assert_eq!(
            faults(&settings),
            ["points must be from 1 to 300, not 301", "penalty must be from 1 to 100, not 0"]
        );
    }

    #[test]
    fn names_are_one_to_32_and_distinct() {
        assert_eq!(faults(&with_fields(&[])), ["fields must be from 1 to 32 names, not 0"]);
        assert_eq!(faults(&with_fields(&["a"; 33])), ["fields must be from 1 to 32 names, not 33"]);
        let bad = faults(&with_fields(&["a", "", "a", "b\n"]));
        assert!(bad[0].ends_with("not one of 0"), "{bad:?}");
        assert_eq!(bad[1], "fields must have distinct names: 'a' comes twice");
        assert!(bad[2].ends_with("not one of 2"), "{bad:?}");
    }

    #[test]
    fn records_have_keys_of_their_own() {
        let bands = SchemeSettings { bands: Some(3), rows: Some(2), ..with_fields(&["a"]) };
        assert_eq!(faults(&bands).len(), 2);
        let others = SchemeSettings {
            kind: Kind::Bands,
            field_sketches: true,
            points: Some(1),
            penalty: Some(1),
            ..with_fields(&["a"])
        };
        assert_eq!(faults(&others).len(), 4);
    }
}
