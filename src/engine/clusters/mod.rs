//! The clusters that a collection keeps, up to date as documents come and go.
//!
//! **What.** With `clusters.threshold` in its settings, a collection keeps the connected components
//! of its near-duplicates (single linkage): whose exact resemblance is at least the threshold, as
//! far as lookups find them, so all of them where an index for exact lookups covers the threshold.
//! A cluster is named after its oldest member, the one that was stored first of those that are
//! there: the name stays when others join or leave, and of two clusters that are merged the older
//! one's stays. A document that is replaced by another content counts as a new one.
//!
//! **Where.** In memory alone ([`crate::backend::Clusters`]), about 50 bytes for a document in a
//! cluster and none for the others, at most `limits.clusters_bytes_max`. Nothing is on disk that
//! could be lost or contradict the documents: at a start every document is linked again in the
//! background, and answers say `building` until that is done.
//!
//! **How.** A document is *linked* once it is in the index ([`linking`]): its near-duplicates are
//! looked up, and of each cluster among them candidates are verified only until the first pair. So
//! an addition among copies costs one comparison. Whichever of two near-duplicates is filed later
//! finds the other. Additions link their document before they answer; what was not linked, because
//! a client went away, is linked by the background work. A removal leaves the rest of its cluster
//! *stale*: the members are connected anew among themselves ([`rebuilding`]), and nobody else is
//! read. A document that gives way to one with an equal set only changes its ordinal.
//!
//! **How much.** The background work of a server takes half of one core at most ([`Pace`]). A
//! document is compared with `limits.checked_max` sets, so it may be linked with fewer clusters
//! than it should among very many that are nearly near-duplicates: answers then say `truncated`.

mod linking;
mod rebuilding;
mod settings;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::Serialize;
use tokio::time::Instant;
use utoipa::ToSchema;

use crate::backend::{ClusterCounts, ClusterEntry, ClusterWork, Clusters, ClustersState, Local};
use crate::document::{DocumentId, Ordinal};
use crate::engine::{Engine, EngineError};
use crate::join::cluster_name;
use crate::scheme::Threshold;

pub use settings::ClusteringSettings;

/// What a backend without them is said not to support.
const CLUSTERS: &str = "stored clusters";

/// How long the background work goes on before it rests for as long.
const WORK_MAX: Duration = Duration::from_millis(10);

/// Documents and clusters between two looks at the time.
const STEPS_MAX: usize = 4_096;

/// A page of the clusters that a collection keeps.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct StoredClusters {
    /// The oldest first.
    pub clusters: Vec<StoredCluster>,
    /// The `after` of the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "42")]
    pub next: Option<String>,
    pub state: ClustersState,
    #[schema(value_type = f64, example = 0.8)]
    pub threshold: Threshold,
    /// A work limit was hit: some clusters may be apart that are one.
    pub truncated: bool,
}

/// A cluster that a collection keeps.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct StoredCluster {
    /// The cluster's name, which depends on its representative only.
    #[schema(example = "e6c632b61e964e1f")]
    pub cluster: String,
    /// Its oldest member.
    pub representative: DocumentId,
    /// The number of members.
    pub size: usize,
    /// Whether a member was removed since it was computed, so that it may be several.
    pub stale: bool,
}

/// The cluster of a document, and a page of its members.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ClusterMembers {
    /// The cluster's name, which depends on its representative only.
    #[schema(example = "e6c632b61e964e1f")]
    pub cluster: String,
    /// Its oldest member.
    pub representative: DocumentId,
    /// The number of members.
    pub size: usize,
    /// Whether a member was removed since it was computed, so that it may be several.
    pub stale: bool,
    /// The oldest first.
    pub members: Vec<ClusterMemberId>,
    /// There are more members.
    pub more: bool,
    /// The `after` of the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "42")]
    pub next: Option<String>,
    pub state: ClustersState,
    #[schema(value_type = f64, example = 0.8)]
    pub threshold: Threshold,
    /// A work limit was hit: some members may be missing.
    pub truncated: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ClusterMemberId {
    pub id: DocumentId,
}

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

/// What linking takes of an engine.
struct Linker<'a> {
    engine: &'a Engine,
    local: &'a Local,
    clusters: &'a Clusters,
    threshold: Threshold,
    /// Set when a work limit is hit.
    truncated: &'a AtomicBool,
}

