//! How far a reindex is.

use crate::engine::ReindexStatus;
use crate::http::problem::Problem;
use crate::http::response::reply::Bounded;
use akin_model::reindex::{ReindexFailure, ReindexReply};
use akin_model::time::Time;

impl Bounded for ReindexReply {}

/// A reindex as clients see it.
pub fn reply(status: ReindexStatus) -> ReindexReply {
    let failure = status.failure.map(Problem::from);
    ReindexReply {
        state: status.state,
        documents_done: status.done,
        documents_total: status.total,
        settings: status.settings,
        started_at: Time(status.started_at_ms),
        ended_at: status.ended_at_ms.map(Time),
        failure: failure.map(|Problem { code, detail, .. }| ReindexFailure { code, detail }),
    }
}
