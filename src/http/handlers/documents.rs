//! Adding, listing and exporting documents.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::body::Body;
use axum::extract::{Extension, FromRequest, FromRequestParts, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use tower_http::request_id::RequestId;
use utoipa::ToSchema;

use crate::backend::BackendError;
use crate::background::request;
use crate::budget::Purpose;
use crate::document::{Document, DocumentId};
use crate::engine::{AddOptions, AddStatus, Added, Engine, EngineError, ListedIds};
use crate::http::access::RequestClient;
use crate::http::bulk::{Bulk, Form, Intake, ResultLine, ndjson};
use crate::http::metrics;
use crate::http::problem::{Code, Problem};
use crate::http::request::bodies;
use crate::http::request::lookup;
use crate::http::request::{
    AddParameters, AnswerMemory, BodyReader, ConditionParameters, DocumentBody, DocumentsBody,
    ExportParameters, ListParameters, Media, OnDamaged, PageParameters, PageReader, Patience,
    Query, Ready, SMALL, TextParameters, json,
};
use crate::http::request_id;
use crate::http::response::reply;
use crate::http::response::{ExportedLine, IdsReply, JSON, NextIds, ReplyWriter, pace};
use crate::http::{AppState, ServerSettings};

/// The documents of a `POST /documents`, in any of their forms.
pub enum Posted {
    One(Document, AddOptions),
    Many(Box<Bulk>),
}

impl FromRequest<AppState> for Posted {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, Problem> {
        let (mut parts, body) = request.into_parts();
        let query = Query::<(TextParameters, PageParameters, AddParameters)>::from_request_parts(
            &mut parts, state,
        )
        .await?;
        let Query((TextParameters { id }, parameters, call)) = query;
        // Wrong options are refused before the body is read.
        call.options()?;
        let taken = [Media::Json, Media::Ndjson, Media::Text, Media::Html];
        let media = Media::of(&parts.headers, &taken)?;
        let mut reader = BodyReader::new(body, &parts.extensions, state);
        let form = match media {
            Media::Ndjson => {
                reader.begin().await?;
                Some(Form::Lines)
            }
            Media::Json if reader.peek().await? == Some(b'[') => Some(Form::Array),
            Media::Json | Media::MergePatch | Media::Text | Media::Html => None,
        };
        if id.is_some() && matches!(media, Media::Json | Media::Ndjson) {
            let detail = "the parameter 'id' is for a text or a page: a JSON document has its own";
            return Err(Problem::new(Code::InvalidParameter, detail));
        }
        let Some(form) = form else {
            let body = (reader, media, &parts.headers);
            let (document, options) = one(body, id, call, parameters).await?;
            return Ok(Self::One(document, options));
        };
        let client = RequestClient::of(&parts.extensions);
        let permit = state.bulk_requests.take(&client)?;
        let request_id = request_id::of(&parts.extensions);
        let grant = parts.extensions.get().cloned();
        let intake = Intake::new(reader.streamed()?, form, (&client, grant), state);
        let call = (call, parameters);
        Ok(Self::Many(Box::new(Bulk { form, intake, call, request_id, permit })))
    }
}

/// Reads a body that is one document: a text, a page, or JSON. `id` is in the query or the path.
pub async fn one(
    (reader, media, headers): (BodyReader, Media, &HeaderMap),
    id: Option<DocumentId>,
    call: AddParameters,
    parameters: PageParameters,
) -> Result<(Document, AddOptions), Problem> {
    let pages = PageReader::new(parameters, bodies::CODE, Some(Arc::clone(&reader.memory)));
    if media == Media::Json {
        let bytes_max = reader.document_bytes_max;
        let body = reader.whole_json(bytes_max, Code::DocumentTooLarge).await?;
        let read = move |body: Bytes| bodies::document(&body, id, &call, &pages);
        return json::off_runtime_if_long(body, read).await;
    }
    let text = pages.text_of_body(reader, media, headers).await?;
    Ok((Document::of_text(id.unwrap_or_else(bodies::new_id), text), call.options()?))
}

/// The result of a document, or an array with a result for each document.
#[derive(ToSchema)]
#[serde(untagged)]
#[schema(as = AddedAnswer)]
#[expect(
    dead_code,
    clippy::large_enum_variant,
    reason = "arrays are streamed, so no value is ever made"
)]
pub enum AddedReply {
    One(Added),
    Many(Vec<ResultLine>),
}

/// Add documents
///
/// Adds or replaces one document (a JSON object, plain text, or an HTML page), or many (a JSON
/// array, or NDJSON with a document on each line). An array is answered by an array with a result
/// for each, and NDJSON by NDJSON with a line for each, in the order of the input, streamed while
/// the body still arrives; the result of an invalid document is an error, which does not affect the
/// other documents. A document that is answered without an error is on disk. Options may stand in
/// the query, for all documents, or in a document.
#[utoipa::path(
    post, path = "/documents", operation_id = "add_documents", tag = "Documents",
    params(TextParameters, PageParameters, AddParameters),
    request_body(
        content(
            (DocumentsBody = "application/json",
                example = json!({"id": "a", "text": "the quick brown fox"})),
            (DocumentBody = "application/x-ndjson",
                example = "{\"id\": \"a\", \"text\": \"the quick brown fox\"}\n"),
            (String = "text/plain", example = "the quick brown fox"),
            (String = "text/html", example = "<p>the quick brown fox"),
        ),
        description = "One document, an array of documents, NDJSON, a text, or a page.",
    ),
    responses(
        (status = 201, description = "The document is new.", body = Added),
        (status = 200, description = "The document was replaced, unchanged or skipped; \
            or a result for each of many documents.",
            content((AddedReply = "application/json"), (ResultLine = "application/x-ndjson"))),
    ),
)]
pub async fn add(
    State(state): State<AppState>,
    Ready(engine): Ready,
    posted: Result<Posted, Problem>,
) -> Result<Response, Problem> {
    match posted {
        Ok(Posted::One(document, options)) => add_one(&state, &engine, document, options).await,
        Ok(Posted::Many(bulk)) => Ok(bulk.answer(engine)),
        Err(problem) => Err(problem),
    }
    .inspect_err(|problem| metrics::refused(problem.code))
}

