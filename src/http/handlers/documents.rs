//! Adding, getting, removing, listing and exporting documents.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::body::Body;
use axum::extract::{Extension, FromRequest, FromRequestParts, Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};
use tower_http::request_id::RequestId;

use crate::document::{Content, Document, DocumentId};
use crate::engine::{AddOptions, AddStatus, Added, EngineError};
use crate::http::bulk::import::{Bulk, ResultLine};
use crate::http::bulk::ndjson;
use crate::http::bulk::split::Form;
use crate::http::metrics;
use crate::http::problem::Problem;
use crate::http::problem::code::Code;
use crate::http::problem::of_calls::{Adding, ById, Plain};
use crate::http::request::bodies::{self, DocumentBody, DocumentsBody};
use crate::http::request::extract::{PathId, Ready};
use crate::http::request::json;
use crate::http::request::lookup;
use crate::http::request::parameters::{
    ExportParameters, GetParameters, ListParameters, TextParameters, check_options,
};
use crate::http::request::query::{NoParameters, Query};
use crate::http::request::reading::{self, BodyReader, Media, Patience};
use crate::http::request_id;
use crate::http::response::json::Json;
use crate::http::response::pace;
use crate::http::response::stored::{ExportedLine, IdsReply, StoredReply};
use crate::http::{AppState, ServerSettings};

/// The documents of a `POST /documents`, in any of their forms.
pub struct Posted {
    options: AddOptions,
    documents: Documents,
}

enum Documents {
    One(Document),
    Many(Box<Bulk>),
}

impl FromRequest<AppState> for Posted {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, Problem> {
        let (mut parts, body) = request.into_parts();
        let Query((TextParameters { id }, options)) =
            Query::<(TextParameters, AddOptions)>::from_request_parts(&mut parts, state).await?;
        check_options(&options)?;
        let media = Media::of(&parts.headers, &[Media::Json, Media::Ndjson, Media::Text])?;
        let mut reader = BodyReader::new(body, &parts.extensions, state);
        let form = match media {
            Media::Text => {
                let document = text(reader, id, state).await?;
                return Ok(Self { options, documents: Documents::One(document) });
            }
            Media::Ndjson => {
                if parts.headers.contains_key(header::EXPECT) {
                    reader.begin().await?;
                }
                Some(Form::Lines)
            }
            Media::Json if reader.peek().await? == Some(b'[') => Some(Form::Array),
            Media::Json => None,
        };
        if id.is_some() {
            let detail = "the parameter 'id' is for text/plain: a JSON document has its own";
            return Err(Problem::new(Code::InvalidParameter, detail));
        }
        let documents = match form {
            Some(form) => {
                let request_id = request_id::of(&parts.extensions);
                Documents::Many(Box::new(Bulk::new(reader, form, options, request_id, state)?))
            }
            None => Documents::One(object(reader, state).await?),
        };
        Ok(Self { options, documents })
    }
}

async fn text(
    reader: BodyReader,
    id: Option<DocumentId>,
    state: &AppState,
) -> Result<Document, Problem> {
    let bytes_max = state.settings.document_bytes_max;
    let body = reader.whole(bytes_max, Code::DocumentTooLarge).await?;
    let content = Content::Text(reading::text(body)?);
    let id = id.unwrap_or_else(bodies::new_id);
    Ok(Document { id, content, metadata: None, expires_at_ms: None })
}

async fn object(reader: BodyReader, state: &AppState) -> Result<Document, Problem> {
    let bytes_max = state.settings.document_bytes_max;
    let body = reader.whole_json(bytes_max, Code::DocumentTooLarge).await?;
    json::off_runtime_if_large(body, |body| bodies::document(&body)).await
}

/// Add documents
///
/// Adds or replaces one document (a JSON object, or plain text), or many (a JSON array, or NDJSON
/// with a document on each line). Many documents are answered by one line of NDJSON for each, in
/// the order of the input, streamed while the body still arrives; an invalid document gets an error
/// line and does not affect the others. A document that is answered without an error is on disk.
#[utoipa::path(
    post, path = "/documents", operation_id = "add_documents", tag = "Documents",
    params(TextParameters, AddOptions),
    request_body(
        content(
            (DocumentsBody = "application/json",
                example = json!({"id": "a", "text": "the quick brown fox"})),
            (DocumentBody = "application/x-ndjson",
                example = "{\"id\": \"a\", \"text\": \"the quick brown fox\"}\n"),
            (String = "text/plain", example = "the quick brown fox"),
        ),
        description = "One document, an array of documents, NDJSON, or a text.",
    ),
    responses(
        (status = 201, description = "The document is new.", body = Added),
        (status = 200, description = "The document was replaced, unchanged or skipped; \
            or a line for each of many documents.",
            content((Added = "application/json"), (ResultLine = "application/x-ndjson"))),
        Adding,
    ),
)]
pub async fn add(Ready(engine): Ready, posted: Posted) -> Result<Response, Problem> {
    let document = match posted.documents {
        Documents::One(document) => document,
        Documents::Many(bulk) => return Ok(bulk.answer(engine)),
    };
    let added = engine.add(document, posted.options).await?;
    metrics::added(added.status);
    let created = added.status == AddStatus::Created;
    let status = if created { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(added)).into_response())
}

