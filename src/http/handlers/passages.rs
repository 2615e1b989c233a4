//! Passages that stored documents share with a probe.

use axum::extract::State;
use axum::response::Response;

use crate::engine::{PassageAnswer, Probe};
use crate::http::AppState;
use crate::http::problem::{Code, Problem};
use crate::http::request::merged;
use crate::http::request::passages;
use crate::http::request::{
    AnswerMemory, ConditionParameters, PassageBody, PassageParameters, PostedPassages, Query,
    Ready, StoredId,
};
use crate::http::response::timed_within;
use akin_model::timed::Timed;

type PassagesReply = Timed<PassageAnswer>;

/// Find the passages of a stored document
///
/// Returns the stored documents that share passages with a stored document, without the document
/// itself, and where these passages are. The collection has an index of passages by its setting
/// `passages.words`.
#[utoipa::path(
    get, path = "/passages", operation_id = "passages_of_stored", tag = "Looking up",
    params(StoredId, PassageParameters, ConditionParameters),
    responses(
        (status = 200, description = "Documents with their passages.", body = PassagesReply),
    ),
)]
pub async fn stored(
    Query((stored, given, conditions)): Query<(StoredId, PassageParameters, ConditionParameters)>,
    State(state): State<AppState>,
    Ready(engine): Ready,
    AnswerMemory(memory): AnswerMemory,
) -> Result<Response, Problem> {
    let query = passages::read(&(given, conditions), &state.settings)?;
    timed_within(memory, engine.passages(Probe::Stored(stored.id), &query)).await
}

/// Find the passages of a posted text
///
/// Returns the stored documents that share passages with a text, and where these passages are;
/// nothing is stored. A passage is a run of equal words, or several runs with few words between.
/// Every run of as many words as `guarantee` says is found unless the answer is `truncated`.
#[utoipa::path(
    post, path = "/passages", operation_id = "passages_of_posted", tag = "Looking up",
    params(PassageParameters, ConditionParameters),
    request_body(
        content(
            (PassageBody = "application/json",
                example = json!({"text": "All human beings are born free and equal …"})),
            (String = "text/plain", example = "All human beings are born free and equal …"),
        ),
        description = "A text, or the id of a stored document.",
    ),
    responses(
        (status = 200, description = "Documents with their passages.", body = PassagesReply),
    ),
)]
pub async fn posted(
    Query(call): Query<(PassageParameters, ConditionParameters)>,
    State(state): State<AppState>,
    Ready(engine): Ready,
    AnswerMemory(memory): AnswerMemory,
    PostedPassages { probe, own }: PostedPassages,
) -> Result<Response, Problem> {
    let in_body = own.is_some();
    let query = merged(own, &call).and_then(|given| passages::read(&given, &state.settings));
    let query = query.map_err(|wrong| match in_body {
        true => wrong.in_body(Code::InvalidRequest),
        false => wrong.into(),
    })?;
    timed_within(memory, engine.passages(probe, &query)).await
}
