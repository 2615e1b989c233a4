//! Clusters of sets as clusters of documents.

use super::view::ViewSets;
use super::{ClusterPart, FoundSender, Interrupted, Mode, Work};
use crate::document::DocumentId;
use crate::join::{Corpus, Documents, JoinError, Linkage, Sets, Stage, cluster_name};
use crate::measure::Overlap;
use crate::sketch::Estimator;

/// Sends the clusters in the order of their representatives. `record_sizes` gets the number of
/// documents of every cluster, including those smaller than `min_size`.
pub(crate) fn emit(
    work: &mut Work,
    linkage: Linkage,
    min_size: usize,
    record_sizes: impl FnOnce(&[usize]),
    found: &FoundSender<ClusterPart>,
) -> Result<(), Interrupted> {
    let (corpus, documents) = work.corpus()?;
    let estimator = work.estimator();
    let (options, progress) = ((work.mode, work.threshold), work.running.progress());
    let mut sets = ViewSets { view: &mut work.view, corpus: &corpus, documents: &documents };
    let join = work.analyser.join(&mut sets, options, progress)?;
    let representatives = join.clusters(linkage, &mut sets, work.running.progress())?;
    let by_cluster = by_cluster(&representatives);
    let clusters = by_cluster.chunk_by(|a, b| a.0 == b.0);
    let size = |cluster: &[(u32, u32)]| -> usize {
        cluster.iter().map(|(_, set)| documents.of(*set).len()).sum()
    };
    record_sizes(&clusters.clone().map(size).collect::<Vec<_>>());
    let progress = work.running.progress();
    progress.begin(Stage::Giving, representatives.len() as u64);
    let mut emitter = ClusterEmitter { corpus: &corpus, mode: work.mode, estimator, sets };
    for cluster in clusters {
        let size = size(cluster);
        if size >= min_size {
            emitter.emit(cluster, size, found)?;
            progress.add_found(1);
        }
        progress.advance(cluster.len() as u64)?;
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
        found.send(ClusterPart::Begin { name, representative, size })?;
        let resemblances = self.resemblances(cluster)?;
        let members = |((_, set), resemblance): (&(u32, u32), f64)| {
            documents.of(*set).iter().map(move |(id, _)| (id, resemblance))
        };
        let mut members: Vec<(&DocumentId, f64)> =
            cluster.iter().zip(resemblances).flat_map(members).collect();
        members.sort_unstable_by_key(|(id, _)| *id);
        for (id, resemblance) in members {
            found.send(ClusterPart::Member { id: id.clone(), resemblance })?;
        }
        Ok(found.send(ClusterPart::End)?)
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
