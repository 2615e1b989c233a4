//! Searches for passages: their options, in the query or in the body, and their body.

use std::num::NonZeroUsize;

use axum::extract::{FromRequest, Request};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::document::{Content, DocumentId};
use crate::engine::{ContainedOf, PassageQuery, Probe};
use crate::http::problem::{Code, Problem};
use crate::http::request::body;
use crate::http::request::lookup::{limit, offset};
use crate::http::request::{
    Body, BodyReader, Chosen, ConditionParameters, GivenId, Media, OptionStruct, PassageInclude,
    Within, WrongOption, json,
};
use crate::http::{AppState, ServerSettings};
use akin_core::scheme::Threshold;

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
