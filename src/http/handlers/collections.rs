//! Listing, describing, creating, removing and reindexing collections.

use axum::http::{StatusCode, header};
use axum::response::IntoResponse;

use crate::engine::{CollectionSettings, Creation, ReindexStatus};
use crate::http::access::Caller;
use crate::http::problem::Problem;
use crate::http::request::{AllReady, PathCollection, Ready, Settings};
use crate::http::response::{Bounded, Json, stats};
use akin_model::reindex::{ReindexFailure, ReindexReply};
use akin_model::stats::{CollectionReply, CollectionsReply};
use akin_model::time::Time;

/// List collections
///
/// Returns all collections that the key covers, by name.
#[utoipa::path(
    get, path = "/collections", operation_id = "list_collections", tag = "Collections",
    responses((status = 200, description = "All collections.", body = CollectionsReply)),
)]
pub async fn list(caller: Caller, AllReady(collections): AllReady) -> Json<CollectionsReply> {
    let mut listed = collections.list();
    listed.retain(|collection| caller.covers(collection.name()));
    let unavailable = collections.unavailable();
    let unavailable = unavailable.iter().filter(|name| caller.covers(name));
    Json(stats::collections(&listed, unavailable))
}

/// Describe a collection
///
/// Returns a collection's settings, size, memory and keys.
#[utoipa::path(
    get, path = "/collections/{collection}", operation_id = "describe_collection",
    tag = "Collections",
    responses(
        (status = 200, description = "The collection.", body = CollectionReply),
    ),
)]
pub async fn describe(Ready(collection): Ready) -> Result<Json<CollectionReply>, Problem> {
    Ok(Json(stats::collection(&collection, &collection.stats().await?)))
}

/// Create a collection
///
/// Each section of the settings may be left out, and each key of a section: they then have the
/// defaults shown below. The server's configuration has no effect on them. Answers 200 and changes
/// nothing if the collection exists with the same settings.
#[utoipa::path(
    put, path = "/collections/{collection}", operation_id = "create_collection",
    tag = "Collections",
    request_body(
        content = CollectionSettings,
        example = json!({"shingles": {"unit": "character", "size": 5}}),
    ),
    responses(
        (status = 201, description = "The collection is new.", body = CollectionReply),
        (status = 200, description = "It existed with these settings.", body = CollectionReply),
    ),
)]
pub async fn create(
    PathCollection(name): PathCollection,
    AllReady(collections): AllReady,
    Settings(settings): Settings,
) -> Result<impl IntoResponse, Problem> {
    let (collection, creation) = collections.create(name, settings).await?;
    let reply = stats::collection(&collection, &collection.stats().await?);
    let created = creation == Creation::Created;
    let status = if created { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(reply)))
}

/// Remove a collection
///
/// Removes a collection and its data. Running requests on it may read to their end; their writes
/// are refused with 503 `out_of_service`. `default` cannot be removed.
#[utoipa::path(
    delete, path = "/collections/{collection}", operation_id = "remove_collection",
    tag = "Collections",
    responses((status = 204, description = "The collection is gone.")),
)]
pub async fn remove(
    PathCollection(name): PathCollection,
    AllReady(collections): AllReady,
) -> Result<StatusCode, Problem> {
    collections.remove(name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Reindex a collection
///
/// Builds the collection again under these settings, from its own texts, while it is served and
/// takes writes. Then the new collection takes its place at once, with every document and every
/// write until then. Settings that are left out have their defaults, as when a collection is made.
/// Answers at once; `GET` returns the progress. If it fails, or the server stops before the end,
/// the collection is as it was. Needs as much room on the disk as the collection takes. The
/// configuration has the settings of `default`: `akin reindex` builds `default` again while no
/// server is running.
#[utoipa::path(
    post, path = "/collections/{collection}/reindex", operation_id = "reindex",
    tag = "Collections",
    request_body(
        content = CollectionSettings,
        example = json!({"shingles": {"unit": "character", "size": 5}}),
    ),
    responses(
        (status = 202, description = "It has begun.", body = ReindexReply,
            headers(("location" = String, description = "Where to ask how far it is."))),
    ),
)]
pub async fn reindex(
    PathCollection(name): PathCollection,
    AllReady(collections): AllReady,
    Settings(settings): Settings,
) -> Result<impl IntoResponse, Problem> {
    let status = collections.reindex(&name, settings).await?;
    let location = [(header::LOCATION, format!("/collections/{name}/reindex"))];
    Ok((StatusCode::ACCEPTED, location, Json(reindex_reply(status))))
}

/// Show how far a reindex is
///
/// The last reindex of this collection since the server started.
#[utoipa::path(
    get, path = "/collections/{collection}/reindex", operation_id = "describe_reindex",
    tag = "Collections",
    responses((status = 200, description = "The reindex.", body = ReindexReply)),
)]
pub async fn reindex_status(
    PathCollection(name): PathCollection,
    AllReady(collections): AllReady,
) -> Result<Json<ReindexReply>, Problem> {
    Ok(Json(reindex_reply(collections.reindex_status(&name)?)))
}

/// Cancel a reindex
///
/// It stops within moments, and the collection is as it was. A reindex that has ended does not
/// change.
#[utoipa::path(
    delete, path = "/collections/{collection}/reindex", operation_id = "cancel_reindex",
    tag = "Collections",
    responses(
        (status = 202, description = "It is about to stop.", body = ReindexReply),
    ),
)]
pub async fn cancel_reindex(
    PathCollection(name): PathCollection,
    AllReady(collections): AllReady,
) -> Result<impl IntoResponse, Problem> {
    let status = collections.cancel_reindex(&name)?;
    Ok((StatusCode::ACCEPTED, Json(reindex_reply(status))))
}

impl Bounded for ReindexReply {}

/// A reindex as clients see it.
fn reindex_reply(status: ReindexStatus) -> ReindexReply {
    let failure = status.failure.map(Problem::from);
    ReindexReply {
        state: status.state,
        documents_done: status.done,
        documents_total: status.total,
        settings: status.settings,
        started_at: Time(status.started_at_ms),
        ended_at: status.ended_at_ms.map(Time),
        failure: failure.map(|Problem { code, detail, .. }| ReindexFailure { code, detail }),
    }
}
