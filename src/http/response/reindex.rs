//! The wire types of a reindex.

use serde::Serialize;
use utoipa::ToSchema;

use crate::engine::{CollectionSettings, ReindexState, ReindexStatus};
use crate::http::problem::Problem;
use crate::http::problem::code::Code;
use crate::http::response::json::Bounded;
use akin_model::time::Time;

/// How far a reindex is, or how it ended.
#[derive(Serialize, ToSchema)]
#[schema(as = Reindex)]
pub struct ReindexReply {
    /// `running`; `done`: the collection has the new settings; `failed`: it is as it was.
    state: ReindexState,
    /// Documents that the new collection has so far.
    documents_done: u64,
    /// Documents that the collection had when this began; more may have come since.
    documents_total: u64,
    settings: CollectionSettings,
    started_at: Time,
    /// Absent while it is running.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<Time>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<ReindexFailure>,
}

impl Bounded for ReindexReply {}

#[derive(Serialize, ToSchema)]
struct ReindexFailure {
    code: Code,
    detail: String,
}

impl From<ReindexStatus> for ReindexReply {
    fn from(status: ReindexStatus) -> Self {
        let failure = status.failure.map(Problem::from);
        Self {
            state: status.state,
            documents_done: status.done,
            documents_total: status.total,
            settings: status.settings,
            started_at: Time(status.started_at_ms),
            ended_at: status.ended_at_ms.map(Time),
            failure: failure.map(|Problem { code, detail, .. }| ReindexFailure { code, detail }),
        }
    }
}
