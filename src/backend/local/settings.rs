use crate::storage::StorageSettings;

/// How a collection lives in this process.
#[derive(Clone, Debug)]
pub struct LocalSettings {
    pub store: StorageSettings,
    /// Keep texts and tokens themselves.
    pub keep_content: bool,
    /// Memory for sets that were used lately.
    pub cache_bytes: u64,
}
