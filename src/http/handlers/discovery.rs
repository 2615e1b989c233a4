//! All pairs and all clusters, streamed.

use std::io;

use axum::body::Body;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use utoipa::IntoParams;

use crate::engine::{Batch, Discovery, EngineError, Linkage, Mode};
use crate::http::AppState;
use crate::http::bulk::ndjson;
use crate::http::problem::Problem;
use crate::http::problem::of_calls::Discovering;
use crate::http::request::extract::Ready;
use crate::http::request::query::{Parameter, Parameters, Query, ReadParameters};
use crate::http::response::found::{ClusterLines, ClusterReply, FoundPairReply};
use crate::scheme::Threshold;

/// What counts as a pair.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub struct DiscoveryParameters {
    /// The least resemblance of a pair; the collection's own by default.
    #[param(value_type = Option<f64>, exclusive_minimum = 0.0, maximum = 1.0, example = 0.8)]
    threshold: Option<Threshold>,
    /// `verified` (default): candidates by their keys, each checked exactly; `estimated`: scored by
    /// their sketches; `exact`: no pair is missed.
    mode: Option<Mode>,
}

impl ReadParameters for DiscoveryParameters {
    fn read(parameters: &mut Parameters) -> Result<Self, Problem> {
        Ok(Self {
            threshold: parameters.optional("threshold")?,
            mode: parameters.optional("mode")?,
        })
    }
}

impl DiscoveryParameters {
    fn discovery(&self) -> Discovery {
        Discovery { threshold: self.threshold, mode: self.mode }
    }
}

/// What belongs together.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ClusterParameters {
    /// `single` (default): what a chain of pairs connects; `representative`: every member is at or
    /// over the threshold to its representative.
    linkage: Option<Linkage>,
    /// The fewest documents of a cluster that is given.
    #[param(value_type = Option<u64>, minimum = 1, default = 2)]
    min_size: Option<MinSize>,
}

impl ReadParameters for ClusterParameters {
    fn read(parameters: &mut Parameters) -> Result<Self, Problem> {
        Ok(Self {
            linkage: parameters.optional("linkage")?,
            min_size: parameters.optional("min_size")?,
        })
    }
}

/// At least 1.
#[derive(Clone, Copy)]
pub struct MinSize(pub usize);

impl Parameter for MinSize {
    fn parse(text: &str) -> Result<Self, String> {
        let size = text.parse().ok().filter(|size| *size > 0).map(Self);
        size.ok_or_else(|| "a whole number from 1 on".to_owned())
    }
}

/// The parameters of a call for clusters.
pub struct Clustering {
    discovery: Discovery,
    linkage: Linkage,
    min_size: usize,
}

impl ReadParameters for Clustering {
    fn read(parameters: &mut Parameters) -> Result<Self, Problem> {
        let discovery = DiscoveryParameters::read(parameters)?.discovery();
        let ClusterParameters { linkage, min_size } = ClusterParameters::read(parameters)?;
        let min_size = min_size.map_or(2, |min_size| min_size.0);
        Ok(Self { discovery, linkage: linkage.unwrap_or_default(), min_size })
    }
}

/// All pairs
///
/// Every pair of documents at or over the threshold, each once, a pair a line, from one consistent
/// view while writes go on. Pairs are sent as they are found: first those of documents with equal
/// shingles, then the others, in an order that does not depend on the order of arrival. `GET
/// /stats` tells how far it has come; closing the connection stops it. What fails on the way breaks
/// off: the body then ends as no whole one does.
#[utoipa::path(
    get, path = "/pairs", operation_id = "pairs", tag = "Discovery",
    params(DiscoveryParameters),
    responses((status = 200, description = "A pair a line.", body = FoundPairReply,
        content_type = "application/x-ndjson"), Discovering),
)]
pub async fn pairs(
    Query(parameters): Query<DiscoveryParameters>,
    State(state): State<AppState>,
    Ready(engine): Ready,
) -> Result<Response, Problem> {
    let keep = (state.discovery_permit()?, engine.clone());
    let pairs = engine.pairs(parameters.discovery(), keep).await?;
    Ok(streamed(pairs, |pair, text| {
        text.extend_from_slice(&ndjson::line(&FoundPairReply::from(pair)));
    }))
}

/// All clusters
///
/// Documents grouped by their near-duplicates, a cluster a line, in the order of their
/// representatives, from one consistent view while writes go on. Clusters, their names and
/// representatives do not depend on the order of arrival. The first line comes when all documents
/// have been gone through. Otherwise as `GET /pairs`.
#[utoipa::path(
    get, path = "/clusters", operation_id = "clusters", tag = "Discovery",
    params(DiscoveryParameters, ClusterParameters),
    responses((status = 200, description = "A cluster a line.", body = ClusterReply,
        content_type = "application/x-ndjson"), Discovering),
)]
pub async fn clusters(
    Query(Clustering { discovery, linkage, min_size }): Query<Clustering>,
    State(state): State<AppState>,
    Ready(engine): Ready,
) -> Result<Response, Problem> {
    let keep = (state.discovery_permit()?, engine.clone());
    let clusters = engine.clusters(discovery, linkage, min_size, keep).await?;
    let mut lines = ClusterLines::default();
    Ok(streamed(clusters, move |part, text| lines.write(part, text)))
}

/// A batch a piece, so that neither all that is found nor one long line is in memory at once.
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
