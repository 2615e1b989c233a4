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
            Scheme::Prefix(_) => json!({ "kind": self.scheme.kind }),
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
    /// Of those, the ones that are checked and given, which agree best; `limit` if that is more.
    /// Beyond, the answer says `truncated`.
    pub checked_max: usize,
    /// Near-duplicates told when a document is added.
    pub duplicates_max: usize,
    /// Shingles of one document: the distinct ones, or all of a multiset.
    pub shingles_max: usize,
    /// Bytes of one document's metadata.
    pub metadata_bytes_max: usize,
}

impl Default for LimitSettings {
    fn default() -> Self {
        Self {
            candidates_max: 10_000,
            checked_max: 40,
            duplicates_max: 20,
            shingles_max: 1_000_000,
            metadata_bytes_max: 65_536,
        }
    }
}

impl LimitSettings {
    /// Every fault of the settings, each beginning with its key.
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        let at_least_one = [
            ("candidates_max", self.candidates_max),
            ("checked_max", self.checked_max),
            ("duplicates_max", self.duplicates_max),
            ("shingles_max", self.shingles_max),
        ];
        let zeros = at_least_one.iter().filter(|(_, value)| *value == 0);
        zeros.map(|(key, _)| format!("{key} must be at least 1, not 0")).collect()
    }
}
