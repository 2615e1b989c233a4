//! Collections and their sizes.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::settings::CollectionSettings;
use crate::time::Time;

/// The size of a collection. A number that its backend does not know is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CollectionSize {
    pub documents: u64,
    /// Distinct sets; equal sets are indexed once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distinct_sets: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<u64>,
    /// Entries of all keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub postings: Option<u64>,
    /// The entries of the key that has most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub postings_longest: Option<u64>,
    /// Memory of the index and of the ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index_bytes: Option<u64>,
    /// On disk, without snapshots and the write-ahead log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database_bytes: Option<u64>,
}

impl CollectionSize {
    /// The memory of the index and the ids for each document, if there are documents.
    pub fn bytes_per_document(&self) -> Option<f64> {
        let index_bytes = self.index_bytes.filter(|_| self.documents > 0)?;
        Some(index_bytes as f64 / self.documents as f64)
    }

    /// The postings of the fullest key, divided by the average postings of a key, if there are
    /// keys.
    pub fn postings_skew(&self) -> Option<f64> {
        let keys = self.keys.filter(|&keys| keys > 0)? as f64;
        Some(self.postings_longest? as f64 / (self.postings? as f64 / keys))
    }
}

/// A collection: its settings and size.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = Collection)]
pub struct CollectionReply {
    #[schema(example = "news")]
    pub name: String,
    /// As text: a command shows the settings of a server of another version, too.
    #[schema(value_type = CollectionSettings)]
    pub settings: Box<RawValue>,
    #[serde(flatten)]
    #[schema(inline)]
    pub size: CollectionSize,
    /// `postings_longest` divided by the average entries of a key; absent while there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub postings_skew: Option<f64>,
}

/// The names of collections.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = Collections)]
pub struct CollectionsReply {
    pub collections: Vec<CollectionNameReply>,
    /// Collections that could not be opened when the server started. Calls on them are answered 503
    /// `collection_unavailable`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub unavailable: Vec<CollectionNameReply>,
}

#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = CollectionEntry)]
pub struct CollectionNameReply {
    #[schema(example = "news")]
    pub name: String,
}

/// A complete snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Snapshot)]
pub struct SnapshotInfo {
    /// The last operation in it.
    pub sequence: u64,
    pub created_at: Time,
    pub bytes: u64,
    pub documents: u64,
}
