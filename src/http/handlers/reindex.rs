//! Building a collection again under other settings.

use axum::http::{StatusCode, header};
use axum::response::IntoResponse;

use crate::engine::CollectionSettings;
use crate::http::problem::Problem;
use crate::http::request::extract::{AllReady, PathCollection};
use crate::http::request::settings::Settings;
use crate::http::response::reindex;
use crate::http::response::reply::Json;
use akin_model::reindex::ReindexReply;

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
pub async fn begin(
    PathCollection(name): PathCollection,
    AllReady(collections): AllReady,
    Settings(settings): Settings,
) -> Result<impl IntoResponse, Problem> {
    let status = collections.reindex(&name, settings).await?;
    let location = [(header::LOCATION, format!("/collections/{name}/reindex"))];
    Ok((StatusCode::ACCEPTED, location, Json(reindex::reply(status))))
}

/// Show how far a reindex is
///
/// The last reindex of this collection since the server started.
#[utoipa::path(
    get, path = "/collections/{collection}/reindex", operation_id = "describe_reindex",
    tag = "Collections",
    responses((status = 200, description = "The reindex.", body = ReindexReply)),
)]
pub async fn status(
    PathCollection(name): PathCollection,
    AllReady(collections): AllReady,
) -> Result<Json<ReindexReply>, Problem> {
    Ok(Json(reindex::reply(collections.reindex_status(&name)?)))
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
pub async fn cancel(
    PathCollection(name): PathCollection,
    AllReady(collections): AllReady,
) -> Result<impl IntoResponse, Problem> {
    let status = collections.cancel_reindex(&name)?;
    Ok((StatusCode::ACCEPTED, Json(reindex::reply(status))))
}
