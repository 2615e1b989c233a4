//! All pairs and all clusters, streamed.

use std::io;

use axum::body::Body;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use serde::Serialize;
use utoipa::ToSchema;

use crate::backend::BackendError;
use crate::budget::{Purpose, Reservation};
use crate::engine::{Batch, ClusterPart, Discovery, Engine, EngineError, FoundPair, PairPart};
use crate::http::AppState;
use crate::http::access::RequestClient;
use crate::http::bulk::ndjson;
use crate::http::problem::Problem;
use crate::http::request::{ClusterParameters, Query, Ready};
use akin_model::clusters::{ClusterLine, ClusterMemberReply, IncompleteReply};

/// All pairs
///
/// Returns every pair of documents whose Jaccard similarity is at least the threshold, each once,
/// as a line of NDJSON, from a consistent view while writes go on. Pairs are sent as they are
/// found: first pairs of documents with equal sets, then all other pairs, in an order that does not
/// depend on the order of arrival. `GET /stats` shows the progress; closing the connection stops
/// it. After a failure the connection is closed without the end of the body, so that a part never
/// looks whole.
///
/// Where thousands of documents are made from one template and are just below the threshold, a
/// document is not compared with all of them, unless the mode is `exact`. Then there is a last line
/// `{"incomplete": {"documents": …, "ids": […], "example": [id, id], "shared": …}}`: the number of
/// documents that were not compared with all their candidates, at most 100 of their ids, two
/// documents that were not compared, and the number of shingles that these two share.
#[utoipa::path(
    get, path = "/pairs", operation_id = "pairs", tag = "Discovery",
    params(Discovery),
    responses((status = 200, description = "A pair for each line.", body = PairLine,
        content_type = "application/x-ndjson")),
)]
pub async fn pairs(
    Query(discovery): Query<Discovery>,
    State(state): State<AppState>,
    Ready(engine): Ready,
    client: RequestClient,
) -> Result<Response, Problem> {
    let permit = state.discoveries.take(&client)?;
    let keep = (permit, discovery_memory(&state, &engine).await?, engine.clone());
    let pairs = engine.pairs(discovery, keep).await?;
    Ok(streamed(pairs, |part, text| match part {
        PairPart::Pair(pair) => ndjson::write_line(text, &PairLine::Pair(pair)),
        PairPart::Incomplete(incomplete) => {
            ndjson::write_line(text, &PairLine::Incomplete(IncompleteReply { incomplete }));
        }
    }))
}

/// All clusters
///
/// Returns all clusters of near-duplicates, each as a line of NDJSON, in the order of their
/// representatives; with `id` the cluster of this document alone. A cluster is named after its
/// representative, the member with the lowest id, so clusters, their names and representatives do
/// not depend on the order of arrival.
///
/// A discovery finds them, from one consistent view while writes go on: the first line is sent when
/// all documents have been compared; progress, stop and failure are as for `GET /pairs`. A
/// collection with `clusters.threshold` keeps the clusters of single linkage up to date, and
/// returns these at once, unless another `threshold` or a `mode` is given, or they are being built
/// after a start.
///
/// If documents were not compared with all their candidates, there is a last line `incomplete` as
/// for `GET /pairs`. Of kept clusters it counts the documents, too, that are not linked with their
/// clusters yet, and the documents of clusters that a removal may have divided.
#[utoipa::path(
    get, path = "/clusters", operation_id = "clusters", tag = "Discovery",
    params(Discovery, ClusterParameters),
    responses((status = 200, description = "A cluster for each line.", body = ClusterLine,
        content_type = "application/x-ndjson")),
)]
pub async fn clusters(
    Query((discovery, clusters)): Query<(Discovery, ClusterParameters)>,
    State(state): State<AppState>,
    Ready(engine): Ready,
    client: RequestClient,
) -> Result<Response, Problem> {
    let query = clusters.query()?;
    let clusters = if let Some(kept) = engine.kept_clusters(&discovery, &query)? {
        let documents = kept.documents();
        let is_large = query.id.is_none() || documents > KEPT_FREE_MAX;
        let permit = is_large.then(|| state.discoveries.take(&client)).transpose()?;
        let memory = state.budget.reservation(Purpose::Discoveries);
        memory.grow(documents.saturating_mul(KEPT_DOCUMENT_BYTES).saturating_add(KEPT_BYTES))?;
        kept.stream((permit, memory, engine.clone()))?
    } else {
        let permit = state.discoveries.take(&client)?;
        let keep = (permit, discovery_memory(&state, &engine).await?, engine.clone());
        engine.clusters(discovery, query, keep).await?
    };
    let mut lines = ClusterLines::default();
    Ok(streamed(clusters, move |part, text| lines.write(part, text)))
}

