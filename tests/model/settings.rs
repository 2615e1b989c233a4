//! The settings of collections that are played.

use akin::engine::{CollectionSettings, Mode};
use akin_core::scheme::{Kind, Threshold};
use akin_core::text::Unit;

use crate::plain_resemblance::{Least, Rule};
use crate::store_under_test::server_url;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    Bands,
    Indexed,
    Prefix,
    Multiset,
    Tokens,
    Textless,
    Records,
    Passages,
}

/// The guaranteed lengths of runs of words, one after a reindex.
pub const RUN_WORDS: [u32; 2] = [13, 20];

pub const FIELDS: [&str; 3] = ["name", "address", "phone"];

/// The threshold of the clusters that are kept.
pub const CLUSTERED_FROM: f64 = 0.8;

fn threshold(value: f64) -> Threshold {
    value.try_into().unwrap()
}

impl Setting {
    pub fn settings(self) -> CollectionSettings {
        let mut settings = CollectionSettings::default();
        settings.limits.duplicates_max = 1_000;
        settings.limits.checked_max = 1_000;
        // Where lookups find everything.
        let keeps_clusters = server_url().is_none();
        if keeps_clusters && matches!(self, Self::Indexed | Self::Prefix | Self::Textless) {
            settings.clusters.threshold = Some(threshold(CLUSTERED_FROM));
        }
        match self {
            Self::Bands => {}
            Self::Indexed => settings.scheme.exact_from = Some(threshold(0.6)),
            Self::Prefix => {
                settings.scheme.kind = Kind::Prefix;
                settings.scheme.exact_from = Some(threshold(0.6));
            }
            Self::Multiset | Self::Tokens => settings.shingles.multiset = true,
            Self::Textless => {
                settings.store.text = false;
                settings.scheme.exact_from = Some(threshold(0.6));
            }
            Self::Records => {
                settings.shingles.unit = Unit::Field;
                settings.scheme.kind = Kind::Fields;
                settings.scheme.fields = FIELDS.map(str::to_owned).to_vec();
                settings.scheme.points = Some(200);
            }
            Self::Passages => {
                settings.passages.words = RUN_WORDS[0];
                settings.limits.passage_texts_max = 1_000;
            }
        }
        settings
    }

    /// The settings to reindex with, if it can be reindexed.
    pub fn others(self) -> Option<CollectionSettings> {
        let mut settings = self.settings();
        match self {
            Self::Textless => return None,
            Self::Records => settings.scheme.field_sketches = true,
            Self::Tokens => settings.shingles.multiset = false,
            Self::Passages => settings.passages.words = RUN_WORDS[1],
            Self::Bands | Self::Indexed | Self::Prefix | Self::Multiset => {
                settings.shingles.size = 2;
                settings.shingles.multiset ^= self == Self::Multiset;
            }
        }
        Some(settings)
    }

    pub fn modes(self) -> &'static [Mode] {
        match self {
            Self::Records => &[Mode::Verified],
            _ => &[Mode::Exact, Mode::Verified],
        }
    }

    pub fn leasts(self) -> &'static [Least] {
        match self {
            Self::Records => &[Least::Points(100), Least::Points(200), Least::Points(290)],
            _ => &[
                Least::Resemblance(0.4),
                Least::Resemblance(0.6),
                Least::Resemblance(0.8),
                Least::Resemblance(0.95),
                Least::Resemblance(1.0),
            ],
        }
    }

    /// What additions look for where they say nothing.
    pub fn usual_least(self) -> Least {
        match self {
            Self::Records => Least::Points(200),
            _ => Least::Resemblance(0.8),
        }
    }

    /// Whether lookups in the mode find everything.
    pub fn is_whole(self, mode: Mode) -> bool {
        mode == Mode::Exact || self == Self::Prefix
    }
}

pub fn rule_of(settings: &CollectionSettings) -> Rule {
    let shingles = &settings.shingles;
    Rule { shingle_words: shingles.size as usize, multiset: shingles.multiset }
}