/// Adds a document, with the memory of its near-duplicates reserved until they were sent.
pub async fn add_one(
    state: &AppState,
    engine: &Engine,
    document: Document,
    options: AddOptions,
) -> Result<Response, Problem> {
    let memory = state.budget.reservation(Purpose::Answers);
    let memory = Arc::new(memory.with_cost_of_each(state.settings.request_cost_max));
    let options = AddOptions { memory: Some(Arc::clone(&memory)), ..options };
    let added = engine.add(document, options).await?;
    metrics::added(added.status);
    let created = added.status == AddStatus::Created;
    let status = if created { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, reply::reserved_json(&added, &memory)).into_response())
}

/// List ids
///
/// Returns the ids of the documents that meet the conditions, in byte order, in pages. With
/// conditions a page may have fewer ids than `limit`, even none: it is the last if it has no
/// `next`.
#[utoipa::path(
    get, path = "/documents", operation_id = "list_documents", tag = "Documents",
    params(ListParameters, ConditionParameters),
    responses((status = 200, description = "A page of ids.", body = IdsReply)),
)]
pub async fn list(
    Query((page, conditions)): Query<(ListParameters, ConditionParameters)>,
    State(state): State<AppState>,
    Ready(engine): Ready,
    AnswerMemory(memory): AnswerMemory<SMALL>,
) -> Result<Response, Problem> {
    let limit = lookup::limit(page.limit, &state.settings)?;
    let conditions = conditions.conditions()?;
    let write = |mut writer: ReplyWriter| async move {
        let memory = writer.another(0)?.with_allowance(SMALL);
        let memory = Arc::new(memory);
        let listing = async {
            let count = if page.count { Some(engine.count(&conditions).await?) } else { None };
            let listed = engine.list_where(page.after, limit, &conditions).await?;
            Ok::<_, EngineError>((count, listed))
        };
        let listed = request::within(Some(Arc::clone(&memory)), listing).await?;
        let (count, ListedIds { ids, next }) = listed;
        memory.grow(ids.iter().map(|id| size_of::<DocumentId>() + id.as_str().len()).sum())?;
        let mut list = writer.list("ids")?;
        for id in ids {
            list.element(&id, &memory).await?;
        }
        list.end(&NextIds { next, count })?;
        Ok(writer)
    };
    reply::stream(JSON, memory, write).await
}

/// Export all documents
///
/// Returns every document as a line of NDJSON, from one consistent view, as it can be posted again
/// (in a collection that keeps no texts only id and metadata). In place of a damaged document there
/// is a line with a `problem`, and the other documents follow. But then, as after any failure, the
/// connection is closed without the end of the body, so that it never looks whole, unless
/// `on_damaged` is `report`.
#[utoipa::path(
    get, path = "/export", operation_id = "export_documents", tag = "Documents",
    params(ExportParameters),
    responses((status = 200, description = "A document for each line.", body = ExportedLine,
        content_type = "application/x-ndjson")),
)]
pub async fn export(
    Query(parameters): Query<ExportParameters>,
    State(state): State<AppState>,
    Ready(engine): Ready,
    Extension(request_id): Extension<RequestId>,
    client: RequestClient,
) -> Result<Response, Problem> {
    let permit = state.bulk_requests.take(&client)?;
    let reports = parameters.on_damaged == Some(OnDamaged::Report);
    let broken = Arc::new(AtomicBool::new(false));
    let is_broken = Arc::clone(&broken);
    let lines = engine.export(parameters.order.unwrap_or_default()).await.map(move |document| {
        // Held until the export ends.
        let _permit = &permit;
        match document {
            Ok(document) => Ok(ndjson::line(&ExportedLine::Document(document.into()))),
            Err(EngineError::Backend(BackendError::DocumentDamaged { id, reason })) => {
                is_broken.store(true, Ordering::Relaxed);
                let problem = Problem::new(Code::DocumentDamaged, reason);
                problem.log(request_id::text(&request_id));
                let problem = problem.reply(request_id::text(&request_id));
                Ok(ndjson::line(&ExportedLine::Damaged { id, problem }))
            }
            Err(error) => {
                tracing::error!(%error, "export failed");
                Err(io::Error::other("export was aborted"))
            }
        }
    });
    let end = stream::once(async move {
        let broken = broken.load(Ordering::Relaxed);
        (broken && !reports).then(|| Err(io::Error::other("the collection has damaged documents")))
    });
    let ServerSettings { body_idle_timeout_ms, export_bytes_per_s_min, .. } = state.settings;
    let patience = Patience::new(body_idle_timeout_ms, export_bytes_per_s_min);
    let lines = pace::paced(lines.boxed(), patience);
    let body = Body::from_stream(lines.chain(end.filter_map(std::future::ready)));
    Ok(([(header::CONTENT_TYPE, ndjson::MEDIA)], body).into_response())
}