/// Bytes of a document in a kept cluster that is being returned, and of an answer's batches of
/// lines.
const KEPT_DOCUMENT_BYTES: usize = 64;
const KEPT_BYTES: usize = 256 << 10;

/// Documents of a kept cluster that is returned without being counted as a discovery.
const KEPT_FREE_MAX: usize = 1_000;

/// Bytes of a document in a discovery without its sketch: its id, its keys and its cluster.
const DOCUMENT_BYTES: usize = 256;

/// The memory of a discovery in all documents of a collection.
async fn discovery_memory(state: &AppState, engine: &Engine) -> Result<Reservation, Problem> {
    let documents = engine.documents().await? as usize;
    let each = engine.settings().sketch.sketch_bytes() + DOCUMENT_BYTES;
    let memory = state.budget.reservation(Purpose::Discoveries);
    memory.grow(documents.saturating_mul(each))?;
    Ok(memory)
}

/// Sends each batch by itself, so that neither all results nor a long line are in memory at once.
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
                EngineError::Backend(BackendError::Closed) => {
                    tracing::warn!("discovery stopped: the server is shutting down");
                }
                error => tracing::error!(%error, "discovery failed"),
            }
            Err(io::Error::other("discovery failed"))
        }
    });
    ([(header::CONTENT_TYPE, ndjson::MEDIA)], Body::from_stream(pieces)).into_response()
}

/// Writes clusters as lines of NDJSON, from their parts.
#[derive(Default)]
pub struct ClusterLines {
    members_written: bool,
}

impl ClusterLines {
    pub fn write(&mut self, part: ClusterPart, text: &mut Vec<u8>) {
        match part {
            ClusterPart::Begin(head) => {
                self.members_written = false;
                ndjson::write_on_one_line(text, &head);
                // The object goes on.
                text.pop();
                text.extend_from_slice(br#","members":["#);
            }
            ClusterPart::Member { id, resemblance } => {
                if self.members_written {
                    text.push(b',');
                }
                self.members_written = true;
                ndjson::write_on_one_line(text, &ClusterMemberReply { id, resemblance });
            }
            ClusterPart::End => text.extend_from_slice(b"]}\n"),
            ClusterPart::Incomplete(incomplete) => {
                ndjson::write_line(text, &ClusterLine::Incomplete(IncompleteReply { incomplete }));
            }
        }
    }
}

/// A line of all pairs. The last line may say which pairs may be missing.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub enum PairLine {
    Pair(FoundPair),
    Incomplete(IncompleteReply),
}

#[cfg(test)]
mod tests {
    use super::*;
    use akin_model::clusters::ClusterHead;

    use crate::document::DocumentId;

    #[test]
    fn parts_come_to_lines_that_are_json() {
        let id = |id: &str| DocumentId::new(id).unwrap();
        let cluster = |members: &[&str]| {
            let begin = ClusterPart::Begin(ClusterHead {
                cluster: "c".to_owned(),
                representative: id(members[0]),
                size: members.len(),
            });
            let members = members
                .iter()
                .map(|member| ClusterPart::Member { id: id(member), resemblance: 0.5 });
            [begin].into_iter().chain(members).chain([ClusterPart::End]).collect::<Vec<_>>()
        };
        let mut lines = ClusterLines::default();
        let mut text = Vec::new();
        for part in [cluster(&["a\"]}", "b", "c"]), cluster(&["d"])].concat() {
            lines.write(part, &mut text);
        }
        let text = String::from_utf8(text).unwrap();
        let read: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(read.len(), 2);
        assert_eq!(read[0]["representative"], "a\"]}");
        assert_eq!(read[0]["members"][2], serde_json::json!({"id": "c", "resemblance": 0.5}));
        assert_eq!(
            (&read[1]["size"], read[1]["members"].as_array().unwrap().len()),
            (&1.into(), 1)
        );
    }
}
