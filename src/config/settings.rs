use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tracing_subscriber::filter::Targets;
use utoipa::ToSchema;

use super::backends::PostgresSettings;
use super::{DEFAULT_TOML, StorageBackend};
use crate::backend::SetCache;
use crate::engine::{Clock, CollectionSettings, CollectionsSettings, Opening, StartProgress};
use crate::http::{LoggedRequests, ServerSettings, key_file};
use crate::storage::StorageSettings;

/// All settings. `config/default.toml` explains each key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    pub server: ServerSettings,
    pub storage: StorageSection,
    pub postgres: PostgresSettings,
    pub collection: CollectionSettings,
    pub log: LogSettings,
}

impl Default for Settings {
    fn default() -> Self {
        toml::from_str(DEFAULT_TOML).expect("the compiled-in defaults are valid settings")
    }
}

impl Default for ServerSettings {
    fn default() -> Self {
        Settings::default().server
    }
}

/// Where and how documents are stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StorageSection {
    pub backend: StorageBackend,
    #[schema(value_type = String)]
    pub data_dir: PathBuf,
    /// Seconds between snapshots of the index; 0: no periodic snapshots.
    pub snapshot_interval_s: u64,
    /// A snapshot is taken after this many documents were stored or removed, or an eighth of all
    /// documents if that is more; 0: changes are not counted.
    pub snapshot_operations: u64,
    /// Seconds between removals of expired documents.
    pub expiry_interval_s: u64,
    /// Seconds between measurements of recall; 0: only on request.
    pub recall_interval_s: u64,
    /// Bytes of the cache of sets of all collections.
    pub sets_cache_bytes: u64,
    /// Maximal number of collections.
    pub collections_max: usize,
    /// How many times the limits of `[collection.limits]` the limits of a new collection may be.
    pub limits_factor_max: u32,
    #[serde(flatten)]
    pub store: StorageSettings,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LogSettings {
    /// A level, or a filter like `info,akin::http=debug`.
    pub level: String,
    pub format: LogFormat,
    pub requests: LoggedRequests,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// Text on a terminal, JSON otherwise.
    Auto,
    Text,
    Json,
}

impl Settings {
    /// The file of keys.
    #[must_use]
    pub fn keys_file(&self) -> PathBuf {
        let default = || self.storage.data_dir.join(key_file::DEFAULT_NAME);
        self.server.keys_file.clone().unwrap_or_else(default)
    }

    /// The settings for all collections, which count the progress of their opening.
    #[must_use]
    pub fn of_collections(&self, progress: StartProgress) -> CollectionsSettings {
        let sets = SetCache::new(self.storage.sets_cache_bytes);
        CollectionsSettings {
            collections_max: self.storage.collections_max,
            limits_max: self.collection.limits.times(self.storage.limits_factor_max),
            opening: Opening { sets, progress, clock: Clock::system() },
        }
    }

    /// Faults of well-formed values, each after its section.
    #[must_use]
    pub fn faults(&self) -> Vec<(String, String)> {
        let sections = [
            ("server", self.server.faults()),
            ("storage", self.storage.faults()),
            ("postgres", self.postgres.faults(self.storage.backend)),
            ("log", self.log.faults()),
        ];
        let of = |(section, faults): (&str, Vec<String>)| {
            let section = section.to_owned();
            faults.into_iter().map(move |fault| (section.clone(), fault))
        };
        let of_collection = self.collection.faults().into_iter();
        let of_collection =
            of_collection.map(|(part, fault)| (format!("collection.{part}"), fault));
        sections.into_iter().flat_map(of).chain(of_collection).collect()
    }
}

impl StorageSection {
    fn faults(&self) -> Vec<String> {
        let mut faults = self.store.faults();
        if self.data_dir.as_os_str().is_empty() {
            faults.push("data_dir must not be empty".into());
        }
        if !(1..=86_400).contains(&self.expiry_interval_s) {
            let found = self.expiry_interval_s;
            faults.push(format!("expiry_interval_s must be 1..=86400, not {found}"));
        }
        if !(1..=1_000).contains(&self.collections_max) {
            faults.push(format!("collections_max must be 1..=1000, not {}", self.collections_max));
        }
        if !(1..=10_000).contains(&self.limits_factor_max) {
            let found = self.limits_factor_max;
            faults.push(format!("limits_factor_max must be 1..=10000, not {found}"));
        }
        faults
    }
}

impl LogSettings {
    fn faults(&self) -> Vec<String> {
        match self.level.parse::<Targets>() {
            Ok(_) => vec![],
            Err(reason) => vec![format!("level must be a level or a filter: {reason}")],
        }
    }
}
