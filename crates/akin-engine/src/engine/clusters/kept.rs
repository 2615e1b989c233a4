//! The clusters that a collection keeps, in the form in which a discovery returns clusters.

use akin_core::join::{Linkage, Stage, cluster_name};
use akin_core::measure::Overlap;
use futures_util::stream::BoxStream;

use super::Linker;
use crate::backend::{BackendError, Candidate, ClustersState, Unfinished, Version};
use crate::background;
use crate::document::{DocumentId, Ordinal};
use crate::engine::discovery::{DiscoveryGuard, stream};
use crate::engine::{
    Batch, ClusterPart, ClusterQuery, Discovery, DiscoveryKind, Engine, EngineError, Incomplete,
    Mode,
};
use akin_model::clusters::ClusterHead;
use stream::FoundSender;

/// Sets that are read and compared with the set of a representative at once.
const COMPARED_AT_ONCE: usize = 16;

/// The clusters that a collection keeps, or the cluster of one document, about to be returned.
pub struct KeptClusters {
    engine: Engine,
    clusters: Selected,
}

enum Selected {
    /// The clusters of at least so many documents.
    All { min_size: usize },
    /// The documents of a cluster.
    One(Vec<Version>),
}

impl Engine {
    /// The kept clusters, if they answer the query: it is for clusters of several documents by
    /// single linkage at the threshold from which the collection keeps clusters and names no mode,
    /// and the clusters are not being built.
    ///
    /// # Errors
    /// `DocumentNotFound`.
    pub fn kept_clusters(
        &self,
        discovery: &Discovery,
        query: &ClusterQuery,
    ) -> Result<Option<KeptClusters>, EngineError> {
        let Some(linker) = self.linker() else { return Ok(None) };
        let is_kept = query.linkage == Linkage::Single
            && (query.id.is_some() || query.min_size > 1)
            && discovery.mode.is_none()
            && discovery.threshold.is_none_or(|threshold| threshold == linker.threshold);
        let state = linker.clusters.counts().state;
        if !is_kept || matches!(state, ClustersState::Building | ClustersState::OverLimit) {
            return Ok(None);
        }
        let clusters = match &query.id {
            None => Selected::All { min_size: query.min_size },
            Some(id) => {
                let ordinal =
                    linker.keeping.ordinal(id).ok_or_else(|| EngineError::not_found(id))?;
                let alone = || vec![Version { id: id.clone(), ordinal }];
                Selected::One(linker.clusters.members(ordinal).unwrap_or_else(alone))
            }
        };
        Ok(Some(KeptClusters { engine: self.clone(), clusters }))
    }
}

impl KeptClusters {
    /// Documents in the clusters.
    pub fn documents(&self) -> usize {
        match &self.clusters {
            Selected::One(members) => members.len(),
            Selected::All { .. } => {
                self.engine.cluster_counts().map_or(0, |counts| counts.documents as usize)
            }
        }
    }

    /// The clusters in parts, as [`Engine::clusters`] returns clusters. A cluster that changes
    /// while the stream is read may be missing or come twice. `keep` is dropped when the work has
    /// ended.
    ///
    /// # Errors
    /// `Closed`.
    pub fn stream(
        self,
        keep: impl Send + 'static,
    ) -> Result<BoxStream<'static, Batch<ClusterPart>>, EngineError> {
        let Self { engine, clusters } = self;
        let threshold = engine.settings.clusters.threshold.ok_or(BackendError::Closed)?;
        let kind = DiscoveryKind::Clusters { linkage: Linkage::Single };
        let running = engine.discoveries.begin(kind, threshold, Mode::Verified)?;
        let (found, stream) = stream::of_discovery(&running);
        background::spawn(async move {
            let ended = match engine.linker() {
                Some(linker) => {
                    Sending { linker, running: &running, found: &found }.all(clusters).await
                }
                None => Err(BackendError::Closed.into()),
            };
            drop((running, engine, keep));
            found.end(ended).await;
        });
        Ok(stream)
    }
}

