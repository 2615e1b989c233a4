//! Collapsing a ranked list.

use std::num::NonZeroUsize;

use axum::extract::{FromRequest, Request};
use axum::response::Response;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::budget::Reservation;
use crate::document::DocumentId;
use crate::engine::Collapsed;
use crate::http::AppState;
use crate::http::handlers::fetch::distinct;
use crate::http::problem::Problem;
use crate::http::problem::code::Code;
use crate::http::problem::of_calls::Collapsing;
use crate::http::request::bodies::GivenId;
use crate::http::request::body::{Body, OptionStruct, merged};
use crate::http::request::extract::{AnswerMemory, Ready};
use crate::http::request::json;
use crate::http::request::query::Query;
use crate::http::request::reading;
use crate::http::response::timed::timed_within;
use akin_core::scheme::Threshold;
use akin_model::timed::Timed;

type CollapsedReply = Timed<Collapsed>;

/// A ranked list. Options may stand in the query instead.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Ranked)]
pub struct RankedIds {
    /// The first ranks highest. An id that comes again counts at its first place.
    #[schema(value_type = Vec<GivenId>)]
    ids: Vec<DocumentId>,
}

type RankedBody = Body<RankedIds, CollapseParameters>;

/// The ids of a `POST /collapse`, and the options beside them.
pub struct Ranked(Vec<DocumentId>, Option<CollapseParameters>);

impl OptionStruct for CollapseParameters {}

/// How a list is collapsed.
#[derive(Clone, Default, Serialize, Deserialize, IntoParams, ToSchema)]
#[into_params(parameter_in = Query)]
pub struct CollapseParameters {
    /// By default the collection's threshold.
    threshold: Option<Threshold>,
    /// The most ids in `kept`; by default all. The rest of the list still joins their groups.
    #[param(value_type = Option<usize>, minimum = 1)]
    #[schema(value_type = Option<usize>, minimum = 1)]
    limit: Option<NonZeroUsize>,
}

impl FromRequest<AppState> for Ranked {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, Problem> {
        let body = reading::whole_json(request, state).await?;
        let ids_max = state.settings.limit_max;
        json::off_runtime_if_large(body, move |body| ranked(&body, ids_max)).await
    }
}

/// Reads a list of at most `ids_max` ids, each at its first occurrence.
fn ranked(json: &Bytes, ids_max: usize) -> Result<Ranked, Problem> {
    const CODE: Code = Code::InvalidRequest;
    let (RankedIds { ids }, own) = json::read::<RankedBody>(json, CODE)?.read(CODE)?;
    Ok(Ranked(distinct(ids, ids_max)?, own))
}

/// Collapse a ranked list
///
/// Keeps the highest-ranked of each group of near-duplicates: each id, in the order of the list,
/// joins the first kept document with a similarity of at least the threshold; without such a
/// document it is kept. Ids that are not stored are kept in their places, and listed in `unknown`,
/// too. Pairs of sketches that differ too much are not checked, which misses 1 pair in 10,000 among
/// pairs at exactly the threshold; all other pairs are checked exactly.
#[utoipa::path(
    post, path = "/collapse", operation_id = "collapse", tag = "Looking up",
    params(CollapseParameters),
    request_body(
        content = RankedBody,
        example = json!({"ids": ["best", "nearly the best", "next"], "threshold": 0.9}),
    ),
    responses(
        (status = 200, description = "The collapsed list.", body = CollapsedReply),
        Collapsing,
    ),
)]
pub async fn collapse(
    Query(parameters): Query<CollapseParameters>,
    Ready(engine): Ready,
    AnswerMemory(memory): AnswerMemory,
    Ranked(ids, own): Ranked,
) -> Result<Response, Problem> {
    let CollapseParameters { threshold, limit } = merged(own, &parameters)?;
    let limit = limit.map(NonZeroUsize::get);
    let collapse =
        async |memory: &Reservation| engine.collapse(ids, threshold, limit, Some(memory)).await;
    timed_within(memory, collapse).await
}
