//! Saving collections as they are.

use std::io;
use std::sync::Arc;

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;

use crate::engine::{Collection, Collections};
use crate::http::problem::Problem;
use crate::http::problem::of_calls::BackingUp;
use crate::http::request::extract::{AllReady, Ready};
use crate::http::request::query::{NoParameters, Query};

const MEDIA: &str = "application/x-tar";

/// Back up all collections
///
/// One tar archive of their stores and settings, for `akin restore`: each collection from one
/// consistent view, while everything goes on. One backup is made at a time. It begins with a copy
/// of the first store, so the first bytes may take a while. A backup that fails breaks off: the
/// body then ends as no whole one does.
#[utoipa::path(
    get, path = "/backup", operation_id = "back_up", tag = "Operating",
    responses((status = 200, description = "The archive.", body = String,
        content_type = "application/x-tar"), BackingUp),
)]
pub async fn all(
    _: Query<NoParameters>,
    AllReady(collections): AllReady,
) -> Result<Response, Problem> {
    let of = collections.list();
    answer(&collections, of).await
}

/// Back up one collection
///
/// As `/backup`, but of this collection only.
#[utoipa::path(
    get, path = "/collections/{collection}/backup", operation_id = "back_up",
    tag = "Operating",
    responses((status = 200, description = "The archive.", body = String,
        content_type = "application/x-tar"), BackingUp),
)]
pub async fn one(
    _: Query<NoParameters>,
    AllReady(collections): AllReady,
    Ready(collection): Ready,
) -> Result<Response, Problem> {
    answer(&collections, vec![collection]).await
}

async fn answer(collections: &Collections, of: Vec<Arc<Collection>>) -> Result<Response, Problem> {
    let pieces = collections.backup(of).await?.map(|piece| {
        piece.map_err(|error| {
            tracing::error!(%error, "a backup broke off");
            io::Error::other("the backup broke off")
        })
    });
    Ok(([(header::CONTENT_TYPE, MEDIA)], Body::from_stream(pieces)).into_response())
}
