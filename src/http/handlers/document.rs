//! Documents by their ids: getting, putting, changing and removing one, and getting many.

use std::collections::HashSet;
use std::sync::Arc;

use axum::extract::{FromRequest, FromRequestParts, Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::backend::BackendError;
use crate::document::{Document, DocumentId};
use crate::engine::{AddOptions, Added, DocumentChange, EngineError, Record};
use crate::http::access::Caller;
use crate::http::handlers::documents::{add_one, one};
use crate::http::problem::{Code, Problem};
use crate::http::request::{
    AddParameters, AnswerMemory, Body, BodyMembers, BodyReader, ChangeBody, DocumentBody,
    GetParameters, GivenId, Include, JsonCall, Media, PageParameters, PathId, Query, Ready, SMALL,
    bodies, check_count, json,
};
use crate::http::response::{JSON, ReplyWriter, StoredReply, reply, stored};
use crate::http::{AppState, ServerSettings, metrics};

/// Get a document
///
/// Returns a document as it is stored.
#[utoipa::path(
    get, path = "/documents/{*id}", operation_id = "get_document", tag = "Documents",
    params(PathId, GetParameters),
    responses((status = 200, description = "The document.", body = StoredReply)),
)]
pub async fn get(
    PathId(id): PathId,
    Query(GetParameters { include }): Query<GetParameters>,
    Ready(engine): Ready,
    AnswerMemory(memory): AnswerMemory<SMALL>,
    caller: Caller,
) -> Result<Response, Problem> {
    let include = Include::check(include, &caller, &engine)?;
    let stored = engine.get(&id).await?;
    memory.grow(stored::bytes(&stored, include.as_ref()))?;
    let reply = StoredReply::of(&engine, stored, include).await?;
    reply::json(&reply, Some(Arc::new(memory)))
}

/// Remove a document
///
/// Removes a document, which is then no longer returned.
#[utoipa::path(
    delete, path = "/documents/{*id}", operation_id = "remove_document", tag = "Documents",
    params(PathId),
    responses((status = 204, description = "The document is gone.")),
)]
pub async fn remove(PathId(id): PathId, Ready(engine): Ready) -> Result<StatusCode, Problem> {
    engine.remove(&id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The document of a `PUT /documents/{id}`.
pub struct Put(Document, AddOptions);

impl FromRequest<AppState> for Put {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, Problem> {
        let (mut parts, body) = request.into_parts();
        let PathId(id) = PathId::from_request_parts(&mut parts, state).await?;
        let Query((parameters, call)) =
            Query::<(PageParameters, AddParameters)>::from_request_parts(&mut parts, state).await?;
        // Wrong options are refused before the body is read.
        call.options()?;
        let media = Media::of(&parts.headers, &[Media::Json, Media::Text, Media::Html])?;
        let reader = BodyReader::new(body, &parts.extensions, state);
        let body = (reader, media, &parts.headers);
        one(body, Some(id), call, parameters)
            .await
            .map(|(document, options)| Self(document, options))
    }
}

/// Put a document
///
/// Adds the document under the id in the path, or replaces the document with this id; otherwise
/// like adding a document. The body needs no `id`; an `id` in the body must equal the id in the
/// path.
#[utoipa::path(
    put, path = "/documents/{*id}", operation_id = "put_document", tag = "Documents",
    params(PathId, PageParameters, AddParameters),
    request_body(
        content(
            (DocumentBody = "application/json", example = json!({"text": "the quick brown fox"})),
            (String = "text/plain", example = "the quick brown fox"),
            (String = "text/html", example = "<p>the quick brown fox"),
        ),
        description = "A document, a text, or a page.",
    ),
    responses(
        (status = 201, description = "The document is new.", body = Added),
        (status = 200, description = "The document was replaced, unchanged or skipped.",
            body = Added),
    ),
)]
pub async fn put(
    State(state): State<AppState>,
    Ready(engine): Ready,
    put: Result<Put, Problem>,
) -> Result<Response, Problem> {
    match put {
        Ok(Put(document, options)) => add_one(&state, &engine, document, options).await,
        Err(problem) => Err(problem),
    }
    .inspect_err(|problem| metrics::refused(problem.code))
}

impl FromRequest<AppState> for DocumentChange {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        Media::of(&parts.headers, &[Media::Json, Media::MergePatch])?;
        let reader = BodyReader::new(body, &parts.extensions, state);
        let bytes_max = state.settings.document_bytes_max;
        let body = reader.whole_json(bytes_max, Code::BodyTooLarge).await?;
        json::off_runtime_if_long(body, |body| bodies::change(&body)).await
    }
}

