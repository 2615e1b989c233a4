//! What survives a crash.

use serde::{Deserialize, Serialize};

/// How documents are kept on disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StorageSettings {}
