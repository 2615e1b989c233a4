//! Removing many documents at once.

use std::time::Instant;

use axum::extract::State;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::document::DocumentId;
use crate::engine::{Collection, Removed};
use crate::http::access::RequestClient;
use crate::http::handlers::document::distinct;
use crate::http::problem::{Code, Problem};
use crate::http::request::{
    Body, BodyMembers, ConditionParameters, GivenId, JsonCall, Query, Ready,
};
use crate::http::response::{Bounded, Json};
use crate::http::{AppState, ServerSettings};
use akin_model::timed::Timed;

type RemovedReply = Timed<Removed>;

impl Bounded for Removed {}

/// Remove documents
///
/// Removes every document that meets the conditions in one consistent view; documents that are
/// added or replaced during the removal stay. At least one condition must be given. Answers once
/// all are removed, however long that takes. If the client disconnects, the removal stops;
/// documents removed by then stay removed, and the same call removes the rest.
#[utoipa::path(
    delete, path = "/documents", operation_id = "remove_documents", tag = "Documents",
    params(ConditionParameters),
    responses(
        (status = 200, description = "The documents are removed.", body = RemovedReply),
    ),
)]
pub async fn remove(
    Query(parameters): Query<ConditionParameters>,
    State(state): State<AppState>,
    Ready(engine): Ready,
    client: RequestClient,
) -> Result<Json<RemovedReply>, Problem> {
    remove_where(parameters, &state, &engine, client).await.map(Json)
}

async fn remove_where(
    parameters: ConditionParameters,
    state: &AppState,
    engine: &Collection,
    client: RequestClient,
) -> Result<RemovedReply, Problem> {
    let conditions = parameters.conditions()?;
    let _permit = state.bulk_requests.take(&client)?;
    let started = Instant::now();
    let outcome = engine.remove_where(conditions).await?;
    Ok(logged(outcome, started, engine))
}

fn logged(outcome: Removed, started: Instant, engine: &Collection) -> RemovedReply {
    let took = started.elapsed();
    let (Removed { matched, removed }, took_us) = (outcome, took.as_micros() as u64);
    tracing::info!(collection = %engine.name(), matched, removed, took_us, "bulk removal");
    Timed::new(outcome, took)
}

/// The documents to remove: the documents with these ids, or the documents that meet all
/// conditions.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Unwanted)]
pub struct UnwantedIds {
    #[schema(value_type = Option<Vec<GivenId>>)]
    ids: Option<Vec<DocumentId>>,
}

type UnwantedBody = Body<UnwantedIds, ConditionParameters>;

impl BodyMembers for UnwantedIds {
    type Options = ConditionParameters;
    /// `None`: the documents that meet the conditions.
    type Checked = Option<Vec<DocumentId>>;

    fn check(self, settings: &ServerSettings) -> Result<Self::Checked, Problem> {
        self.ids.map(|ids| distinct(ids, settings.limit_max)).transpose()
    }
}

/// Remove documents that the body names
///
/// Removes the documents with these ids, or, like `DELETE /documents`, all that meet the
/// conditions. Ids that are not stored are passed over: `matched` is the number of stored
/// documents. If the call fails, some may be removed; the same call removes the rest.
#[utoipa::path(
    post, path = "/remove", operation_id = "remove_named_documents", tag = "Documents",
    request_body(content = UnwantedBody, example = json!({"ids": ["a", "b"]})),
    responses(
        (status = 200, description = "The documents are removed.", body = RemovedReply),
    ),
)]
pub async fn remove_named(
    State(state): State<AppState>,
    Ready(engine): Ready,
    client: RequestClient,
    JsonCall(ids, conditions): JsonCall<UnwantedIds>,
) -> Result<Json<RemovedReply>, Problem> {
    let ids = match (ids, conditions.are_any()) {
        (Some(ids), false) => ids,
        (None, true) => return remove_where(conditions, &state, &engine, client).await.map(Json),
        _ => {
            let detail =
                "takes either ids, or at least one of filter, stored_after and stored_before";
            return Err(Problem::of_field(Code::InvalidRequest, "", detail));
        }
    };
    let _permit = state.bulk_requests.take(&client)?;
    let started = Instant::now();
    let outcome = engine.remove_all(ids).await?;
    Ok(Json(logged(outcome, started, &engine)))
}
