use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::scheme::{Scheme, SchemeSettings};
use crate::sketch::SketchSettings;
use crate::text::{ShingleSettings, Unit};

/// A collection's settings. `shingles`, `sketch`, `scheme.kind`, `scheme.bands`, `scheme.rows` and
/// `store` decide what is stored and are fixed for its life.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CollectionSettings {
    pub shingles: ShingleSettings,
    pub sketch: SketchSettings,
    pub scheme: SchemeSettings,
    pub store: StoreSettings,
    pub limits: LimitSettings,
}

impl CollectionSettings {
    /// Everything that decides what is stored, as one line that two equal collections have in
    /// common: the stop words only where texts are cut at them.
    pub(super) fn identity(&self, scheme: &Scheme) -> String {
        let scheme = match scheme {
            Scheme::Bands(bands) => {
                json!({ "kind": self.scheme.kind, "bands": bands.bands, "rows": bands.rows })
            }
        };
        let mut shingles = json!(self.shingles);
        if self.shingles.unit != Unit::Stopword {
            let shingles = shingles.as_object_mut().expect("settings are an object");
            shingles.remove("stopwords");
        }
        json!({
            "shingles": shingles,
            "sketch": self.sketch,
            "scheme": scheme,
            "store": self.store,
        })
        .to_string()
    }

    /// Settings as JSON, with the defaults in place of what is not given. Whatever else is given
    /// stays as it is, for reading to refuse.
    #[must_use]
    pub fn completed(given: Value) -> Value {
        let mut settings = json!(Self::default());
        overlay(&mut settings, given);
        settings
    }

    /// Every fault of the settings, each beginning with its key, after the part that it is in.
    #[must_use]
    pub fn faults(&self) -> Vec<(&'static str, String)> {
        let parts = [
            ("shingles", self.shingles.faults()),
            ("sketch", self.sketch.faults()),
            ("scheme", self.scheme.faults(&self.sketch)),
            ("limits", self.limits.faults()),
        ];
        let of = |(part, faults): (_, Vec<_>)| faults.into_iter().map(move |fault| (part, fault));
        parts.into_iter().flat_map(of).collect()
    }
}

fn overlay(below: &mut Value, above: Value) {
    match (below, above) {
        (Value::Object(below), Value::Object(above)) => {
            for (key, value) in above {
                overlay(below.entry(key).or_insert(Value::Null), value);
            }
        }
        (below, above) => *below = above,
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoreSettings {
    /// Keep the text (or tokens) itself, to give it back and to explain matches.
    pub text: bool,
}

impl Default for StoreSettings {
    fn default() -> Self {
        Self { text: true }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitSettings {
    /// Candidates of one lookup; beyond, the answer says `truncated`.
    pub candidates_max: usize,
    /// Near-duplicates told when a document is added.
    pub duplicates_max: usize,
    /// Shingles of one document: the distinct ones, or all of a multiset.
    pub shingles_max: usize,
    /// Bytes of one document's metadata.
    pub metadata_bytes_max: usize,
    /// Shingles that one collapse has in memory: of the documents that may be near-duplicates of
    /// each other, equal sets counted once.
    pub collapse_shingles_max: usize,
    /// Characters of one text times those of another whose edit distance or longest common
    /// subsequence is asked for.
    pub edit_product_max: u64,
}

impl Default for LimitSettings {
    fn default() -> Self {
        Self {
            candidates_max: 10_000,
            duplicates_max: 20,
            shingles_max: 1_000_000,
            metadata_bytes_max: 65_536,
            collapse_shingles_max: 4 << 20,
            edit_product_max: 1_000_000_000,
        }
    }
}

impl LimitSettings {
    /// Every fault of the settings, each beginning with its key.
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        let at_least_one = [
            ("candidates_max", self.candidates_max),
            ("duplicates_max", self.duplicates_max),
            ("shingles_max", self.shingles_max),
            ("collapse_shingles_max", self.collapse_shingles_max),
        ];
        let zeros = at_least_one.iter().filter(|(_, value)| *value == 0);
        zeros.map(|(key, _)| format!("{key} must be at least 1, not 0")).collect()
    }

    /// The highest that collections may ask for unless the server is told otherwise.
    #[must_use]
    pub fn ceiling() -> Self {
        Self {
            candidates_max: 1_000_000,
            duplicates_max: 10_000,
            shingles_max: 10_000_000,
            metadata_bytes_max: 8 << 20,
            collapse_shingles_max: 64 << 20,
            edit_product_max: 10_000_000_000,
        }
    }

    /// Every limit that is over the ceiling, each fault beginning with its key.
    #[must_use]
    pub fn faults_over(&self, ceiling: &Self) -> Vec<String> {
        let limits = |of: &Self| {
            [
                ("candidates_max", of.candidates_max as u64),
                ("duplicates_max", of.duplicates_max as u64),
                ("shingles_max", of.shingles_max as u64),
                ("metadata_bytes_max", of.metadata_bytes_max as u64),
                ("collapse_shingles_max", of.collapse_shingles_max as u64),
                ("edit_product_max", of.edit_product_max),
            ]
        };
        let pairs = limits(self).into_iter().zip(limits(ceiling));
        let over = pairs.filter(|((_, limit), (_, most))| limit > most);
        let fault = |((key, limit), (_, most))| {
            format!("{key} must be at most the {most} of ceiling.{key}, not {limit}")
        };
        over.map(fault).collect()
    }
}
