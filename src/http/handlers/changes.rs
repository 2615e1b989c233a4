//! The feed of changes.

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::response::Response;
use serde::{Deserialize, Deserializer, Serialize, de};
use utoipa::{IntoParams, ToSchema};

use crate::document::DocumentId;
use crate::engine::{Change, ClusterPosition, Collection, Engine, EngineError, Position};
use crate::http::bulk::ndjson;
use crate::http::connection::admission::Admission;
use crate::http::problem::Problem;
use crate::http::request::{AnswerMemory, Query, Ready, SMALL, Within, WrongOption};
use crate::http::response::reply;
use crate::http::response::{Broken, ReplyWriter};
use akin_model::time::Time;

/// Changes of an answer, if the call does not limit them.
const LIMIT_DEFAULT: u32 = 1_000;

const LIMIT_MAX: u32 = 10_000;

const WAIT_S_MAX: u32 = 60;

/// Operations that are read for an answer at a time.
const OPERATIONS_AT_ONCE: usize = 500;

/// Memory of a change without its id.
const CHANGE_BYTES: usize = 64;

/// Which changes are returned.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ChangesParameters {
    /// The `position` of an earlier answer. Without it the answer has the position of now alone.
    #[param(value_type = Option<String>, example = "1763856000000-42")]
    since: Option<Since>,
    /// The most operations that are read for an answer; and as many changes of clusters.
    #[serde(default = "limit_default")]
    #[param(value_type = u32, minimum = 1, maximum = 10_000, default = 1_000)]
    limit: Within<1, LIMIT_MAX>,
    /// How many seconds the answer waits for something to happen, if nothing has.
    #[serde(default)]
    #[param(value_type = u32, minimum = 0, maximum = 60, default = 0)]
    wait_s: Within<0, WAIT_S_MAX>,
    /// Also tell the documents whose cluster changed, in a collection with `clusters.threshold`.
    #[serde(default)]
    #[param(default = false)]
    clusters: bool,
}

fn limit_default() -> Within<1, LIMIT_MAX> {
    Within(LIMIT_DEFAULT)
}

/// A position as clients keep it.
#[derive(Clone, Copy)]
struct Since {
    documents: Position,
    clusters: Option<ClusterPosition>,
}

const NO_POSITION: &str = "must be the `position` of an answer of this version of akin: otherwise \
                           begin again without `since`, and read all documents";

impl<'de> Deserialize<'de> for Since {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| de::Error::custom(NO_POSITION))
    }
}

impl Since {
    fn text(self) -> String {
        let Position { store, sequence } = self.documents;
        let documents = format!("{store}-{sequence}");
        let Some(ClusterPosition { start, notes, documents_from }) = self.clusters else {
            return documents;
        };
        let from = documents_from.map(|from| format!("-{from}")).unwrap_or_default();
        format!("{documents}-{start}-{notes}{from}")
    }

    /// `None` if it is none.
    fn parse(text: &str) -> Option<Self> {
        let numbers = text.splitn(6, '-').map(|number| number.parse().ok());
        let numbers: Vec<u64> = numbers.collect::<Option<_>>()?;
        let [store, sequence, ref clusters @ ..] = *numbers else { return None };
        let clusters = match *clusters {
            [] => None,
            [start, notes] => Some(ClusterPosition { start, notes, documents_from: None }),
            [start, notes, from] => {
                Some(ClusterPosition { start, notes, documents_from: Some(from) })
            }
            _ => return None,
        };
        Some(Self { documents: Position { store: store.try_into().ok()?, sequence }, clusters })
    }

    /// Whether anything changed after it, also in clusters if these are read.
    fn is_past(self, engine: &Engine, reads_clusters: bool) -> Result<bool, EngineError> {
        let last = reads_clusters.then(|| engine.last_cluster_note()).flatten();
        let has_notes = last.is_some() && self.clusters != last;
        Ok(has_notes || engine.has_changed_since(self.documents)?)
    }
}

/// A line of the feed: a change, or last of all where the next call goes on.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = ChangesLine)]
#[expect(dead_code, reason = "each line is written by its own type")]
pub enum ChangesLine {
    Change(DocumentChanged),
    End(ChangesEnd),
}

/// A document was stored, removed, or has another cluster.
#[derive(Serialize, ToSchema)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum DocumentChanged {
    #[schema(title = "DocumentStored")]
    Stored { id: DocumentId, stored_at: Time },
    /// Also if it expired.
    #[schema(title = "DocumentRemoved")]
    Removed { id: DocumentId },
    /// The document is in the cluster of this name now. It may have been before.
    #[schema(title = "DocumentClustered")]
    Clustered {
        id: DocumentId,
        #[schema(example = "a9738ed41e992d80")]
        cluster: String,
    },
}

impl DocumentChanged {
    fn id(&self) -> &DocumentId {
        match self {
            Self::Stored { id, .. } | Self::Removed { id } | Self::Clustered { id, .. } => id,
        }
    }
}

/// Where the next call goes on.
#[derive(Serialize, ToSchema)]
pub struct ChangesEnd {
    /// The `since` of the next call.
    #[schema(example = "1763856000000-42")]
    position: String,
}