/// Change a document's metadata
///
/// Changes the metadata or the expiry of a stored document by a merge patch (RFC 7396), and leaves
/// its content as it is: `{"metadata": {"lang": "en", "draft": null}}` sets one field and removes
/// another, and `{"metadata": null}` removes all of them. The fields of changed metadata are stored
/// in the order of their names. Near-duplicates are not searched. A concurrent write of the same
/// document is not lost: the change is applied to the written document. The body may have the media
/// type `application/merge-patch+json`, too.
#[utoipa::path(
    patch, path = "/documents/{*id}", operation_id = "change_document", tag = "Documents",
    params(PathId),
    request_body(
        content(
            (ChangeBody = "application/json", example = json!({"metadata": {"lang": "en"}})),
        ),
        description = "What changes.",
    ),
    responses(
        (status = 200, description = "The document is changed, or was so before.", body = Added),
    ),
)]
pub async fn change(
    PathId(id): PathId,
    Ready(engine): Ready,
    AnswerMemory(memory): AnswerMemory,
    change: DocumentChange,
) -> Result<Response, Problem> {
    let added = engine.update(&id, &change).await?;
    metrics::added(added.status);
    reply::json(&added, Some(Arc::new(memory)))
}

/// A record, its reply, and its JSON in a vector that grows by doubling.
const COPIES: usize = 4;

/// Which documents are wanted. `include` may stand in the query instead.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Wanted)]
pub struct WantedIds {
    /// An id that comes again counts once.
    #[schema(value_type = Vec<GivenId>)]
    ids: Vec<DocumentId>,
}

type WantedBody = Body<WantedIds, GetParameters>;

/// The documents that are stored, in the order of the ids.
#[derive(ToSchema)]
#[schema(as = Fetched)]
#[expect(dead_code, reason = "it documents what is written piece by piece")]
pub struct FetchedReply {
    documents: Vec<StoredReply>,
    #[serde(flatten)]
    #[schema(inline)]
    rest: Unfetched,
}

#[derive(Default, Serialize, ToSchema)]
pub struct Unfetched {
    /// The ids that are not stored, in their order.
    unknown: Vec<DocumentId>,
    /// The ids of documents that cannot be read whole: `GET /documents/{id}` says why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    damaged: Vec<DocumentId>,
}

impl BodyMembers for WantedIds {
    type Options = GetParameters;
    type Checked = Vec<DocumentId>;

    fn check(self, settings: &ServerSettings) -> Result<Self::Checked, Problem> {
        distinct(self.ids, settings.limit_max)
    }
}

/// The ids, each at its first place.
///
/// # Errors
/// More than `ids_max` of them.
pub fn distinct(mut ids: Vec<DocumentId>, ids_max: usize) -> Result<Vec<DocumentId>, Problem> {
    check_count("/ids", "ids", ids.len(), ids_max)?;
    let mut seen = HashSet::new();
    ids.retain(|id| seen.insert(id.clone()));
    Ok(ids)
}

/// Get many documents
///
/// Returns the documents with these ids as they are stored.
#[utoipa::path(
    post, path = "/fetch", operation_id = "fetch_documents", tag = "Documents",
    params(GetParameters),
    request_body(content = WantedBody, example = json!({"ids": ["a", "b"]})),
    responses((status = 200, description = "The documents.", body = FetchedReply)),
)]
pub async fn fetch(
    Ready(engine): Ready,
    AnswerMemory(memory): AnswerMemory,
    caller: Caller,
    JsonCall(ids, GetParameters { include }): JsonCall<WantedIds>,
) -> Result<Response, Problem> {
    let include = Include::check(include, &caller, &engine)?;
    let write = |mut writer: ReplyWriter| async move {
        let mut rest = Unfetched::default();
        let memory = writer.another(0)?;
        let mut documents = writer.list("documents")?;
        for id in ids {
            match engine.get(&id).await {
                Ok(record) => {
                    let bytes = bytes(&record, include.as_ref()).saturating_mul(COPIES);
                    let memory = Arc::new(memory.another(bytes)?);
                    let reply = StoredReply::of(&engine, record, include).await?;
                    documents.element(&reply, &memory).await?;
                }
                Err(EngineError::DocumentNotFound { .. }) => rest.unknown.push(id),
                Err(EngineError::Backend(BackendError::DocumentDamaged { .. })) => {
                    rest.damaged.push(id);
                }
                Err(error) => return Err(error.into()),
            }
        }
        documents.end(&rest)?;
        Ok(writer)
    };
    reply::stream(JSON, memory, write).await
}

fn bytes(record: &Record, include: Option<&Include>) -> usize {
    const OF_A_RECORD: usize = 1_024;
    OF_A_RECORD + stored::bytes(record, include)
}
