//! Collapsing a ranked list.

use std::collections::HashSet;
use std::num::NonZeroUsize;

use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::document::{Content, DocumentId};
use crate::engine::{Collapsed, Collapsing, HitName, RankedHit};
use crate::http::ServerSettings;
use crate::http::problem::{Code, Problem};
use crate::http::request::{
    AnswerMemory, Body, BodyMembers, GivenId, JsonCall, OptionStruct, Ready, check_count,
};
use crate::http::response::timed_within;
use akin_core::scheme::Threshold;
use akin_model::content::Object;
use akin_model::timed::Timed;

type CollapsedReply = Timed<Collapsed>;

/// A ranked list: either `ids` or `hits`. Options may stand in the query instead.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Ranked)]
pub struct RankedList {
    /// Stored documents. The first ranks highest. An id that comes again counts at its first place.
    #[schema(value_type = Option<Vec<GivenId>>)]
    ids: Option<Vec<DocumentId>>,
    /// Stored documents and texts. The first ranks highest. A hit with an id that comes again is
    /// left out.
    #[schema(value_type = Option<Vec<HitBody>>)]
    hits: Option<Vec<Object<HitBody>>>,
}

/// A hit of any store: it has an `id`, a `text`, or both.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Hit)]
pub struct HitBody {
    /// A stored document is compared by its stored sketch and set.
    #[schema(value_type = Option<GivenId>)]
    id: Option<DocumentId>,
    /// Compared if there is no id, or no document with this id.
    text: Option<String>,
}

type RankedBody = Body<RankedList, CollapseParameters>;

impl OptionStruct for CollapseParameters {}

/// How a list is collapsed.
#[derive(Clone, Default, Serialize, Deserialize, IntoParams, ToSchema)]
#[into_params(parameter_in = Query)]
pub struct CollapseParameters {
    /// By default the collection's threshold.
    threshold: Option<Threshold>,
    /// The number of hits at the front of the list that earlier pages have kept: they are not
    /// compared with each other and are not in `kept`, and the hits after them join their groups.
    /// The list of the next page is all hits that were kept so far, then the hits that are neither
    /// kept nor in `groups`.
    #[param(default = 0)]
    offset: Option<usize>,
    /// The most hits in `kept`; by default all. The rest of the list still joins their groups.
    #[param(value_type = Option<usize>, minimum = 1)]
    #[schema(value_type = Option<usize>, minimum = 1)]
    limit: Option<NonZeroUsize>,
}

impl BodyMembers for RankedList {
    type Options = CollapseParameters;
    /// The hits with their positions in the list, each id at its first occurrence.
    type Checked = Vec<(usize, RankedHit)>;

    fn check(self, settings: &ServerSettings) -> Result<Self::Checked, Problem> {
        let hits: Vec<(usize, RankedHit)> = match (self.ids, self.hits) {
            (Some(ids), None) => {
                check_count("/ids", "ids", ids.len(), settings.limit_max)?;
                ids.into_iter().map(RankedHit::stored).enumerate().collect()
            }
            (None, Some(hits)) => {
                check_count("/hits", "hits", hits.len(), settings.limit_max)?;
                let hits = hits.into_iter().enumerate();
                hits.map(|(at, Object(hit))| hit.read(at)).collect::<Result<_, Problem>>()?
            }
            _ => {
                let detail = "a ranked list has exactly one of ids and hits";
                return Err(Problem::of_field(Code::InvalidRequest, "", detail));
            }
        };
        let mut seen = HashSet::new();
        let is_first =
            |(_, hit): &(usize, RankedHit)| hit.id.clone().is_none_or(|id| seen.insert(id));
        Ok(hits.into_iter().filter(is_first).collect())
    }
}

impl HitBody {
    fn read(self, at: usize) -> Result<(usize, RankedHit), Problem> {
        if self.id.is_none() && self.text.is_none() {
            let (pointer, detail) = (format!("/hits/{at}"), "a hit has an id, a text or both");
            return Err(Problem::of_field(Code::InvalidRequest, pointer, detail));
        }
        let Self { id, text } = self;
        Ok((at, RankedHit { name: HitName::Position(at), id, text: text.map(Content::Text) }))
    }
}

/// Collapse a ranked list
///
/// Keeps the highest-ranked of each group of near-duplicates: each hit, in the order of the list,
/// joins the first kept hit with a similarity of at least the threshold; without such a hit it is
/// kept. The list has `ids` of stored documents, which the answer names by their ids, or `hits` of
/// any store with ids or texts, which the answer names by their positions from 0. Hits that have
/// nothing to compare are kept in their places, and listed in `unknown`, too. Pairs of sketches
/// that differ too much are not checked, which misses 1 pair in 10,000 among pairs at exactly the
/// threshold; all other pairs are checked exactly.
#[utoipa::path(
    post, path = "/collapse", operation_id = "collapse", tag = "Looking up",
    params(CollapseParameters),
    request_body(
        content = RankedBody,
        examples(
            ("ids" = (value =
                json!({"ids": ["best", "nearly the best", "next"], "threshold": 0.9}))),
            ("hits" = (value = json!({"hits": [
                {"id": "best"}, {"id": "new", "text": "the fox"}, {"text": "the dog"},
            ]}))),
        ),
    ),
    responses(
        (status = 200, description = "The collapsed list.", body = CollapsedReply),
    ),
)]
pub async fn collapse(
    Ready(engine): Ready,
    AnswerMemory(memory): AnswerMemory,
    JsonCall(hits, options): JsonCall<RankedList>,
) -> Result<Response, Problem> {
    let CollapseParameters { threshold, offset, limit } = options;
    // Positions count hits that were left out, too.
    let offset = offset.map_or(0, |offset| hits.partition_point(|(at, _)| *at < offset));
    let collapsing = Collapsing { threshold, offset, limit: limit.map(NonZeroUsize::get) };
    let hits = hits.into_iter().map(|(_, hit)| hit).collect();
    timed_within(memory, engine.collapse(hits, collapsing)).await
}
