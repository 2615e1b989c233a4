//! Looking near-duplicates up.

use std::time::Instant;

use axum::extract::{FromRequest, Request};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, TryStreamExt, stream};

use crate::document::{Content, DocumentId};
use crate::engine::{Conditions, Engine, Lookup, Probe};
use crate::http::AppState;
use crate::http::openapi::schemas::{AnswersSchema, ProbesSchema};
use crate::http::problem::Problem;
use crate::http::problem::code::Code;
use crate::http::problem::of_calls::{ById, Probing};
use crate::http::request::bodies::{self, Probes};
use crate::http::request::conditions::ConditionParameters;
use crate::http::request::extract::Ready;
use crate::http::request::json;
use crate::http::request::parameters::{
    LookupParameters, PostedLookupParameters, StoredLookupParameters,
};
use crate::http::request::query::Query;
use crate::http::request::reading::{self, BodyReader, Media};
use crate::http::response::answers::AnswerReply;
use crate::http::response::json::Json;
use crate::http::response::measured;

/// Probes of one call that are looked up at once.
const PROBES_AT_ONCE: usize = 4;

impl FromRequest<AppState> for Probes {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        let media = Media::of(&parts.headers, &[Media::Json, Media::Text])?;
        let reader = BodyReader::new(body, state);
        if media == Media::Text {
            let bytes_max = state.settings.document_bytes_max;
            let body = reader.whole(bytes_max, Code::DocumentTooLarge).await?;
            return Ok(Self::One(Probe::Content(Content::Text(reading::text(body)?))));
        }
        let body = reader.whole(state.settings.body_bytes_max, Code::BodyTooLarge).await?;
        let probes_max = state.settings.probes_max;
        json::off_runtime_if_large(body, move |body| bodies::probes(&body, probes_max)).await
    }
}

/// Look up a stored document
///
/// The near-duplicates of a stored document, itself left out.
#[utoipa::path(
    get, path = "/similar", operation_id = "similar_to_stored", tag = "Looking up",
    params(
        ("id" = DocumentId, Query, description = "The id of a stored document."),
        LookupParameters,
        ConditionParameters,
    ),
    responses((status = 200, description = "Its near-duplicates.", body = AnswerReply), ById),
)]
pub async fn stored(
    Query(parameters): Query<StoredLookupParameters>,
    Ready(engine): Ready,
) -> Result<Json<AnswerReply>, Problem> {
    let StoredLookupParameters { id, lookup, conditions } = parameters;
    look_up(&engine, Probe::Stored(id), lookup, &conditions).await.map(Json)
}

/// Look up what is posted
///
/// The near-duplicates of a probe, or of each of an array of probes; nothing is stored. If one
/// probe of an array is refused, so is the call, and `errors` points at it.
#[utoipa::path(
    post, path = "/similar", operation_id = "similar_to_posted", tag = "Looking up",
    params(LookupParameters, ConditionParameters),
    request_body(
        content(
            (ProbesSchema = "application/json", example = json!({"text": "the quick brown fox"})),
            (String = "text/plain", example = "the quick brown fox"),
        ),
        description = "One probe, an array of probes, or a text.",
    ),
    responses(
        (status = 200, description = "An answer; to an array of probes an array of answers.",
            body = AnswersSchema),
        Probing,
    ),
)]
pub async fn posted(
    Query(parameters): Query<PostedLookupParameters>,
    Ready(engine): Ready,
    probes: Probes,
) -> Result<Response, Problem> {
    let PostedLookupParameters { lookup, conditions } = parameters;
    match probes {
        Probes::One(probe) => {
            Ok(Json(look_up(&engine, probe, lookup, &conditions).await?).into_response())
        }
        Probes::Many(probes) => {
            Ok(Json(look_all_up(&engine, probes, lookup, &conditions).await?).into_response())
        }
    }
}

async fn look_up(
    engine: &Engine,
    probe: Probe,
    lookup: Lookup,
    conditions: &Conditions,
) -> Result<AnswerReply, Problem> {
    let started = Instant::now();
    let answer = engine.similar_where(probe, lookup, conditions).await?;
    let took = started.elapsed();
    measured::looked_up(&answer, took);
    Ok(AnswerReply::new(answer, took))
}

async fn look_all_up(
    engine: &Engine,
    probes: Vec<Probe>,
    lookup: Lookup,
    conditions: &Conditions,
) -> Result<Vec<AnswerReply>, Problem> {
    let look_one_up = |(at, probe)| async move {
        let answer = look_up(engine, probe, lookup, conditions).await;
        answer.map_err(|problem| problem.under(&format!("/{at}")))
    };
    stream::iter(probes.into_iter().enumerate())
        .map(look_one_up)
        .buffered(PROBES_AT_ONCE)
        .try_collect()
        .await
}
