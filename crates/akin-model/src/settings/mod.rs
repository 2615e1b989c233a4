//! The settings of a collection.

mod clusters;
mod passages;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use akin_core::scheme::{Kind, Scheme, SchemeSettings};
use akin_core::sketch::{Method, SketchSettings};
use akin_core::text::{CUTTING_VERSION, ShingleSettings, Shingler, Unit};

pub use clusters::ClusteringSettings;
pub use passages::PassageIndexing;

/// A collection's settings. `shingles`, `sketch`, `scheme.kind`, `scheme.bands`, `scheme.rows`,
/// `scheme.fields`, `scheme.field_sketches` and `store.text` decide the stored data and are fixed
/// for the life of the collection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
#[schema(as = Settings)]
pub struct CollectionSettings {
    pub shingles: ShingleSettings,
    pub sketch: SketchSettings,
    pub scheme: SchemeSettings,
    pub store: StoreSettings,
    #[serde(skip_serializing_if = "ClusteringSettings::are_off")]
    pub clusters: ClusteringSettings,
    #[serde(skip_serializing_if = "PassageIndexing::is_off")]
    pub passages: PassageIndexing,
    pub limits: LimitSettings,
}

impl CollectionSettings {
    /// All settings that decide the stored data, as a line of JSON to compare: also the version of
    /// how texts are cut, and the stop words if shingles begin with them.
    pub fn identity(&self, scheme: &Scheme) -> String {
        let scheme = match scheme {
            Scheme::Bands(bands) => {
                json!({ "kind": self.scheme.kind, "bands": bands.bands, "rows": bands.rows })
            }
            Scheme::Prefix(_) => json!({ "kind": self.scheme.kind }),
            Scheme::Fields(fields) => json!({
                "kind": self.scheme.kind,
                "fields": fields.names(),
                "field_sketches": self.scheme.field_sketches,
            }),
        };
        let mut shingles = json!(self.shingles);
        let parts = shingles.as_object_mut().expect("settings are an object");
        if self.shingles.unit != Unit::Stopword {
            parts.remove("stopwords");
        }
        parts.insert("version".to_owned(), json!(CUTTING_VERSION));
        json!({
            "shingles": shingles,
            "sketch": self.sketch,
            "scheme": scheme,
            "store": { "text": self.store.text },
        })
        .to_string()
    }

    /// Makes sets of stored contents, without a limit, as the limit may have been higher when they
    /// were stored.
    pub fn unlimited_shingler(&self) -> Shingler {
        Shingler::new(self.shingles.clone(), self.sketch.seed(), usize::MAX)
    }

    /// Every fault of the settings: the part, and a message that begins with the key.
    pub fn faults(&self) -> Vec<(&'static str, String)> {
        let parts = [
            ("shingles", self.shingles.faults()),
            ("sketch", self.sketch.faults()),
            ("scheme", self.scheme.faults(&self.sketch)),
            ("store", self.store.faults()),
            ("clusters", self.clusters.faults(&self.scheme, &self.sketch)),
            ("passages", self.passages.faults(self)),
            ("limits", self.limits.faults()),
        ];
        let of = |(part, faults): (_, Vec<_>)| faults.into_iter().map(move |fault| (part, fault));
        parts.into_iter().flat_map(of).chain(self.misfits()).collect()
    }

    /// Faults of settings for records and signatures that span several parts.
    fn misfits(&self) -> Vec<(&'static str, String)> {
        let (by_fields, of_fields) =
            (self.scheme.kind == Kind::Fields, self.shingles.unit == Unit::Field);
        let misfit = |part, fault: &str| Some((part, fault.to_owned()));
        let misfits = [
            misfit("shingles", "unit must be field where scheme.kind is fields")
                .filter(|_| by_fields && !of_fields),
            misfit("scheme", "kind must be fields where shingles.unit is field")
                .filter(|_| of_fields && !by_fields),
            misfit("store", "text must be true where scheme.kind is fields: it is compared")
                .filter(|_| by_fields && !self.store.text),
        ];
        misfits.into_iter().flatten().chain(self.misfits_of_signatures()).collect()
    }