/// Get a document
///
/// Returns a document as it is stored.
#[utoipa::path(
    get, path = "/documents/{*id}", operation_id = "get_document", tag = "Documents",
    params(("id" = DocumentId, Path, description = "The document's id, percent-encoded.",
        example = "https%3A%2F%2Fexample.org%2Fa"), GetParameters),
    responses((status = 200, description = "The document.", body = StoredReply), ById),
)]
pub async fn get(
    PathId(id): PathId,
    Query(parameters): Query<GetParameters>,
    Ready(engine): Ready,
) -> Result<Json<StoredReply>, Problem> {
    let stored = engine.get(&id).await?;
    Ok(Json(StoredReply::new(stored, parameters.include)))
}

/// Remove a document
///
/// Removes a document, which is then no longer returned.
#[utoipa::path(
    delete, path = "/documents/{*id}", operation_id = "remove_document", tag = "Documents",
    params(("id" = DocumentId, Path, description = "The document's id, percent-encoded.",
        example = "https%3A%2F%2Fexample.org%2Fa")),
    responses((status = 204, description = "The document is gone."), ById),
)]
pub async fn remove(
    PathId(id): PathId,
    _: Query<NoParameters>,
    Ready(engine): Ready,
) -> Result<StatusCode, Problem> {
    engine.remove(&id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// List ids
///
/// Returns ids in byte order, in pages.
#[utoipa::path(
    get, path = "/documents", operation_id = "list_documents", tag = "Documents",
    params(ListParameters),
    responses((status = 200, description = "A page of ids.", body = IdsReply), Plain),
)]
pub async fn list(
    Query(page): Query<ListParameters>,
    State(state): State<AppState>,
    Ready(engine): Ready,
) -> Result<Json<IdsReply>, Problem> {
    let limit = lookup::limit(page.limit, &state.settings)?;
    let ids = engine.list(page.after, limit + 1).await?;
    Ok(Json(IdsReply::new(&ids, limit)))
}

/// Export all documents
///
/// Returns every document as a line of NDJSON, from one consistent view, as it can be posted again
/// (in a collection that keeps no texts only id and metadata). A damaged document has a line with a
/// `problem` in its place, and the others follow. But then, as after any failure, the connection is
/// closed without the end of the body, so that it never looks whole.
#[utoipa::path(
    get, path = "/export", operation_id = "export_documents", tag = "Documents",
    params(ExportParameters),
    responses((status = 200, description = "A document for each line.", body = ExportedLine,
        content_type = "application/x-ndjson"), Plain),
)]
pub async fn export(
    Query(parameters): Query<ExportParameters>,
    State(state): State<AppState>,
    Ready(engine): Ready,
    Extension(request_id): Extension<RequestId>,
) -> Result<Response, Problem> {
    let permit = state.bulk_permit()?;
    let broken = Arc::new(AtomicBool::new(false));
    let is_broken = Arc::clone(&broken);
    let lines = engine.export(parameters.order.unwrap_or_default()).await.map(move |document| {
        // Held until the export ends.
        let _permit = &permit;
        match document {
            Ok(document) => Ok(ndjson::line(&ExportedLine::Document(document.into()))),
            Err(EngineError::DocumentDamaged { id, reason }) => {
                is_broken.store(true, Ordering::Relaxed);
                let problem = Problem::new(Code::DocumentDamaged, reason);
                problem.log(request_id::text(&request_id));
                let problem = problem.reply(request_id::text(&request_id));
                Ok(ndjson::line(&ExportedLine::Damaged { id, problem }))
            }
            Err(error) => {
                tracing::error!(%error, "export broke off");
                Err(io::Error::other("export broke off"))
            }
        }
    });
    let end = stream::once(async move {
        let broken = broken.load(Ordering::Relaxed);
        broken.then(|| Err(io::Error::other("there are damaged documents")))
    });
    let ServerSettings { body_idle_timeout_ms, export_bytes_per_s_min, .. } = state.settings;
    let patience = Patience::new(body_idle_timeout_ms, export_bytes_per_s_min);
    let lines = pace::paced(lines.boxed(), patience);
    let body = Body::from_stream(lines.chain(end.filter_map(std::future::ready)));
    Ok(([(header::CONTENT_TYPE, ndjson::MEDIA)], body).into_response())
}
