//! Stand-ins until the layers that own these settings bring them.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServerSettings {
    pub listen: String,
    pub request_timeout_ms: u64,
    pub body_idle_timeout_ms: u64,
    pub document_bytes_max: usize,
    pub body_bytes_max: usize,
    pub probes_max: usize,
    pub requests_in_flight_max: usize,
    pub bulk_requests_max: usize,
    pub bulk_documents_in_flight_max: usize,
    pub limit_max: usize,
    pub shutdown_grace_ms: u64,
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:7700".into(),
            request_timeout_ms: 30_000,
            body_idle_timeout_ms: 30_000,
            document_bytes_max: 8 << 20,
            body_bytes_max: 16 << 20,
            probes_max: 100,
            requests_in_flight_max: 1024,
            bulk_requests_max: 8,
            bulk_documents_in_flight_max: 512,
            limit_max: 10_000,
            shutdown_grace_ms: 10_000,
        }
    }
}

impl ServerSettings {
    pub fn faults(&self) -> Vec<String> {
        if self.probes_max == 0 { vec!["probes_max must be at least 1".into()] } else { vec![] }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StorageSettings {
    pub sync: Sync,
    pub sync_interval_ms: u64,
    pub readers: u32,
    pub compression_level: i32,
    pub queue_writes_max: u32,
    pub group_writes_max: u32,
    pub group_bytes_max: u64,
    pub snapshots_kept: u32,
    pub page_cache_bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sync {
    Always,
    Interval,
}

impl Default for StorageSettings {
    fn default() -> Self {
        Self {
            sync: Sync::Always,
            sync_interval_ms: 1000,
            readers: 4,
            compression_level: 1,
            queue_writes_max: 1024,
            group_writes_max: 1024,
            group_bytes_max: 16 << 20,
            snapshots_kept: 2,
            page_cache_bytes: 64 << 20,
        }
    }
}

impl StorageSettings {
    pub fn faults(&self) -> Vec<String> {
        if self.readers == 0 { vec!["readers must be 1..=256, not 0".into()] } else { vec![] }
    }
}