/// Sends kept clusters to a stream.
struct Sending<'a> {
    linker: Linker<'a>,
    running: &'a DiscoveryGuard,
    found: &'a FoundSender<ClusterPart>,
}

impl Sending<'_> {
    async fn all(&self, clusters: Selected) -> Result<(), EngineError> {
        let counts = self.linker.clusters.counts();
        self.running.progress().begin(Stage::Giving, counts.documents);
        match clusters {
            Selected::One(members) => self.cluster(members, 1).await?,
            Selected::All { min_size } => self.pages(min_size).await?,
        }
        match self.linker.incomplete() {
            Some(incomplete) => Ok(self.found.send(ClusterPart::Incomplete(incomplete)).await?),
            None => Ok(()),
        }
    }

    async fn pages(&self, min_size: usize) -> Result<(), EngineError> {
        let mut after = None;
        loop {
            let (page, next) = self.linker.clusters.page(after.as_ref(), min_size);
            for members in page {
                let documents = members.len() as u64;
                self.cluster(members, min_size).await?;
                self.running.progress().advance(documents)?;
            }
            after = next;
            if after.is_none() {
                return Ok(());
            }
            tokio::task::yield_now().await;
        }
    }

    /// Sends a cluster of at least `min_size` documents that have neither expired nor been removed.
    async fn cluster(&self, members: Vec<Version>, min_size: usize) -> Result<(), EngineError> {
        let members = self.linker.resembling(members).await?;
        let Some((representative, _)) = members.first().filter(|_| members.len() >= min_size)
        else {
            return Ok(());
        };
        let begin = ClusterPart::Begin(ClusterHead {
            cluster: cluster_name(representative),
            representative: representative.clone(),
            size: members.len(),
        });
        self.found.send(begin).await?;
        for (id, resemblance) in members {
            self.found.send(ClusterPart::Member { id, resemblance }).await?;
        }
        self.found.send(ClusterPart::End).await?;
        self.running.progress().add_found(1);
        Ok(())
    }
}

impl Linker<'_> {
    /// The ids of the documents that are shown, each with the exact resemblance to the first.
    async fn resembling(
        &self,
        members: Vec<Version>,
    ) -> Result<Vec<(DocumentId, f64)>, EngineError> {
        let members = members.into_iter().filter(|of| !self.keeping.has_expired(of.ordinal));
        let candidate =
            |of: Version| Some((of.id, self.keeping.sketched_at(of.ordinal)?.candidate));
        let mut members = members.filter_map(candidate).peekable();
        let mut first = None;
        while first.is_none() {
            let Some((_, candidate)) = members.peek() else { return Ok(Vec::new()) };
            first = self.engine.backend.sets(std::slice::from_ref(candidate)).await?.remove(0);
            if first.is_none() {
                members.next();
            }
        }
        let Some(first) = first else { return Ok(Vec::new()) };
        let mut resembling = Vec::new();
        loop {
            let some: Vec<(DocumentId, Candidate)> =
                members.by_ref().take(COMPARED_AT_ONCE).collect();
            if some.is_empty() {
                return Ok(resembling);
            }
            let (ids, candidates): (Vec<_>, Vec<_>) = some.into_iter().unzip();
            let sets = self.engine.backend.sets(&candidates).await?;
            let of = |(id, set): (DocumentId, Option<_>)| {
                Some((id, Overlap::of(&first, &set?).resemblance()))
            };
            resembling.extend(ids.into_iter().zip(sets).filter_map(of));
        }
    }

    /// The documents that may be in the wrong cluster; `None` if there are none.
    fn incomplete(&self) -> Option<Incomplete> {
        let Unfinished { documents, named, example } =
            self.clusters.unfinished(Incomplete::IDS_MAX);
        let id = |ordinal: Ordinal| self.keeping.id(ordinal);
        let incomplete = Incomplete {
            documents: documents as u64,
            ids: named.into_iter().filter_map(id).collect(),
            example: example.and_then(|(a, b)| Some([id(a)?, id(b)?])),
            shared: None,
        };
        (documents > 0).then_some(incomplete)
    }
}
