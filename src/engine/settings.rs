use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::scheme::{Bands, SchemeSettings};
use crate::sketch::SketchSettings;
use crate::text::{ShingleSettings, Unit};

/// A collection's settings. `shingles`, `sketch`, `scheme.kind`, `scheme.bands`, `scheme.rows` and
/// `store.text` decide what is stored and are fixed for its life.
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
    pub(super) fn identity(&self, bands: &Bands) -> String {
        let scheme = json!({ "kind": self.scheme.kind, "bands": bands.bands, "rows": bands.rows });
        let mut shingles = json!(self.shingles);
        if self.shingles.unit != Unit::Stopword {
            let shingles = shingles.as_object_mut().expect("settings are an object");
            shingles.remove("stopwords");
        }
        json!({
            "shingles": shingles,
            "sketch": self.sketch,
            "scheme": scheme,
            "store": { "text": self.store.text },
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
            ("store", self.store.faults()),
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
    /// Seconds that a document lives that does not say when it expires; `None` for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_s: Option<u64>,
}

/// A hundred years in seconds.
const TTL_S_MAX: u64 = 3_155_760_000;

impl StoreSettings {
    /// Every fault of the settings, each beginning with its key.
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        let fault = |ttl_s| format!("ttl_s must be 1..={TTL_S_MAX}, not {ttl_s}");
        let outside = self.ttl_s.filter(|ttl_s| !(1..=TTL_S_MAX).contains(ttl_s));
        outside.map(fault).into_iter().collect()
    }

    /// The same in milliseconds.
    pub(super) fn ttl_ms(&self) -> Option<i64> {
        self.ttl_s.map(|ttl_s| ttl_s as i64 * 1_000)
    }
}

impl Default for StoreSettings {
    fn default() -> Self {
        Self { text: true, ttl_s: None }
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
}

impl Default for LimitSettings {
    fn default() -> Self {
        Self {
            candidates_max: 10_000,
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
            ("duplicates_max", self.duplicates_max),
            ("shingles_max", self.shingles_max),
        ];
        let zeros = at_least_one.iter().filter(|(_, value)| *value == 0);
        zeros.map(|(key, _)| format!("{key} must be at least 1, not 0")).collect()
    }
}
