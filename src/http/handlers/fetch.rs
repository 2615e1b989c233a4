//! Getting many documents by their ids.

use std::collections::HashSet;
use std::sync::Arc;

use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::backend::BackendError;
use crate::document::DocumentId;
use crate::engine::{EngineError, Record};
use crate::http::ServerSettings;
use crate::http::access::Caller;
use crate::http::problem::{Code, Problem};
use crate::http::request::{
    AnswerMemory, Body, BodyMembers, Chosen, GetParameters, GivenId, Include, JsonCall, Ready,
};
use crate::http::response::reply;
use crate::http::response::stored;
use crate::http::response::{JSON, ReplyWriter, StoredReply};

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
    check_count("ids", ids.len(), ids_max)?;
    let mut seen = HashSet::new();
    ids.retain(|id| seen.insert(id.clone()));
    Ok(ids)
}

/// # Errors
/// The list of this name has more than `max` elements.
pub fn check_count(name: &str, found: usize, max: usize) -> Result<(), Problem> {
    if found <= max {
        return Ok(());
    }
    let detail = format!("{found} {name} are more than the {max} allowed");
    Err(Problem::of_field(Code::InvalidRequest, format!("/{name}"), detail))
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
    let include = include.map(|Chosen(include)| include);
    Include::check(include, &caller, &engine)?;
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
