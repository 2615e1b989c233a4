//! How contents are cut.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::equivalents::Equivalents;
use super::fold::{Fold, Folds};
use super::hash::UNITS_MAX;
use super::ignored::IgnoredTexts;
use super::normalize::Normalize;
use super::stop_words::StopWords;
use super::unit::Unit;
use super::words::TextRules;

/// How texts are cut into shingles. Determines the stored data: fixed for a collection's life.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct ShingleSettings {
    pub unit: Unit,
    /// How many units make a shingle.
    #[cfg_attr(feature = "schema", schema(minimum = 1, maximum = 64))]
    pub size: u32,
    /// Ignore the difference between upper and lower case.
    pub lowercase: bool,
    /// Unicode normalisation of texts and fields before they are cut. Ready-made tokens are never
    /// normalised.
    pub normalize: Normalize,
    /// Differences of spelling that do not count. Ready-made tokens are never changed.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    #[cfg_attr(feature = "schema", schema(example = json!(["marks", "digits"])))]
    pub fold: BTreeSet<Fold>,
    /// Count repetitions: each occurrence of a shingle is an element of its own, so the Jaccard
    /// similarity is that of bags, Σmin / Σmax of the counts.
    pub multiset: bool,
    /// For the unit `stopword`: the words that shingles begin with.
    pub stopwords: StopWords,
    /// Texts whose shingles do not count, such as menus and notices.
    #[serde(skip_serializing_if = "IgnoredTexts::is_empty")]
    pub ignore: IgnoredTexts,
    /// For the unit `field`: groups of words and whole values that mean the same.
    #[serde(skip_serializing_if = "Equivalents::is_empty")]
    pub equivalents: Equivalents,
}

impl ShingleSettings {
    /// The faults of the settings: a sentence for each, starting with the key's name.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if !(1..=UNITS_MAX as u32).contains(&self.size) {
            faults.push(format!("size must be from 1 to {UNITS_MAX}, not {}", self.size));
        }
        if self.unit != Unit::Field && !self.equivalents.is_empty() {
            faults.push("equivalents are for the unit field only".to_owned());
        }
        if self.fold.contains(&Fold::TurkicCase) && !self.lowercase {
            faults.push("fold turkic_case needs lowercase = true".to_owned());
        }
        faults.extend(self.stopwords.fault(self.rules()));
        faults.extend(self.equivalents.faults(self.rules()));
        // Texts are cut by the other settings.
        if faults.is_empty() {
            faults.extend(self.ignore.fault(self));
        }
        faults
    }

    pub(super) fn rules(&self) -> TextRules {
        TextRules::new(self.normalize, self.lowercase).folding(Folds::new(&self.fold))
    }
}

impl Default for ShingleSettings {
    fn default() -> Self {
        Self {
            unit: Unit::Word,
            size: 3,
            lowercase: true,
            normalize: Normalize::Nfkc,
            fold: BTreeSet::new(),
            multiset: false,
            stopwords: StopWords::default(),
            ignore: IgnoredTexts::default(),
            equivalents: Equivalents::default(),
        }
    }
}