impl From<Change> for DocumentChanged {
    fn from(change: Change) -> Self {
        let id = change.id;
        match change.stored_at_ms {
            Some(at) => Self::Stored { id, stored_at: Time(at) },
            None => Self::Removed { id },
        }
    }
}

/// Follow changes
///
/// Returns the changes since a position, in order, as a line of NDJSON for each document that was
/// stored or removed, and then a line with the `position` for the next call. To keep a copy
/// elsewhere: take the position of now (a call without `since`), read all documents (`GET
/// /export`), then follow the changes from that position. Of a document that was stored several
/// times only the last change is certain to be reported; each reported change is on disk. A
/// position that is too old, or was taken before a reindex, is answered 410 `changes_gone`: read
/// all documents again. With `clusters=true` a line `clustered` for each document whose cluster
/// changed follows the lines of documents, and for every document once after a position without
/// clusters and after each start of the server.
#[utoipa::path(
    get, path = "/changes", operation_id = "changes", tag = "Documents",
    params(ChangesParameters),
    responses((status = 200, description = "A change for each line, and the next position.",
        body = ChangesLine, content_type = "application/x-ndjson")),
)]
pub async fn changes(
    Query(parameters): Query<ChangesParameters>,
    Extension(admission): Extension<Arc<Admission>>,
    Ready(engine): Ready,
    AnswerMemory(memory): AnswerMemory<SMALL>,
) -> Result<Response, Problem> {
    let ChangesParameters { since, limit: Within(limit), wait_s: Within(wait_s), clusters } =
        parameters;
    if clusters && engine.clusters_threshold().is_none() {
        return Err(
            WrongOption::new("clusters", "needs a collection with clusters.threshold").into()
        );
    }
    if let Some(after) = since
        && wait_s > 0
        && !after.is_past(&engine, clusters)?
    {
        admission.wait()?;
        let wait = Duration::from_secs(wait_s.into());
        engine.await_change(|engine| after.is_past(engine, clusters), wait).await?;
        admission.work_soon().await?;
    }
    let write = |writer| write(engine, since, limit as usize, clusters, writer);
    reply::stream(ndjson::MEDIA, memory, write).await
}

/// Writes the changes of at most `limit` operations: a block of operations is read once the client
/// has read the blocks before it.
async fn write(
    engine: Arc<Collection>,
    since: Option<Since>,
    limit: usize,
    clusters: bool,
    mut writer: ReplyWriter,
) -> Result<ReplyWriter, Broken> {
    // Before the documents are read: so each document of these notes was reported as stored before.
    let noted_until = since.and_then(|_| clusters.then(|| engine.last_cluster_note())).flatten();
    let mut after = since.map(|since| since.documents);
    let mut left = limit;
    loop {
        let at_once = left.min(OPERATIONS_AT_ONCE);
        let (changes, next) = engine.changes(after, at_once).await?;
        let is_behind = engine.has_changed_since(next)?;
        write_lines(changes.into_iter().map(DocumentChanged::from).collect(), &mut writer).await?;
        (left, after) = (left - at_once, Some(next));
        if is_behind && left > 0 {
            continue;
        }
        let mut end = Since { documents: next, clusters: since.and_then(|since| since.clusters) };
        if let Some(until) = noted_until.filter(|_| !is_behind) {
            end.clusters =
                Some(write_noted(&engine, end.clusters, until, limit, &mut writer).await?);
        }
        writer.value(&ChangesEnd { position: end.text() })?;
        writer.text("\n")?;
        return Ok(writer);
    }
}

/// Writes the clusters of at most `limit` noted documents and clusters; returns the position behind
/// these notes.
async fn write_noted(
    engine: &Collection,
    after: Option<ClusterPosition>,
    until: ClusterPosition,
    limit: usize,
    writer: &mut ReplyWriter,
) -> Result<ClusterPosition, Broken> {
    let (notes, next) = engine.cluster_notes(after, until, limit)?;
    let mut lines = Vec::new();
    for note in notes {
        let Some((ids, cluster)) = engine.noted(note) else { continue };
        let clustered = |id| DocumentChanged::Clustered { id, cluster: cluster.clone() };
        lines.extend(ids.into_iter().map(clustered));
        if lines.len() >= OPERATIONS_AT_ONCE {
            write_lines(std::mem::take(&mut lines), writer).await?;
            tokio::task::yield_now().await;
        }
    }
    write_lines(lines, writer).await?;
    Ok(next)
}

async fn write_lines(lines: Vec<DocumentChanged>, writer: &mut ReplyWriter) -> Result<(), Broken> {
    let memory = writer.another(0)?.with_allowance(SMALL);
    memory.grow(lines.iter().map(|line| CHANGE_BYTES + line.id().as_str().len()).sum())?;
    let memory = Arc::new(memory);
    for line in lines {
        writer.hold(&memory);
        writer.value(&line)?;
        writer.text("\n")?;
        writer.send_if_full().await?;
    }
    Ok(())
}
