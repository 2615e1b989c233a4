//! Collapsing a ranked list.

use std::collections::HashSet;

use axum::extract::{FromRequest, Request};
use bytes::Bytes;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::document::DocumentId;
use crate::engine::Collapsed;
use crate::http::AppState;
use crate::http::problem::Problem;
use crate::http::problem::code::Code;
use crate::http::problem::of_calls::Collapsing;
use crate::http::request::extract::Ready;
use crate::http::request::json::{self, Object};
use crate::http::request::query::{NoParameters, Query};
use crate::http::request::reading;
use crate::http::response::json::Json;
use crate::http::response::timed::{Timed, timed};
use crate::scheme::Threshold;

type CollapsedReply = Timed<Collapsed>;

/// A ranked list.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Ranked)]
pub struct RankedBody {
    /// The first ranks highest. An id that comes again counts at its first place.
    ids: Vec<DocumentId>,
    /// By default the collection's threshold.
    threshold: Option<Threshold>,
}

impl FromRequest<AppState> for RankedBody {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, Problem> {
        let body = reading::whole_json(request, state).await?;
        let ids_max = state.settings.collapse_ids_max;
        json::off_runtime_if_large(body, move |body| ranked(&body, ids_max)).await
    }
}

/// Reads a list of at most `ids_max` ids, each at its first occurrence.
fn ranked(json: &Bytes, ids_max: usize) -> Result<RankedBody, Problem> {
    let Object(mut body) = json::read::<Object<RankedBody>>(json, Code::InvalidRequest)?;
    if body.ids.len() > ids_max {
        let detail = format!("{} ids are more than the {ids_max} allowed", body.ids.len());
        return Err(Problem::of_field(Code::InvalidRequest, "/ids", detail));
    }
    let mut seen = HashSet::new();
    body.ids.retain(|id| seen.insert(id.clone()));
    Ok(body)
}

/// Collapse a ranked list
///
/// Keeps the highest-ranked of each group of near-duplicates: going through the ids in their order,
/// each joins the first kept document whose similarity to it is at least the threshold, and is kept
/// itself if there is none. Pairs whose sketches differ too much are not checked, which misses one
/// pair of 10,000 whose similarity is exactly the threshold; all other pairs are checked exactly.
#[utoipa::path(
    post, path = "/collapse", operation_id = "collapse", tag = "Looking up",
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
    _: Query<NoParameters>,
    Ready(engine): Ready,
    RankedBody { ids, threshold }: RankedBody,
) -> Result<Json<CollapsedReply>, Problem> {
    timed(engine.collapse(ids, threshold)).await
}
