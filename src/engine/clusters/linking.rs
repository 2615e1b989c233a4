//! Linking: connects a document with the clusters of its near-duplicates.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::atomic::Ordering;

use super::{Linker, Pace};
use crate::backend::{Backend, Candidate, Sketched};
use crate::document::Ordinal;
use crate::engine::EngineError;
use crate::engine::lookup::overlaps;
use crate::index::{ExactSearch, Search};
use crate::text::ShingleSet;

/// Sets that share a key with a document, at most.
const CANDIDATES_MAX: usize = 1_024;

/// Sets compared at once, each of another cluster.
const COMPARED_AT_ONCE: usize = 16;

/// Members of a set that are considered: one of them is in the set's cluster, unless all are new.
const MEMBERS_MAX: usize = 4;

/// How often a document is looked up again because a near-duplicate was replaced meanwhile.
const ATTEMPTS_MAX: usize = 8;

/// Sets that may be near-duplicates of a document, best agreeing first.
pub(super) struct Neighbours {
    pub candidates: Vec<Candidate>,
    compared: usize,
}

impl Linker<'_> {
    pub(super) async fn link_all(
        &self,
        documents: &[Ordinal],
        pace: &mut Pace,
    ) -> Result<(), EngineError> {
        for document in documents {
            self.link(*document).await?;
            pace.step().await;
        }
        Ok(())
    }

    /// Returns once the document is in its cluster, or is gone.
    pub(super) async fn link(&self, document: Ordinal) -> Result<(), EngineError> {
        let linking = self.clusters.linking(document);
        for _ in 0..ATTEMPTS_MAX {
            match self.link_once(document).await {
                Ok(false) => {}
                Ok(true) => {
                    linking.done();
                    return Ok(());
                }
                Err(error) if error.is_of_stopping() => return Err(error),
                Err(error) => {
                    // Another attempt would fail as this one.
                    self.miss(&error);
                    linking.done();
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Notes that a document may not be in its cluster.
    pub(super) fn miss(&self, error: &EngineError) {
        tracing::error!(%error, "a document may not be in its cluster");
        self.truncated.store(true, Ordering::Relaxed);
    }

    /// `false` if a near-duplicate was removed or replaced meanwhile.
    async fn link_once(&self, document: Ordinal) -> Result<bool, EngineError> {
        let Some((set, own)) = self.set_of(document).await? else { return Ok(true) };
        let mut neighbours = self.neighbours(&set, &own).await?;
        let mut none_gone = true;
        loop {
            let (chosen, members) = self.apart(document, &mut neighbours);
            if chosen.is_empty() {
                return Ok(none_gone);
            }
            let Some(near) = self.compare(&set, &chosen, &mut neighbours).await? else {
                self.truncated.store(true, Ordering::Relaxed);
                return Ok(none_gone);
            };
            for (near, member) in near.into_iter().zip(members) {
                none_gone &= match near {
                    Some(true) => self.local.connect(document, member),
                    Some(false) => true,
                    None => false,
                };
            }
        }
    }

    /// The set and the sketch of a document, if it is still there.
    pub(super) async fn set_of(
        &self,
        document: Ordinal,
    ) -> Result<Option<(ShingleSet, Sketched)>, EngineError> {
        let Some(own) = self.local.sketched_at(document) else { return Ok(None) };
        let mut sets = self.local.sets(std::slice::from_ref(&own.candidate)).await?;
        Ok(sets.pop().flatten().map(|set| (set, own)))
    }

    /// By the index for exact lookups, if there is one for the threshold; else by keys.
    pub(super) async fn neighbours(
        &self,
        set: &ShingleSet,
        own: &Sketched,
    ) -> Result<Neighbours, EngineError> {
        let threshold = self.threshold;
        let exact_from = self.engine.settings.scheme.exact_from();
        let found = if exact_from.is_some_and(|from| from <= threshold) {
            let (set, sketch) = (set.clone(), own.sketch.clone());
            let search = ExactSearch { set, sketch, threshold, members_max: MEMBERS_MAX };
            self.local.linkable_exactly(&search).await?
        } else {
            let scheme = &self.engine.analyser.scheme;
            let plan = scheme.plan(threshold);
            let keys: Vec<_> = scheme.keys(own.sketch.as_bytes(), plan.bands).collect();
            let search = Search {
                keys: &keys,
                sketch: &own.sketch,
                fingerprint: own.candidate.fingerprint,
                agreeing_min: plan.agreeing_min,
                postings_max: self.engine.settings.limits.candidates_max,
                found_max: CANDIDATES_MAX,
                members_max: MEMBERS_MAX,
            };
            Some(self.local.linkable(&search).await?)
        };
        let Some(found) = found else { return Ok(Neighbours::none()) };
        if found.truncated && found.found.len() >= CANDIDATES_MAX {
            self.truncated.store(true, Ordering::Relaxed);
        }
        let mut candidates = found.found;
        candidates.sort_unstable_by_key(|found| (Reverse(found.agreeing), found.fingerprint));
        Ok(Neighbours { candidates, compared: 0 })
    }

    /// Takes the best candidate of each cluster that the document is not in yet, with one of its
    /// members; forgets those of the document's own.
    fn apart(&self, document: Ordinal, near: &mut Neighbours) -> (Vec<Candidate>, Vec<Ordinal>) {
        let others = |candidate: &Candidate| -> Vec<Ordinal> {
            let ordinals = candidate.members.iter().map(|member| member.ordinal);
            ordinals.filter(|ordinal| *ordinal != document).collect()
        };
        let all: Vec<Vec<Ordinal>> = near.candidates.iter().map(others).collect();
        let asked: Vec<Ordinal> =
            [document].into_iter().chain(all.iter().flatten().copied()).collect();
        let mut clusters = self.clusters.clusters_of(&asked).into_iter();
        let own = clusters.next().flatten();
        let (mut chosen, mut members, mut rest) = (Vec::new(), Vec::new(), Vec::new());
        let mut seen = HashSet::new();
        for (candidate, others) in near.candidates.drain(..).zip(all) {
            let theirs: Vec<Option<u64>> = clusters.by_ref().take(others.len()).collect();
            let clustered = theirs.iter().position(Option::is_some);
            let Some(member) = others.get(clustered.unwrap_or(0)).copied() else { continue };
            let cluster = clustered.and_then(|at| theirs[at]);
            if cluster.is_some() && cluster == own {
                continue;
            }
            if chosen.len() < COMPARED_AT_ONCE && cluster.is_none_or(|of| seen.insert(of)) {
                chosen.push(candidate);
                members.push(member);
            } else {
                rest.push(candidate);
            }
        }
        near.candidates = rest;
        (chosen, members)
    }

    /// Whether each of the candidates is a near-duplicate; `None` for one that is gone. `None` for
    /// all beyond the limit of comparisons.
    pub(super) async fn compare(
        &self,
        set: &ShingleSet,
        chosen: &[Candidate],
        neighbours: &mut Neighbours,
    ) -> Result<Option<Vec<Option<bool>>>, EngineError> {
        neighbours.compared += chosen.len();
        let max = self.engine.settings.limits.checked_max.max(COMPARED_AT_ONCE);
        if neighbours.compared > max {
            return Ok(None);
        }
        let sets = self.local.sets(chosen).await?;
        let are_there: Vec<bool> = sets.iter().map(Option::is_some).collect();
        let sampling = self.engine.analyser.shingler.sampling();
        let overlaps = overlaps(set, sets, self.threshold, sampling).await?;
        let near = are_there.into_iter().zip(overlaps);
        Ok(Some(near.map(|(is_there, near)| is_there.then_some(near.is_some())).collect()))
    }
}

impl Neighbours {
    fn none() -> Self {
        Self { candidates: Vec::new(), compared: 0 }
    }
}