impl Engine {
    /// The linker, if the collection keeps clusters.
    fn linker(&self) -> Option<Linker<'_>> {
        let threshold = self.settings.clusters.threshold?;
        let local = self.local(CLUSTERS).ok()?;
        let (clusters, truncated) = (local.clusters()?, &*self.clusters_truncated);
        Some(Linker { engine: self, local, clusters, threshold, truncated })
    }

    /// The threshold of the clusters that the collection keeps; `None` if it keeps none.
    pub fn clusters_threshold(&self) -> Option<Threshold> {
        self.settings.clusters.threshold
    }

    pub(super) fn cluster_counts(&self) -> Option<ClusterCounts> {
        self.local(CLUSTERS).ok()?.cluster_counts()
    }

    /// Does some of the background work, at half the speed of a core; returns whether there is
    /// more. Call it from one task at a time. Dropping the future loses nothing.
    ///
    /// # Errors
    /// `Store`, `Closed`.
    pub async fn update_clusters(&self) -> Result<bool, EngineError> {
        let Some(linker) = self.linker() else { return Ok(false) };
        let mut pace = Pace::begin();
        for _ in 0..STEPS_MAX {
            match linker.clusters.next_work() {
                None => return Ok(false),
                Some(ClusterWork::Link(documents)) => {
                    linker.link_all(&documents, &mut pace).await?;
                }
                Some(ClusterWork::Visit(chunk)) => {
                    linker.link_all(&linker.local.documents_in(chunk), &mut pace).await?;
                    linker.clusters.visited(chunk);
                }
                Some(ClusterWork::Rebuild(members)) => linker.rebuild(members, &mut pace).await?,
            }
            pace.step().await;
        }
        Ok(true)
    }

    /// Links a document that was just stored, and returns its cluster's name, if clusters are kept
    /// and known. Its addition has succeeded, so a failure is logged and linking tried again later.
    pub(super) async fn link_added(&self, id: &DocumentId) -> Option<String> {
        let linker = self.linker()?;
        let ordinal = linker.local.ordinal(id)?;
        if !linker.clusters.is_linked(ordinal)
            && let Err(error) = linker.link(ordinal).await
        {
            tracing::warn!(%error, "a document is not in its cluster yet");
        }
        linker.name_of(ordinal)
    }

    /// The name of the cluster of a stored document; `None` if clusters are not kept, or not known
    /// yet.
    pub fn cluster_name_of(&self, id: &DocumentId) -> Option<String> {
        let linker = self.linker()?;
        linker.name_of(linker.local.ordinal(id)?)
    }

    /// A page of at most `limit` clusters of at least `min_size` documents, the oldest first, after
    /// the `next` of a former page. A page may have fewer, even none: it is the last if it has no
    /// `next`. Successive pages have every cluster that stays as it is.
    ///
    /// # Errors
    /// `ClustersNotKept`.
    pub fn stored_clusters(
        &self,
        after: Option<Ordinal>,
        min_size: usize,
        limit: usize,
    ) -> Result<StoredClusters, EngineError> {
        let linker = self.linker().ok_or(EngineError::ClustersNotKept)?;
        // Clusters of one are not kept.
        let (entries, next) = linker.clusters.page(after, min_size.max(2), limit);
        let counts = linker.local.cluster_counts().ok_or(EngineError::ClustersNotKept)?;
        Ok(StoredClusters {
            clusters: entries.into_iter().filter_map(|entry| linker.stored(entry)).collect(),
            next: next.map(|next| next.get().to_string()),
            state: counts.state,
            threshold: linker.threshold,
            truncated: linker.truncated.load(Ordering::Relaxed),
        })
    }

    /// The stored cluster of a document, and at most `limit` of its members after the `next` of a
    /// former page.
    ///
    /// # Errors
    /// `ClustersNotKept`, `DocumentNotFound`.
    pub fn stored_cluster_of(
        &self,
        id: &DocumentId,
        after: Option<Ordinal>,
        limit: usize,
    ) -> Result<ClusterMembers, EngineError> {
        let linker = self.linker().ok_or(EngineError::ClustersNotKept)?;
        let ordinal = linker.local.ordinal(id).ok_or_else(|| EngineError::not_found(id))?;
        let alone = ClusterEntry { oldest: ordinal, size: 1, is_stale: false };
        let (entry, members, more) = linker.clusters.cluster(ordinal, after, limit).unwrap_or((
            alone,
            vec![ordinal].into_iter().filter(|of| after.is_none_or(|after| *of > after)).collect(),
            false,
        ));
        let counts = linker.local.cluster_counts().ok_or(EngineError::ClustersNotKept)?;
        let next = members.last().filter(|_| more).map(|last| last.get().to_string());
        let is_shown = |member: &Ordinal| !linker.local.has_expired(*member);
        let ids = members.into_iter().filter(is_shown).filter_map(|of| linker.local.id(of));
        let stored = linker.stored(entry).ok_or_else(|| EngineError::not_found(id))?;
        let StoredCluster { cluster, representative, size, stale } = stored;
        Ok(ClusterMembers {
            cluster,
            representative,
            size,
            stale,
            members: ids.map(|id| ClusterMemberId { id }).collect(),
            more,
            next,
            state: counts.state,
            threshold: linker.threshold,
            truncated: linker.truncated.load(Ordering::Relaxed),
        })
    }
}

impl Linker<'_> {
    fn name_of(&self, ordinal: Ordinal) -> Option<String> {
        let counts = self.clusters.counts();
        if matches!(counts.state, ClustersState::Building | ClustersState::OverLimit) {
            return None;
        }
        let cluster = self.clusters.cluster(ordinal, None, 0);
        let oldest = cluster.map_or(ordinal, |(entry, ..)| entry.oldest);
        self.local.id(oldest).map(|id| cluster_name(&id))
    }

    /// `None` if its oldest member was just removed.
    fn stored(&self, entry: ClusterEntry) -> Option<StoredCluster> {
        let representative = self.local.id(entry.oldest)?;
        Some(StoredCluster {
            cluster: cluster_name(&representative),
            representative,
            size: entry.size,
            stale: entry.is_stale,
        })
    }
}
