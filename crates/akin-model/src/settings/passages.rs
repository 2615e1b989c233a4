use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use akin_core::passages::PassageSettings;
use akin_core::scheme::Kind;
use akin_core::sketch::Method;
use akin_core::text::Unit;

use crate::settings::CollectionSettings;

/// The index of passages that a collection has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
#[schema(as = PassageSettings)]
pub struct PassageIndexing {
    /// Every run of so many equal words is found: 13 to 100. With 0, the default, there is no index
    /// of passages.
    #[schema(maximum = 100, example = 32)]
    pub words: u32,
}

impl PassageIndexing {
    /// Whether there is no index.
    pub fn is_off(&self) -> bool {
        self.words == 0
    }

    /// `None` without an index.
    pub fn settings(self) -> Option<PassageSettings> {
        PassageSettings::new(self.words as usize).ok()
    }

    /// Every fault of the settings, each beginning with its key.
    pub(super) fn faults(self, of: &CollectionSettings) -> Vec<String> {
        if self.is_off() {
            return Vec::new();
        }
        let faults = [
            (
                self.settings().is_none(),
                format!("words must be 0, or 13..=100, not {}", self.words),
            ),
            (
                !of.store.text,
                "words must be 0 where store.text is false: texts are compared".into(),
            ),
            (
                of.scheme.kind == Kind::Fields || of.shingles.unit == Unit::Field,
                "words must be 0 for records: records have no passages".into(),
            ),
            (
                of.sketch.method == Method::Foreign,
                "words must be 0 for signatures: signatures have no passages".into(),
            ),
        ];
        faults.into_iter().filter(|(is_fault, _)| *is_fault).map(|(_, fault)| fault).collect()
    }
}
