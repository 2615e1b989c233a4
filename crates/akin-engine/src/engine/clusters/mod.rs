//! The clusters that a collection keeps, up to date as documents come and go.
//!
//! **What.** With `clusters.threshold` in its settings, a collection keeps the connected components
//! of its near-duplicates (single linkage): pairs of documents whose exact resemblance is at least
//! the threshold, as far as lookups find these pairs, so all of them where an index for exact
//! lookups covers the threshold. A cluster is named as in a discovery: after its representative,
//! the member with the lowest id. So the name is the same after a start, a reindex or a change of
//! metadata, and on another server with the same documents. It changes when a document with a lower
//! id joins, and when the representative is removed or changes its text.
//!
//! **Where.** In memory alone ([`crate::backend::Clusters`]), about 130 bytes for a document in a
//! cluster and none for other documents, at most `limits.clusters_bytes_max`. Nothing is on disk
//! that could be lost or contradict the documents: at a start every document is linked again in the
//! background. Until then the state is `building`, and discoveries answer for the kept clusters.
//!
//! **How.** A document is *linked* once it is in the index ([`linking`]): its near-duplicates are
//! looked up, and in each cluster among them candidates are verified only until the first pair. So
//! an addition among copies costs a comparison. The near-duplicate that is indexed later finds
//! the earlier document. Additions link their document before they answer; a document that was not
//! linked, because a client disconnected, is linked by the background work. Each cluster keeps a
//! spanning tree of the pairs by which its documents were linked, each to a random near-duplicate,
//! so that hardly any document has many edges. The removal of a document with one edge changes
//! nothing else; with more edges its tree falls apart, and the cluster is *stale*: documents of the
//! parts are linked again, in turn, until other pairs connect the parts, or all documents of the
//! smaller parts were looked up. A document that is replaced by a version with an equal set only
//! changes its ordinal.
//!
//! **How much.** The background work of a server takes half of one core at most ([`Pace`]). A
//! document is compared with `limits.checked_max` sets, and in a crowd with some sets of the crowd:
//! so it may be linked with fewer clusters than it should. Answers name these documents as
//! `incomplete`. They are looked up again when as many documents have been added or removed as
//! there are of them.

mod kept;
mod linking;
#[cfg(test)]
mod tests;

use std::time::Duration;

use tokio::time::Instant;

use crate::backend::{ClusterCounts, ClusterKeeping, ClusterWork, Clusters, ClustersState};
use crate::document::{DocumentId, Ordinal};
use crate::engine::{Engine, EngineError};
use akin_core::join::cluster_name;
use akin_core::scheme::Threshold;

pub use kept::KeptClusters;

/// The background work works for this long, and then rests for as long.
const WORK_MAX: Duration = Duration::from_millis(10);

/// How long a collection's background work goes on before another collection has its turn.
const SLICE: Duration = Duration::from_millis(200);

/// Makes background work rest for as long as it works.
struct Pace(Instant);

impl Pace {
    fn begin() -> Self {
        Self(Instant::now())
    }

    async fn step(&mut self) {
        tokio::task::yield_now().await;
        let worked = self.0.elapsed();
        if worked >= WORK_MAX {
            tokio::time::sleep(worked).await;
            self.0 = Instant::now();
        }
    }
}

/// Links the documents of a collection with their clusters.
struct Linker<'a> {
    engine: &'a Engine,
    keeping: &'a dyn ClusterKeeping,
    clusters: &'a Clusters,
    threshold: Threshold,
}

impl Engine {
    /// The linker, if the collection keeps clusters.
    fn linker(&self) -> Option<Linker<'_>> {
        let threshold = self.settings.clusters.threshold?;
        let keeping = self.backend.kept_clusters()?;
        Some(Linker { engine: self, keeping, clusters: keeping.clusters(), threshold })
    }

    /// The threshold of the clusters that the collection keeps; `None` if it keeps none.
    pub fn clusters_threshold(&self) -> Option<Threshold> {
        self.settings.clusters.threshold
    }

    pub(super) fn cluster_counts(&self) -> Option<ClusterCounts> {
        Some(self.backend.kept_clusters()?.counts())
    }

    /// Does some of the background work, at half the speed of a core; returns whether there is
    /// more. Call it from a single task. Dropping the future loses nothing.
    ///
    /// # Errors
    /// `Store`, `Closed`.
    pub async fn update_clusters(&self) -> Result<bool, EngineError> {
        let Some(linker) = self.linker() else { return Ok(false) };
        let mut pace = Pace::begin();
        let started = Instant::now();
        while started.elapsed() < SLICE {
            match linker.clusters.next_work() {
                None => return Ok(false),
                Some(ClusterWork::Link(documents)) => {
                    linker.link_all(&documents, &mut pace).await?;
                }
                Some(ClusterWork::Visit(chunk)) => {
                    linker.link_all(&linker.keeping.documents_in(chunk), &mut pace).await?;
                    linker.clusters.visited(chunk);
                }
            }
            pace.step().await;
        }
        Ok(true)
    }

    /// Links a document that was just stored, and returns its cluster's name, if clusters are kept
    /// and known. Its addition has succeeded, so a failure is logged and linking tried again later.
    pub(super) async fn link_added(&self, id: &DocumentId) -> Option<String> {
        let linker = self.linker()?;
        let ordinal = linker.keeping.ordinal(id)?;
        if !linker.clusters.is_linked(ordinal)
            && let Err(error) = linker.link(ordinal).await
        {
            tracing::warn!(%error, "could not link a document; the background task will retry");
        }
        linker.name_of(ordinal)
    }

    /// The name of the cluster of a stored document; `None` if clusters are not kept, or not known
    /// yet.
    pub fn cluster_name_of(&self, id: &DocumentId) -> Option<String> {
        let linker = self.linker()?;
        linker.name_of(linker.keeping.ordinal(id)?)
    }

    pub(super) fn cluster_name_at(&self, ordinal: Ordinal) -> Option<String> {
        self.linker()?.name_of(ordinal)
    }
}

impl Linker<'_> {
    fn name_of(&self, ordinal: Ordinal) -> Option<String> {
        let counts = self.clusters.counts();
        if matches!(counts.state, ClustersState::Building | ClustersState::OverLimit) {
            return None;
        }
        let is_shown = |of| !self.keeping.has_expired(of);
        let representative = self.clusters.representative(ordinal, is_shown);
        representative.or_else(|| self.keeping.id(ordinal)).map(|id| cluster_name(&id))
    }
}