    fn misfits_of_signatures(&self) -> Vec<(&'static str, String)> {
        if self.sketch.method != Method::Foreign {
            return Vec::new();
        }
        let by_keys = matches!(self.scheme.kind, Kind::Bands | Kind::RandomRows);
        let faults = [
            (!by_keys, "scheme", "kind must be bands or random_rows"),
            (self.scheme.exact_from.is_some(), "scheme", "exact_from must not be given"),
            (self.shingles != ShingleSettings::default(), "shingles", "must not be given"),
            (!self.store.text, "store", "text must be true"),
        ];
        let found = faults.into_iter().filter(|(is_fault, ..)| *is_fault);
        let fault = |(_, part, fault)| {
            (part, format!("{fault} where sketch.method is foreign: signatures have no sets"))
        };
        found.map(fault).collect()
    }
}

/// Stored parts of a document, and its time to live.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StoreSettings {
    /// Keep the text (or tokens) itself, to give it back and to explain matches.
    pub text: bool,
    /// Seconds until a document without `expires_at` expires. By default it never does.
    #[schema(minimum = 1, maximum = 3_155_760_000_u64)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_s: Option<u64>,
}

/// A hundred years in seconds.
const TTL_S_MAX: u64 = 3_155_760_000;

impl StoreSettings {
    /// Every fault of the settings, each beginning with its key.
    pub fn faults(&self) -> Vec<String> {
        let fault = |ttl_s| format!("ttl_s must be 1..={TTL_S_MAX}, not {ttl_s}");
        let outside = self.ttl_s.filter(|ttl_s| !(1..=TTL_S_MAX).contains(ttl_s));
        outside.map(fault).into_iter().collect()
    }

    /// The time to live in milliseconds.
    pub fn ttl_ms(&self) -> Option<i64> {
        self.ttl_s.map(|ttl_s| ttl_s as i64 * 1_000)
    }
}

impl Default for StoreSettings {
    fn default() -> Self {
        Self { text: true, ttl_s: None }
    }
}

/// The limits of a collection's calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LimitSettings {
    /// Candidates of a lookup; if there are more, the answer says `truncated`.
    #[schema(minimum = 1)]
    pub candidates_max: usize,
    /// Candidates that are checked exactly, in the order of the agreement of their sketches; more
    /// only while at least half of them match. If further candidates may match, the answer says
    /// `truncated`.
    #[schema(minimum = 1)]
    pub checked_max: usize,
    /// Documents on which a filter is evaluated in a lookup, in the order of the agreement of their
    /// sketches; if there are more, the answer says `truncated`.
    #[schema(minimum = 1)]
    pub filtered_max: usize,
    /// Near-duplicates in the answer to an added document.
    #[schema(minimum = 1)]
    pub duplicates_max: usize,
    /// Shingles of a document: its distinct shingles, or all shingles of a multiset.
    #[schema(minimum = 1)]
    pub shingles_max: usize,
    /// Bytes of a document's metadata.
    pub metadata_bytes_max: usize,
    /// Bytes of a field of a record.
    #[schema(minimum = 1)]
    pub field_bytes_max: usize,
    /// Clusters of more documents are counted in metrics and logged as giant.
    #[schema(minimum = 1)]
    pub cluster_members_alarm: usize,
    /// Memory of the clusters that a collection keeps; if they need more, they are dropped.
    pub clusters_bytes_max: u64,
    /// Shingles that a `POST /collapse` holds in memory: the sets of texts, and of stored documents
    /// that may be near-duplicates of each other; equal sets count once.
    #[schema(minimum = 1)]
    pub collapse_shingles_max: usize,
    /// Texts that a search for passages compares, the likeliest first: distinct texts, and of long
    /// texts the blocks that may have a passage. If there are more, the answer says `truncated`.
    #[schema(minimum = 1)]
    pub passage_texts_max: usize,
    /// Words of all texts that a search for passages compares; if there are more, the answer says
    /// `truncated`.
    #[schema(minimum = 1)]
    pub passage_words_max: usize,
    /// The product of two texts' lengths in characters, for the measures `edit` and `lcs`.
    pub edit_product_max: u64,
}

/// Larger sets might exceed the billion bytes that the store accepts for a document.
const SHINGLES_MAX: usize = 100_000_000;

