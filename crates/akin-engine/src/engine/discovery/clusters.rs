//! Clusters of sets as clusters of documents.

use super::view::ViewSets;
use super::{ClusterPart, ClusterQuery, FoundSender, Interrupted, Mode, Work, incomplete};
use crate::document::DocumentId;
use akin_core::join::{Corpus, Documents, JoinError, Sets, Stage, cluster_name};
use akin_core::measure::Overlap;
use akin_core::sketch::Estimator;
use akin_model::clusters::ClusterHead;

/// Memory for the keys of a document while it is clustered, and the least for all.
const KEY_BYTES: usize = 256;
const KEYS_BYTES_MIN: usize = 64 << 20;

/// Sends the clusters of a query in the order of their representatives. `record_sizes` gets the
/// number of documents of every cluster, not only of the clusters that are sent.
pub(crate) fn emit(
    work: &mut Work,
    query: &ClusterQuery,
    record_sizes: impl FnOnce(&[usize]),
    found: &FoundSender<ClusterPart>,
) -> Result<(), Interrupted> {
    let (corpus, documents) = work.corpus()?;
    let estimator = work.estimator();
    let (options, progress) = ((work.mode, work.threshold), work.running.progress());
    let mut sets = ViewSets::new(&mut *work.view, &corpus, &documents);
    let memory = (documents.count() * KEY_BYTES).max(KEYS_BYTES_MIN);
    let join = work.analyser.join(&mut sets, options, progress)?.within(memory);
    let representatives = join.clusters(query.linkage, &mut sets, work.running.progress())?;
    let by_cluster = by_cluster(&representatives);
    let clusters = by_cluster.chunk_by(|a, b| a.0 == b.0);
    let size = |cluster: &[(u32, u32)]| -> usize {
        cluster.iter().map(|(_, set)| documents.of(*set).len()).sum()
    };
    let has = |cluster: &[(u32, u32)], id: &DocumentId| {
        cluster.iter().any(|(_, set)| documents.of(*set).iter().any(|(member, _)| member == id))
    };
    record_sizes(&clusters.clone().map(size).collect::<Vec<_>>());
    let progress = work.running.progress();
    progress.begin(Stage::Giving, representatives.len() as u64);
    let mut emitter = ClusterEmitter { corpus: &corpus, mode: work.mode, estimator, sets };
    for cluster in clusters {
        let size = size(cluster);
        if query.id.as_ref().map_or(size >= query.min_size, |id| has(cluster, id)) {
            emitter.emit(cluster, size, found)?;
            progress.add_found(1);
        }
        progress.advance(cluster.len() as u64)?;
    }
    if let Some(incomplete) = incomplete(&join.left_out(), &mut emitter.sets)? {
        found.blocking_send(ClusterPart::Incomplete(incomplete))?;
    }
    Ok(())
}

/// Pairs of representative and set, sorted.
fn by_cluster(representatives: &[u32]) -> Vec<(u32, u32)> {
    let mut sets: Vec<_> = representatives.iter().copied().zip(0..).collect();
    sets.sort_unstable();
    sets
}

struct ClusterEmitter<'g> {
    corpus: &'g Corpus,
    mode: Mode,
    estimator: Estimator,
    sets: ViewSets<'g>,
}

impl ClusterEmitter<'_> {
    /// Sends a cluster member by member, as it may be as large as the collection.
    fn emit(
        &mut self,
        cluster: &[(u32, u32)],
        size: usize,
        found: &FoundSender<ClusterPart>,
    ) -> Result<(), Interrupted> {
        let documents: &Documents = self.sets.documents;
        let representative = documents.of(cluster[0].0)[0].0.clone();
        let name = cluster_name(&representative);
        found.blocking_send(ClusterPart::Begin(ClusterHead {
            cluster: name,
            representative,
            size,
        }))?;
        let resemblances = self.resemblances(cluster)?;
        let members = |((_, set), resemblance): (&(u32, u32), f64)| {
            documents.of(*set).iter().map(move |(id, _)| (id, resemblance))
        };
        let mut members: Vec<(&DocumentId, f64)> =
            cluster.iter().zip(resemblances).flat_map(members).collect();
        members.sort_unstable_by_key(|(id, _)| *id);
        for (id, resemblance) in members {
            found.blocking_send(ClusterPart::Member { id: id.clone(), resemblance })?;
        }
        Ok(found.blocking_send(ClusterPart::End)?)
    }

    /// The resemblance of each set to the representative, which is the first.
    fn resemblances(&mut self, cluster: &[(u32, u32)]) -> Result<Vec<f64>, Interrupted> {
        let representative = cluster[0].1;
        if cluster.len() == 1 {
            return Ok(vec![1.0]);
        }
        if self.mode == Mode::Estimated {
            let sketch = self.corpus.sketch(representative);
            let estimate = |(_, set): &(u32, u32)| {
                let agreeing = self.estimator.agreeing(sketch, self.corpus.sketch(*set));
                self.estimator.estimate(agreeing).value
            };
            return Ok(cluster.iter().map(estimate).collect());
        }
        let of_representative = self.sets.set(representative).map_err(JoinError::Sets)?;
        let mut exact = |(_, set): &(u32, u32)| {
            let of_member = self.sets.set(*set).map_err(JoinError::Sets)?;
            Ok(Overlap::of(&of_representative, &of_member).resemblance())
        };
        cluster.iter().map(&mut exact).collect()
    }
}
