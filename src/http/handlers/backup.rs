//! Backups.

use std::io;
use std::sync::Arc;

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;

use crate::engine::{Collection, Collections};
use crate::http::problem::Problem;
use crate::http::request::extract::{AllReady, Ready};

const MEDIA: &str = "application/x-tar";

/// Back up all collections
///
/// Returns a tar archive of all stores and settings for `akin restore`: each collection from one
/// consistent view, while requests go on. The server makes one backup at a time. Each store is
/// copied, and every row of the copy is checked, before the first byte is sent: the answer may take
/// a while to begin. The problem `document_damaged` names a damaged document and the remedy. A
/// damaged document in a further collection is named in the server's log, and the connection is
/// closed without the end of the body, so that a part never looks whole. Refused with 503
/// `collection_unavailable` if a collection could not be opened.
#[utoipa::path(
    get, path = "/backup", operation_id = "back_up", tag = "Operating",
    responses((status = 200, description = "The archive.", body = String,
        content_type = "application/x-tar")),
)]
pub async fn all(AllReady(collections): AllReady) -> Result<Response, Problem> {
    if let Some(name) = collections.unavailable().first() {
        collections.get(name)?;
    }
    let of = collections.list();
    answer(&collections, of).await
}

/// Back up one collection
///
/// Returns a backup of one collection, in the form of `GET /backup`.
#[utoipa::path(
    get, path = "/collections/{collection}/backup", operation_id = "back_up",
    tag = "Operating",
    responses((status = 200, description = "The archive.", body = String,
        content_type = "application/x-tar")),
)]
pub async fn one(
    AllReady(collections): AllReady,
    Ready(collection): Ready,
) -> Result<Response, Problem> {
    answer(&collections, vec![collection]).await
}

async fn answer(collections: &Collections, of: Vec<Arc<Collection>>) -> Result<Response, Problem> {
    let pieces = collections.backup(of).await?.map(|piece| {
        piece.map_err(|error| {
            tracing::error!(%error, "backup failed");
            io::Error::other("the backup was aborted")
        })
    });
    Ok(([(header::CONTENT_TYPE, MEDIA)], Body::from_stream(pieces)).into_response())
}