impl Default for LimitSettings {
    fn default() -> Self {
        Self {
            candidates_max: 10_000,
            checked_max: 200,
            filtered_max: 100_000,
            duplicates_max: 20,
            shingles_max: 1_000_000,
            metadata_bytes_max: 65_536,
            field_bytes_max: 4_096,
            cluster_members_alarm: 1_000,
            clusters_bytes_max: 1 << 28,
            collapse_shingles_max: 4 << 20,
            passage_texts_max: 100,
            passage_words_max: 1_000_000,
            edit_product_max: 1_000_000_000,
        }
    }
}

impl LimitSettings {
    /// The limits that may be 0.
    const MAY_BE_ZERO: [&str; 3] = ["metadata_bytes_max", "clusters_bytes_max", "edit_product_max"];

    /// Each limit by its key.
    fn by_key(&self) -> BTreeMap<String, u64> {
        let limits = serde_json::to_value(self).and_then(serde_json::from_value);
        limits.expect("limits are an object of numbers")
    }

    /// Every fault of the settings, each beginning with its key.
    pub fn faults(&self) -> Vec<String> {
        let zeros = self
            .by_key()
            .into_iter()
            .filter(|(key, limit)| *limit == 0 && !Self::MAY_BE_ZERO.contains(&key.as_str()));
        let zeros = zeros.map(|(key, _)| format!("{key} must be at least 1, not 0"));
        let fault = |count| format!("shingles_max must be at most {SHINGLES_MAX}, not {count}");
        zeros.chain((self.shingles_max > SHINGLES_MAX).then(|| fault(self.shingles_max))).collect()
    }

    /// Each limit, `factor` times as high.
    #[must_use]
    pub fn times(&self, factor: u32) -> Self {
        let times = |(key, limit): (String, u64)| (key, limit.saturating_mul(factor.into()).into());
        let limits = Value::Object(self.by_key().into_iter().map(times).collect());
        serde_json::from_value(limits).expect("limits are an object of numbers")
    }

    /// Every limit that is higher than in `highest`, each fault beginning with its key.
    pub fn faults_over(&self, highest: &Self) -> Vec<String> {
        let pairs = self.by_key().into_iter().zip(highest.by_key());
        let over = pairs.filter(|((_, limit), (_, most))| limit > most);
        let fault = |((key, limit), (_, most))| {
            format!("{key} must be at most {most}, not {limit} (storage.limits_factor_max)")
        };
        over.map(fault).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn faults(given: Value) -> Vec<(&'static str, String)> {
        serde_json::from_value::<CollectionSettings>(given).unwrap().faults()
    }

    #[test]
    fn a_set_fits_the_store() {
        let found = |count| faults(json!({"limits": {"shingles_max": count}}));
        assert_eq!(found(100_000_000), []);
        let fault = "shingles_max must be at most 100000000, not 100000001";
        assert_eq!(found(100_000_001), [("limits", fault.to_owned())]);
    }

    #[test]
    fn unit_kind_and_texts_of_records_go_together() {
        let scheme = json!({"kind": "fields", "fields": ["name"]});
        let unit = json!({"unit": "field"});
        assert!(faults(json!({"shingles": unit, "scheme": scheme})).is_empty());
        let parts = |given| faults(given).into_iter().map(|(part, _)| part).collect::<Vec<_>>();
        assert_eq!(parts(json!({"shingles": unit})), ["scheme"]);
        assert_eq!(parts(json!({"scheme": scheme})), ["shingles"]);
        let no_text = json!({"shingles": unit, "scheme": scheme, "store": {"text": false}});
        assert_eq!(parts(no_text), ["store"]);
    }

    #[test]
    fn identity_has_only_settings_that_decide_storage() {
        let settings = CollectionSettings::default();
        let identity = settings.identity(&Scheme::new(&settings.scheme, &settings.sketch));
        let shingles = json!({
            "lowercase": true,
            "multiset": false,
            "normalize": "nfkc",
            "size": 3,
            "unit": "word",
            "version": 2,
        });
        let identity: Value = serde_json::from_str(&identity).unwrap();
        assert_eq!(identity["shingles"], shingles);
        assert_eq!(identity["scheme"], json!({"bands": 32, "kind": "bands", "rows": 4}));
    }
}
