//! The probes that are looked up or compared.

use axum::extract::{FromRequest, Request};
use bytes::Bytes;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::document::{Content, DocumentId, Token};
use crate::engine::Probe;
use crate::http::problem::Problem;
use crate::http::problem::code::Code;
use crate::http::request::bodies::GivenId;
use crate::http::request::body::{self, Body, Members};
use crate::http::request::json;
use crate::http::request::lookup::LookupOptions;
use crate::http::request::options::CompareParameters;
use crate::http::request::reading::{self, BodyReader, Media};
use crate::http::{AppState, ServerSettings};
use akin_model::content::{FieldsBody, Object, content};

const CODE: Code = Code::InvalidRequest;

/// A document to compare: it has exactly one of `id` (of a stored document), `text`, `tokens`,
/// `fields` and `signature`. A document to look up may have an `id` and one of the others, which is
/// looked up if the id is not stored.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Probe)]
pub struct ProbeBody {
    #[schema(value_type = Option<GivenId>)]
    id: Option<DocumentId>,
    text: Option<String>,
    tokens: Option<Vec<Token>>,
    fields: Option<FieldsBody>,
    #[schema(min_items = 16, max_items = 1024)]
    signature: Option<Vec<u64>>,
    /// Ignored, so that documents can be sent as they are.
    #[serde(rename = "metadata")]
    #[schema(value_type = Option<serde_json::Value>)]
    _metadata: Option<IgnoredAny>,
    /// Ignored.
    #[serde(rename = "expires_at")]
    #[schema(value_type = Option<serde_json::Value>)]
    _expires_at: Option<IgnoredAny>,
}

/// A document to look up. Options may stand in the query instead; an option that stands in both
/// must have the same value.
pub type LookupBody = Body<ProbeBody, LookupOptions>;

/// A probe to look up with the options that it has itself.
pub struct OwnProbe {
    pub probe: Probe,
    /// Looked up if the probe is not stored.
    pub fallback: Option<Content>,
    pub options: Option<LookupOptions>,
}

/// The probes of a `POST /similar`. An element that is not a probe does not fail the other probes.
pub enum Probes {
    One(OwnProbe),
    /// An array, which is answered by an array.
    Array(Vec<Result<OwnProbe, Problem>>),
    /// NDJSON, which is answered by NDJSON.
    Lines(Vec<Result<OwnProbe, Problem>>),
}

/// A probe, or an array of probes.
#[derive(ToSchema)]
#[serde(untagged)]
#[schema(as = Probes)]
#[expect(dead_code, reason = "it documents what a body may be")]
pub enum ProbesBody {
    One(LookupBody),
    Many(Vec<LookupBody>),
}

/// Two probes to compare. Options may stand in the query instead; an option that stands in both
/// must have the same value.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Pair)]
pub struct PairMembers {
    #[schema(value_type = ProbeBody)]
    a: Object<ProbeBody>,
    #[schema(value_type = ProbeBody)]
    b: Object<ProbeBody>,
}

pub type PairBody = Body<PairMembers, CompareParameters>;

impl ProbeBody {
    /// Either an id or a content.
    fn probe(self) -> Result<Probe, Problem> {
        match self.with_fallback()? {
            (probe, None) => Ok(probe),
            (_, Some(_)) => Err(wrong_members()),
        }
    }

    /// An id, a content, or an id with the content that is looked up if the id is not stored.
    fn with_fallback(self) -> Result<(Probe, Option<Content>), Problem> {
        let Self { id, text, tokens, fields, signature, .. } = self;
        let has_content =
            text.is_some() || tokens.is_some() || fields.is_some() || signature.is_some();
        match (id, content(text, tokens, fields, signature)) {
            (Some(id), None) if !has_content => Ok((Probe::Stored(id), None)),
            (Some(id), Some(content)) => Ok((Probe::Stored(id), Some(content))),
            (None, Some(content)) => Ok((Probe::Content(content), None)),
            _ => Err(wrong_members()),
        }
    }
}

fn wrong_members() -> Problem {
    let detail = "a probe has exactly one of id, text, tokens, fields and signature; one that is \
                  looked up may have an id and one of the others";
    Problem::of_field(CODE, "", detail)
}

impl FromRequest<AppState> for Probes {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        let media = Media::of(&parts.headers, &[Media::Json, Media::Ndjson, Media::Text])?;
        let reader = BodyReader::new(body, &parts.extensions, state);
        if media == Media::Text {
            let bytes_max = state.settings.document_bytes_max;
            let body = reader.whole(bytes_max, Code::DocumentTooLarge).await?;
            let probe = Probe::Content(Content::Text(reading::text(body)?));
            return Ok(Self::One(OwnProbe { probe, fallback: None, options: None }));
        }
        let body = reader.whole_json(state.settings.body_bytes_max, Code::BodyTooLarge).await?;
        let probes_max = state.settings.probes_max;
        json::off_runtime_if_large(body, move |body| match media {
            Media::Ndjson => lines(&body, probes_max).map(Self::Lines),
            _ if body.trim_ascii_start().first() == Some(&b'[') => {
                array(&body, probes_max).map(Self::Array)
            }
            _ => probe(&body).map(Self::One),
        })
        .await
    }
}

pub fn probe(json: &[u8]) -> Result<OwnProbe, Problem> {
    let (body, options) = body::read::<ProbeBody, _>(json, CODE)?;
    let (probe, fallback) = body.with_fallback()?;
    Ok(OwnProbe { probe, fallback, options })
}

/// Reads an array of at most `probes_max` probes.
pub fn array(json: &Bytes, probes_max: usize) -> Result<Vec<Result<OwnProbe, Problem>>, Problem> {
    // Counted first, which takes no memory: a probe takes a hundred times the bytes of `{},`.
    check_count(json::read::<Vec<IgnoredAny>>(json, CODE)?.len(), probes_max)?;
    let elements: Vec<&RawValue> = json::read(json, CODE)?;
    Ok(elements.into_iter().map(|element| probe(element.get().as_bytes())).collect())
}

/// Reads at most `probes_max` lines with a probe on each; empty lines are passed over.
pub fn lines(body: &Bytes, probes_max: usize) -> Result<Vec<Result<OwnProbe, Problem>>, Problem> {
    let lines = || body.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    check_count(lines().count(), probes_max)?;
    Ok(lines().map(probe).collect())
}

fn check_count(count: usize, probes_max: usize) -> Result<(), Problem> {
    if count <= probes_max {
        return Ok(());
    }
    let detail = format!("{count} probes are more than the {probes_max} allowed");
    Err(Problem::of_field(CODE, "", detail))
}

impl Members for PairMembers {
    type Options = CompareParameters;
    type Checked = (Probe, Probe);

    fn check(self, _: &ServerSettings) -> Result<(Probe, Probe), Problem> {
        let a = self.a.0.probe().map_err(|problem| problem.under("/a"))?;
        let b = self.b.0.probe().map_err(|problem| problem.under("/b"))?;
        Ok((a, b))
    }
}
