//! All pairs and all clusters, streamed.

use std::io;

use axum::body::Body;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;

use crate::budget::{Purpose, Reservation};
use crate::engine::{Batch, Discovery, Engine, EngineError, FoundPair};
use crate::http::AppState;
use crate::http::bulk::ndjson;
use crate::http::problem::Problem;
use crate::http::problem::of_calls::{Clustering, Discovering};
use crate::http::request::extract::Ready;
use crate::http::request::parameters::ClusterParameters;
use crate::http::request::query::Query;
use crate::http::response::found::{ClusterLines, ClusterOfReply, ClusterReply};
use crate::http::response::json::Json;
use crate::http::response::timed::timed;

/// All pairs
///
/// Returns every pair of documents whose Jaccard similarity is at least the threshold, each once,
/// as a line of NDJSON, from one consistent view while writes go on. Pairs are sent as they are
/// found: first those of documents with equal sets, then the others, in an order that does not
/// depend on the order of arrival. `GET /stats` shows the progress; closing the connection stops
/// it. After a failure the connection is closed without the end of the body, so that a part never
/// looks whole.
#[utoipa::path(
    get, path = "/pairs", operation_id = "pairs", tag = "Discovery",
    params(Discovery),
    responses((status = 200, description = "A pair for each line.", body = FoundPair,
        content_type = "application/x-ndjson"), Discovering),
)]
pub async fn pairs(
    Query(discovery): Query<Discovery>,
    State(state): State<AppState>,
    Ready(engine): Ready,
) -> Result<Response, Problem> {
    let keep = (state.discovery_permit()?, memory(&state, &engine).await?, engine.clone());
    let pairs = engine.pairs(discovery, keep).await?;
    Ok(streamed(pairs, |pair, text| {
        text.extend_from_slice(&ndjson::line(&pair));
    }))
}

/// All clusters
///
/// Returns all clusters of near-duplicates, each as a line of NDJSON, in the order of their
/// representatives, from one consistent view while writes go on. Clusters, their names and
/// representatives do not depend on the order of arrival. The first line is sent when all documents
/// have been compared. Progress, stop and failure are as for `GET /pairs`.
///
/// With `id` it returns the cluster of that document alone, as one JSON object: its near-duplicates
/// are looked up, and theirs, until nothing new is found. That takes a lookup for each distinct set
/// of the cluster, however many documents there are. A collection that keeps clusters returns the
/// one that it keeps, at once and in pages, unless another threshold or a mode is given.
#[utoipa::path(
    get, path = "/clusters", operation_id = "clusters", tag = "Discovery",
    params(Discovery, ClusterParameters),
    responses(
        (status = 200, description = "A cluster for each line; with `id` the document's cluster.",
            content((ClusterReply = "application/x-ndjson"),
                (ClusterOfReply = "application/json"))),
        Clustering,
    ),
)]
pub async fn clusters(
    Query((discovery, clusters)): Query<(Discovery, ClusterParameters)>,
    State(state): State<AppState>,
    Ready(engine): Ready,
) -> Result<Response, Problem> {
    if let Some(id) = clusters.id.clone() {
        let lookup = clusters.of_document(discovery, &state.settings)?;
        let kept = engine.clusters_threshold().filter(|_| lookup.mode.is_none());
        let is_stored = kept.is_some_and(|kept| lookup.threshold.is_none_or(|of| of == kept));
        let after = clusters.after(is_stored)?;
        let reply = if is_stored {
            let stored = async { engine.stored_cluster_of(&id, after, lookup.limit) };
            ClusterOfReply::Stored(timed(stored).await?.0)
        } else {
            ClusterOfReply::Found(timed(engine.cluster_of(id, lookup)).await?.0)
        };
        return Ok(Json(reply).into_response());
    }
    clusters.check_limit()?;
    let keep = (state.discovery_permit()?, memory(&state, &engine).await?, engine.clone());
    let (linkage, min_size) = (clusters.linkage.unwrap_or_default(), clusters.min_size());
    let clusters = engine.clusters(discovery, linkage, min_size, keep).await?;
    let mut lines = ClusterLines::default();
    Ok(streamed(clusters, move |part, text| lines.write(part, text)))
}

/// Bytes of a document in a discovery besides its sketch: its id, its keys and its cluster.
const DOCUMENT_BYTES: usize = 256;

/// The memory of a discovery in all documents of a collection.
async fn memory(state: &AppState, engine: &Engine) -> Result<Reservation, Problem> {
    let documents = engine.stats().await?.backend.documents as usize;
    let each = engine.settings().sketch.sketch_bytes() + DOCUMENT_BYTES;
    let memory = state.budget.reservation(Purpose::Discoveries);
    memory.grow(documents.saturating_mul(each))?;
    Ok(memory)
}

/// Sends each batch by itself, so that neither all results nor one long line are in memory at once.
fn streamed<T: 'static>(
    batches: BoxStream<'static, Batch<T>>,
    mut write: impl FnMut(T, &mut Vec<u8>) + Send + 'static,
) -> Response {
    let pieces = batches.map(move |batch| match batch {
        Ok(batch) => {
            let mut text = Vec::new();
            for found in batch {
                write(found, &mut text);
            }
            Ok(Bytes::from(text))
        }
        Err(error) => {
            match error {
                EngineError::Closed => tracing::warn!("a discovery was stopped"),
                error => tracing::error!(%error, "a discovery broke off"),
            }
            Err(io::Error::other("a discovery broke off"))
        }
    });
    ([(header::CONTENT_TYPE, ndjson::MEDIA)], Body::from_stream(pieces)).into_response()
}
