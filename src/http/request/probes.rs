//! The probes that are looked up or compared.

use std::sync::Arc;

use axum::extract::{FromRequest, FromRequestParts, Request};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::budget::Reservation;
use crate::document::{Content, DocumentId, Token};
use crate::engine::Probe;
use crate::http::bulk::Form;
use crate::http::problem::{Code, Problem};
use crate::http::request::body;
use crate::http::request::{
    AnswerMemory, Body, BodyMembers, BodyReader, CompareParameters, ConditionParameters, GivenId,
    LookupOptions, LookupParameters, Media, PageParameters, PageReader, Query, check_count, json,
};
use crate::http::{AppState, ServerSettings};
use akin_model::content::{Extract, FieldsBody, Object, content};

const CODE: Code = Code::InvalidRequest;

/// Probes of a call: results of a page of a search engine. Further probes are another call.
const PROBES_MAX: usize = 100;

/// A document to compare: it has exactly one of `id` (of a stored document), `text`, `tokens`,
/// `fields` and `signature`. A document to look up may have an `html` instead, or an `id` and one
/// of the others, which is looked up if the id is not stored.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Probe)]
pub struct ProbeBody {
    #[schema(value_type = Option<GivenId>)]
    id: Option<DocumentId>,
    text: Option<String>,
    /// A page, whose text is extracted in place of `text`.
    html: Option<String>,
    /// Beside `html`: which text of the page, by default `text`.
    extract: Option<Extract>,
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

/// A `POST /similar`: its probes, and the options of all of them.
pub struct PostedProbes {
    pub call: LookupOptions,
    pub probes: Probes,
    /// The memory of the answer, within the shares of the request and of its client, to which the
    /// work of pages counts, too.
    pub memory: Reservation,
}

pub enum Probes {
    One(OwnProbe),
    /// They are answered in the form that they have.
    Many(Form, OwnProbes),
}

/// Probes of one call: an element that is not a probe does not fail the other probes.
pub type OwnProbes = Vec<Result<OwnProbe, Problem>>;

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
    /// Either an id or a content, which is no page.
    fn probe(mut self) -> Result<Probe, Problem> {
        let text = self.text.take();
        match self.with_fallback(text)? {
            (probe, None) => Ok(probe),
            (_, Some(_)) => Err(wrong_members()),
        }
    }

    /// An id, a content, or an id with the content that is looked up if the id is not stored.
    /// `text` is the text of the body, or of its page.
    fn with_fallback(self, text: Option<String>) -> Result<(Probe, Option<Content>), Problem> {
        let Self { id, html, extract, tokens, fields, signature, .. } = self;
        if html.is_some() || extract.is_some() {
            let given = if html.is_some() { "/html" } else { "/extract" };
            return Err(Problem::of_field(CODE, given, "is only for lookups"));
        }
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
                  looked up may have an html, or an id and one of the others";
    Problem::of_field(CODE, "", detail)
}

impl FromRequest<AppState> for PostedProbes {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, Problem> {
        let (mut parts, body) = request.into_parts();
        let query =
            Query::<(PageParameters, LookupParameters, ConditionParameters)>::from_request_parts(
                &mut parts, state,
            )
            .await?;
        let Query((parameters, lookup, conditions)) = query;
        let call = (lookup, conditions);
        let taken = [Media::Json, Media::Ndjson, Media::Text, Media::Html];
        let media = Media::of(&parts.headers, &taken)?;
        let reader = BodyReader::new(body, &parts.extensions, state);
        let AnswerMemory::<0>(memory) = AnswerMemory::from_request_parts(&mut parts, state)
            .await
            .unwrap_or_else(|never| match never {});
        let pages = PageReader::new(parameters, CODE, Some(Arc::clone(&reader.memory)));
        let pages = pages.of_share(memory.another(0)?);
        if matches!(media, Media::Text | Media::Html) {
            let text = pages.text_of_body(reader, media, &parts.headers).await?;
            let probe = Probe::Content(Content::Text(text));
            let probe = OwnProbe { probe, fallback: None, options: None };
            return Ok(Self { call, probes: Probes::One(probe), memory });
        }
        let body = reader.whole_json(state.settings.body_bytes_max, Code::BodyTooLarge).await?;
        let probes = json::off_runtime_if_long(body, move |body| match media {
            Media::Ndjson => Ok(Probes::Many(Form::Lines, lines(&body, &pages)?)),
            _ if body.trim_ascii_start().first() == Some(&b'[') => {
                Ok(Probes::Many(Form::Array, array(&body, &pages)?))
            }
            _ => probe(&body, &pages).map(Probes::One),
        });
        Ok(Self { call, probes: probes.await?, memory })
    }
}

pub fn probe(json: &[u8], pages: &PageReader) -> Result<OwnProbe, Problem> {
    let (mut body, options) = body::read::<ProbeBody, _>(json, CODE)?;
    let (html, extract) = (body.html.take(), body.extract.take());
    let text = pages.text(body.text.take(), html.as_deref(), extract)?;
    let (probe, fallback) = body.with_fallback(text)?;
    Ok(OwnProbe { probe, fallback, options })
}

/// Reads an array of probes.
pub fn array(json: &[u8], pages: &PageReader) -> Result<OwnProbes, Problem> {
    // Counted first, which takes no memory: a probe takes a hundred times the bytes of `{},`.
    let count = json::read::<Vec<IgnoredAny>>(json, CODE)?.len();
    check_count("", "probes", count, PROBES_MAX)?;
    let elements: Vec<&RawValue> = json::read(json, CODE)?;
    Ok(elements.into_iter().map(|element| probe(element.get().as_bytes(), pages)).collect())
}

/// Reads lines with a probe on each; empty lines are passed over.
pub fn lines(body: &[u8], pages: &PageReader) -> Result<OwnProbes, Problem> {
    let lines = || body.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    check_count("", "probes", lines().count(), PROBES_MAX)?;
    Ok(lines().map(|line| probe(line, pages)).collect())
}

impl BodyMembers for PairMembers {
    type Options = CompareParameters;
    type Checked = (Probe, Probe);

    fn check(self, _: &ServerSettings) -> Result<(Probe, Probe), Problem> {
        let a = self.a.0.probe().map_err(|problem| problem.under("/a"))?;
        let b = self.b.0.probe().map_err(|problem| problem.under("/b"))?;
        Ok((a, b))
    }
}
