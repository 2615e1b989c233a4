//! How far a reindex is, or how it ended.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::problem::code::Code;
use crate::settings::CollectionSettings;
use crate::time::Time;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReindexState {
    Running,
    /// The collection has the new settings.
    Done,
    /// The collection is as it was.
    Failed,
}

/// How far a reindex is, or how it ended.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = Reindex)]
pub struct ReindexReply {
    /// `running`; `done`: the collection has the new settings; `failed`: it is as it was.
    pub state: ReindexState,
    /// Documents that the new collection has so far.
    pub documents_done: u64,
    /// Documents that the collection had when this began; more may have come since.
    pub documents_total: u64,
    pub settings: CollectionSettings,
    pub started_at: Time,
    /// Absent while it is running.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Time>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<ReindexFailure>,
}

#[derive(Serialize, Deserialize, ToSchema)]
pub struct ReindexFailure {
    pub code: Code,
    pub detail: String,
}
