//! Listing, describing, creating and removing collections.

use axum::http::StatusCode;
use axum::response::IntoResponse;

use crate::engine::{CollectionSettings, Creation};
use crate::http::access::Caller;
use crate::http::problem::Problem;
use crate::http::request::extract::{AllReady, PathCollection, Ready};
use crate::http::request::settings::Settings;
use crate::http::response::reply::Json;
use crate::http::response::stats;
use akin_model::stats::{CollectionReply, CollectionsReply};

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
