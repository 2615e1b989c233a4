use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use super::AppState;
use super::code::Code;
use super::problem::{Problem, ProgressReply};
use crate::engine::Engine;

/// The engine, once it is open.
pub struct Ready(pub Arc<Engine>);

impl FromRequestParts<AppState> for Ready {
    type Rejection = Problem;

    async fn from_request_parts(_: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let engine = state.engine.get().cloned();
        engine.map(Self).ok_or_else(|| not_ready(state))
    }
}

fn not_ready(state: &AppState) -> Problem {
    let (done, total) = state.progress.get();
    let detail = if total == 0 {
        "the collection is being opened".to_owned()
    } else {
        format!("{done} of {total} documents are back in the index")
    };
    let progress = Some(ProgressReply { done, total });
    Problem { progress, ..Problem::new(Code::NotReady, detail) }
}
