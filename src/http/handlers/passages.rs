//! Searches for passages that stored documents share with a probe.

use std::num::NonZeroUsize;

use axum::extract::{FromRequest, Request, State};
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::document::{Content, DocumentId};
use crate::engine::{ContainedOf, PassageAnswer, PassageQuery, Probe};
use crate::http::problem::{Code, Problem};
use crate::http::request::lookup::{limit, offset};
use crate::http::request::{
    AnswerMemory, Body, BodyReader, Chosen, ConditionParameters, GivenId, Media, OptionStruct,
    PassageInclude, Query, Ready, StoredId, Within, WrongOption, body, json, merged,
};
use crate::http::response::timed_within;
use crate::http::{AppState, ServerSettings};
use akin_core::scheme::Threshold;
use akin_model::timed::Timed;

const CODE: Code = Code::InvalidRequest;

/// The index finds no passage of fewer words.
const WORDS_MIN: u32 = 8;
const WORDS_MAX: u32 = 100_000;

/// Which passages and documents are returned.
#[derive(Clone, Default, Serialize, Deserialize, IntoParams, ToSchema)]
#[into_params(parameter_in = Query)]
pub struct PassageParameters {
    /// The fewest equal words of a passage; by default `passages.words` of the collection. Shorter
    /// passages are found by chance only, as `chances` says. A text of fewer words is found if it
    /// is shared as a whole.
    #[param(value_type = Option<u32>, minimum = 8, maximum = 100_000, example = 20)]
    #[schema(value_type = Option<u32>, minimum = 8, maximum = 100_000)]
    pub words_min: Option<Within<WORDS_MIN, WORDS_MAX>>,
    /// The least share of words in passages: of the probe, or of the match (`of`).
    #[param(value_type = Option<f64>, example = 0.5)]
    #[schema(value_type = Option<f64>)]
    pub containment_min: Option<Threshold>,
    /// Whose words `containment_min` is a share of; by default the probe's.
    pub of: Option<ContainedOf>,
    /// The most documents that are returned.
    #[param(value_type = Option<usize>, minimum = 1, maximum = 10_000, default = 20)]
    #[schema(value_type = Option<usize>, minimum = 1, maximum = 10_000)]
    pub limit: Option<NonZeroUsize>,
    /// Documents to leave out before the first that is returned. Pages of one search have every
    /// document once, unless documents are written between the calls.
    #[param(minimum = 0, maximum = 9_999, default = 0)]
    #[schema(minimum = 0, maximum = 9_999)]
    pub offset: Option<u32>,
    /// `metadata`: the metadata of each document.
    #[param(value_type = Option<String>, pattern = "^metadata$", example = "metadata")]
    #[schema(value_type = Option<Vec<String>>, example = json!(["metadata"]))]
    pub include: Option<Chosen<PassageInclude>>,
}

/// All options of a search for passages, as a client gave them.
pub type PassageOptions = (PassageParameters, ConditionParameters);

impl OptionStruct for PassageParameters {}

/// A text, or the `id` of a stored document. Options may stand in the query instead; an option that
/// stands in both must have the same value.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PassageProbeBody)]
pub struct PassageProbeBody {
    #[schema(value_type = Option<GivenId>)]
    id: Option<DocumentId>,
    text: Option<String>,
}

/// The probe of a `POST /passages`, with its own options.
pub struct PostedPassages {
    pub probe: Probe,
    pub own: Option<PassageOptions>,
}

pub type PassageBody = Body<PassageProbeBody, PassageOptions>;

/// # Errors
/// An option that is out of its range, or without effect.
pub fn read(
    (given, conditions): &PassageOptions,
    settings: &ServerSettings,
) -> Result<PassageQuery, WrongOption> {
    if given.of.is_some() && given.containment_min.is_none() {
        return Err(WrongOption::new("of", "is only for 'containment_min'"));
    }
    let limit = limit(given.limit, settings)?;
    Ok(PassageQuery {
        words_min: given.words_min.map(|Within(words)| words as usize),
        containment_min: given.containment_min.map_or(0.0, Threshold::get),
        of: given.of.unwrap_or_default(),
        limit,
        offset: offset(given.offset, limit, settings)?,
        conditions: conditions.conditions()?,
        metadata: given.include.is_some(),
    })
}

impl PassageProbeBody {
    fn probe(self) -> Result<Probe, Problem> {
        match (self.id, self.text) {
            (Some(id), None) => Ok(Probe::Stored(id)),
            (None, Some(text)) => Ok(Probe::Content(Content::Text(text))),
            _ => {
                let detail = "a search for passages has a text or an id";
                Err(Problem::of_field(CODE, "", detail))
            }
        }
    }
}

impl FromRequest<AppState> for PostedPassages {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        let media = Media::of(&parts.headers, &[Media::Json, Media::Text])?;
        let reader = BodyReader::new(body, &parts.extensions, state);
        if media == Media::Text {
            let probe = Probe::Content(Content::Text(reader.text().await?));
            return Ok(Self { probe, own: None });
        }
        let body = reader.whole_json(state.settings.body_bytes_max, Code::BodyTooLarge).await?;
        let read = |body: bytes::Bytes| {
            let (body, own) = body::read::<PassageProbeBody, _>(&body, CODE)?;
            Ok(Self { probe: body.probe()?, own })
        };
        json::off_runtime_if_long(body, read).await
    }
}

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
    let query = read(&(given, conditions), &state.settings)?;
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
    Query(call): Query<PassageOptions>,
    State(state): State<AppState>,
    Ready(engine): Ready,
    AnswerMemory(memory): AnswerMemory,
    PostedPassages { probe, own }: PostedPassages,
) -> Result<Response, Problem> {
    let in_body = own.is_some();
    let query = merged(own, &call).and_then(|given| read(&given, &state.settings));
    let query = query.map_err(|wrong| match in_body {
        true => wrong.in_body(CODE),
        false => wrong.into(),
    })?;
    timed_within(memory, engine.passages(probe, &query)).await
}
