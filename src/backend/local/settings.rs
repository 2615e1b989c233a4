use crate::backend::Clock;
use crate::scheme::Threshold;
use crate::storage::StorageSettings;
use crate::text::Shingler;

/// How a collection lives in this process.
#[derive(Clone, Debug)]
pub struct LocalSettings {
    pub store: StorageSettings,
    /// Cuts stored contents into their sets again; of any number of shingles.
    pub shingler: Shingler,
    /// Keep texts and tokens themselves.
    pub keep_content: bool,
    /// The lowest threshold that exact lookups have an index for, if any.
    pub exact_from: Option<Threshold>,
    /// How long documents live that do not say when they expire; `None` for ever.
    pub ttl_ms: Option<i64>,
    /// Memory for sets that were used lately.
    pub cache_bytes: u64,
    /// By which documents are stored and expire.
    pub clock: Clock,
}
