use crate::backend::{Clock, Opening, SetCache};
use crate::storage::StorageSettings;
use akin_core::passages::PassageSettings;
use akin_core::scheme::Threshold;
use akin_core::text::Shingler;
use akin_model::settings::CollectionSettings;

/// Settings of a collection in this process.
#[derive(Clone, Debug)]
pub struct LocalSettings {
    pub store: StorageSettings,
    /// Cuts stored contents into sets again, without a limit on the number of shingles.
    pub shingler: Shingler,
    /// Whether texts and tokens themselves are kept.
    pub keep_content: bool,
    /// The lowest threshold covered by the index for exact lookups, if any.
    pub exact_from: Option<Threshold>,
    /// The default lifetime of documents; `None` for no limit.
    pub ttl_ms: Option<i64>,
    /// The cache of recently used sets.
    pub sets: SetCache,
    /// The most memory of the clusters; `None` if they are not kept.
    pub clusters_bytes_max: Option<u64>,
    /// Of the index of passages; `None` without one.
    pub passages: Option<PassageSettings>,
    /// Determines the times of storage and expiry.
    pub clock: Clock,
}

impl LocalSettings {
    pub(super) fn new(
        settings: &CollectionSettings,
        store: StorageSettings,
        opening: &Opening,
    ) -> Self {
        let CollectionSettings { clusters, limits, .. } = settings;
        Self {
            store,
            shingler: settings.unlimited_shingler(),
            keep_content: settings.store.text,
            exact_from: settings.scheme.exact_from(),
            ttl_ms: settings.store.ttl_ms(),
            sets: opening.sets.clone(),
            clusters_bytes_max: clusters.threshold.map(|_| limits.clusters_bytes_max),
            passages: settings.passages.settings(),
            clock: opening.clock.clone(),
        }
    }
}
