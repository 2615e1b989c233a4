//! Collapsing a ranked list.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use axum::extract::{FromRequest, Request};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::document::DocumentId;
use crate::engine::{Collapsed, Group, GroupMember};
use crate::http::AppState;
use crate::http::openapi::schemas::RankedSchema;
use crate::http::problem::Problem;
use crate::http::problem::code::Code;
use crate::http::problem::of_calls::Collapsing;
use crate::http::request::extract::Ready;
use crate::http::request::json::{self, Object};
use crate::http::request::query::{NoParameters, Query};
use crate::http::request::reading;
use crate::http::response::json::Json;
use crate::scheme::Threshold;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RankedBody {
    ids: Vec<String>,
    threshold: Option<Threshold>,
}

/// The ranked list of a `POST /collapse`.
pub struct Ranked {
    ids: Vec<DocumentId>,
    threshold: Option<Threshold>,
}

impl FromRequest<AppState> for Ranked {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, Problem> {
        let body = reading::whole_json(request, state).await?;
        let ids_max = state.settings.collapse_ids_max;
        json::off_runtime_if_large(body, move |body| ranked(&body, ids_max)).await
    }
}

/// Reads a list of at most `ids_max` distinct ids.
fn ranked(json: &Bytes, ids_max: usize) -> Result<Ranked, Problem> {
    const CODE: Code = Code::InvalidRequest;
    let Object(body) = json::read::<Object<RankedBody>>(json, CODE)?;
    if body.ids.len() > ids_max {
        let detail = format!("{} ids are more than the {ids_max} allowed", body.ids.len());
        return Err(Problem::of_field(CODE, "/ids", detail));
    }
    let mut ids = Vec::with_capacity(body.ids.len());
    let mut seen = HashSet::new();
    for (at, id) in body.ids.into_iter().enumerate() {
        let wrong = |detail: String| Problem::of_field(CODE, format!("/ids/{at}"), detail);
        let id = DocumentId::new(id).map_err(|error| wrong(error.to_string()))?;
        if !seen.insert(id.clone()) {
            return Err(wrong(format!("the id '{id}' is there more than once")));
        }
        ids.push(id);
    }
    Ok(Ranked { ids, threshold: body.threshold })
}

/// A ranked list without what nearly repeats something ranked before it.
#[derive(Serialize, ToSchema)]
#[schema(as = Collapsed)]
pub struct CollapsedReply {
    /// In their order.
    kept: Vec<DocumentId>,
    /// Of each kept document that stands for others, in the same order.
    groups: Vec<GroupReply>,
    /// Those that are not stored, in their order.
    unknown: Vec<DocumentId>,
    #[schema(example = 0.8)]
    threshold: f64,
    took_us: u64,
}

#[derive(Serialize, ToSchema)]
#[schema(as = CollapsedGroup)]
struct GroupReply {
    representative: DocumentId,
    /// In their order.
    members: Vec<GroupMemberReply>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = CollapsedMember)]
struct GroupMemberReply {
    id: DocumentId,
    /// With the representative, exactly.
    #[schema(example = 0.91)]
    resemblance: f64,
}

impl CollapsedReply {
    fn new(collapsed: Collapsed, took: Duration) -> Self {
        let Collapsed { kept, groups, unknown, threshold } = collapsed;
        Self {
            kept,
            groups: groups.into_iter().map(GroupReply::from).collect(),
            unknown,
            threshold: threshold.get(),
            took_us: took.as_micros() as u64,
        }
    }
}

impl From<Group> for GroupReply {
    fn from(Group { representative, members }: Group) -> Self {
        let member = |GroupMember { id, resemblance }| GroupMemberReply { id, resemblance };
        Self { representative, members: members.into_iter().map(member).collect() }
    }
}

/// Collapse a ranked list
///
/// Of each group of near-duplicates the first-ranked stays: ids are gone through in their order,
/// and one joins the first of those kept so far that it resembles at the threshold or over it,
/// else it is kept. Pairs whose sketches are too far apart are passed over, which misses one pair
/// of 10,000 at just the threshold; all others are checked exactly.
#[utoipa::path(
    post, path = "/collapse", operation_id = "collapse", tag = "Looking up",
    request_body(
        content = RankedSchema,
        example = json!({"ids": ["best", "nearly the best", "next"], "threshold": 0.9}),
    ),
    responses(
        (status = 200, description = "What is left of the list.", body = CollapsedReply),
        Collapsing,
    ),
)]
pub async fn collapse(
    _: Query<NoParameters>,
    Ready(engine): Ready,
    Ranked { ids, threshold }: Ranked,
) -> Result<Json<CollapsedReply>, Problem> {
    let started = Instant::now();
    let collapsed = engine.collapse(ids, threshold).await?;
    Ok(Json(CollapsedReply::new(collapsed, started.elapsed())))
}
