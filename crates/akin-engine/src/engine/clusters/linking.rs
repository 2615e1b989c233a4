//! Linking: connects a document with the clusters of its near-duplicates.

use std::cmp::Reverse;
use std::collections::HashSet;
#[cfg(test)]
use std::sync::atomic::Ordering;

use super::{Linker, Pace};
use crate::backend::{Candidate, Candidates, Sketched};
use crate::document::{DocumentId, Ordinal};
use crate::engine::EngineError;
use crate::engine::lookup::overlaps;
use akin_core::index::{ExactSearch, Search, SearchLimits};
use akin_core::measure::Overlap;
use akin_core::text::ShingleSet;

/// Sets that share a key with a document: as many are looked up at first, and at most where the
/// document is in no crowd. In a crowd the first sets are as good as any.
const CANDIDATES_AT_FIRST: usize = 64;
const CANDIDATES_MAX: usize = 1_024;

/// Sets compared at once, each of another cluster.
const COMPARED_AT_ONCE: usize = 16;

/// Members of a set that are considered: one of the members is in the set's cluster, unless all
/// members are new.
const MEMBERS_MAX: usize = 4;

/// How often a document is looked up again because a near-duplicate was replaced in between.
const ATTEMPTS_MAX: usize = 8;

/// Sets that may be near-duplicates of a document, the best agreeing first.
struct LinkCandidates {
    candidates: Vec<Candidate>,
    compared: usize,
    /// The lookup ended at a limit, so near-duplicates may be missing here.
    truncated: bool,
}

/// The outcome of linking a document.
struct Linked {
    /// No near-duplicate was removed or replaced in between.
    none_gone: bool,
    /// A limit was reached, so the document may not be in its cluster: another document of its
    /// crowd.
    cut: Option<Ordinal>,
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

    /// Returns once the document is in its cluster, or was removed or replaced. In the second case
    /// the document stays pending until the writer removes it from the clusters, or puts the new
    /// version in its place.
    pub(super) async fn link(&self, document: Ordinal) -> Result<(), EngineError> {
        let is_listed = || self.keeping.id(document).is_some();
        let Some(linking) = self.clusters.linking(document, is_listed) else { return Ok(()) };
        for _ in 0..ATTEMPTS_MAX {
            match self.link_once(document).await {
                Ok(None) => return Ok(()),
                Ok(Some(linked)) if linked.none_gone => {
                    self.note_cut(document, linked.cut).await?;
                    linking.done();
                    return Ok(());
                }
                Ok(Some(_)) => {}
                Err(error) if error.is_of_stopping() => return Err(error),
                Err(error) => {
                    // Another attempt would fail with the same error.
                    tracing::error!(%error, "could not link a document with its cluster");
                    self.clusters.note_cut(document, Some(document));
                    linking.done();
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// `None` if the document was removed or replaced.
    async fn link_once(&self, document: Ordinal) -> Result<Option<Linked>, EngineError> {
        let mut linked = Linked { none_gone: true, cut: None };
        let Some((set, own)) = self.set_of(document).await? else { return Ok(None) };
        let mut neighbours = self.neighbours(document, &set, &own).await?;
        #[cfg(test)]
        self.clusters.steps.lookups.fetch_add(1, Ordering::Relaxed);
        let members = neighbours.candidates.iter().flat_map(|candidate| &candidate.members);
        let of_crowd = members.map(|member| member.ordinal).find(|other| *other != document);
        let mut far = Vec::new();
        loop {
            let (chosen, members) = self.apart(document, &mut neighbours);
            if chosen.is_empty() {
                if neighbours.truncated && self.may_have_missed(document, &far) {
                    linked.cut = of_crowd;
                }
                return Ok(Some(linked));
            }
            let Some(near) = self.compare(&set, &chosen, &mut neighbours).await? else {
                return Ok(Some(Linked { cut: of_crowd, ..linked }));
            };
            for (near, member) in near.into_iter().zip(members) {
                match near {
                    Some(true) => linked.none_gone &= self.keeping.connect(document, member),
                    Some(false) => far.push(member),
                    None => linked.none_gone = false,
                }
            }
        }
    }

    /// Whether a lookup that ended at a limit may have missed a near-duplicate in another cluster.
    /// If all documents that were found are in the document's cluster, the crowd is taken for one
    /// cluster. `far`: the documents that were compared and are no near-duplicates.
    fn may_have_missed(&self, document: Ordinal, far: &[Ordinal]) -> bool {
        let ordinals: Vec<_> = [document].into_iter().chain(far.iter().copied()).collect();
        let clusters = self.clusters.components_of(&ordinals);
        clusters[0].is_none() || clusters[1..].iter().any(|cluster| *cluster != clusters[0])
    }

    /// Notes whether a limit was reached, and logs the first document of the collection that
    /// reached it.
    async fn note_cut(
        &self,
        document: Ordinal,
        of_crowd: Option<Ordinal>,
    ) -> Result<(), EngineError> {
        let is_first = self.clusters.note_cut(document, of_crowd);
        let Some(other) = of_crowd.filter(|_| is_first) else { return Ok(()) };
        let (Some((a, _)), Some((b, _))) =
            (self.set_of(document).await?, self.set_of(other).await?)
        else {
            return Ok(());
        };
        let [a_id, b_id] = [document, other].map(|of| self.keeping.id(of));
        tracing::warn!(
            a = a_id.as_ref().map(DocumentId::as_str),
            b = b_id.as_ref().map(DocumentId::as_str),
            shared_shingles = Overlap::of(&a, &b).shared,
            "kept clusters may be incomplete: many documents share what a and b share, and are not \
             all compared; GET /resemblance?a=…&b=…&explain=true shows the shared passages; \
             logged once"
        );
        Ok(())
    }

    /// The set and the sketch of a document, unless it was removed.
    async fn set_of(
        &self,
        document: Ordinal,
    ) -> Result<Option<(ShingleSet, Sketched)>, EngineError> {
        let Some(own) = self.keeping.sketched_at(document) else { return Ok(None) };
        let mut sets = self.engine.backend.sets(std::slice::from_ref(&own.candidate)).await?;
        Ok(sets.pop().flatten().map(|set| (set, own)))
    }

    /// Looks up candidates: by the index for exact lookups if it covers the threshold, else by
    /// keys.
    async fn neighbours(
        &self,
        document: Ordinal,
        set: &ShingleSet,
        own: &Sketched,
    ) -> Result<LinkCandidates, EngineError> {
        let threshold = self.threshold;
        let exact_from = self.engine.settings.scheme.exact_from();
        let found = if exact_from.is_some_and(|from| from <= threshold) {
            let (set, sketch) = (set.clone(), own.sketch.clone());
            let search = ExactSearch { set, sketch, threshold, members_max: MEMBERS_MAX };
            let found = self.keeping.linkable_exactly(&search).await?;
            found.map_or_else(Vec::new, |found| found.found).into()
        } else {
            let found = self.keyed(document, own, CANDIDATES_AT_FIRST).await?;
            let is_full = found.found.len() >= CANDIDATES_AT_FIRST;
            match found.truncated && !found.in_crowd && is_full {
                true => self.keyed(document, own, CANDIDATES_MAX).await?.into(),
                false => found.into(),
            }
        };
        Ok(found)
    }

    async fn keyed(
        &self,
        document: Ordinal,
        own: &Sketched,
        found_max: usize,
    ) -> Result<Candidates, EngineError> {
        let scheme = &self.engine.analyser.scheme;
        let plan = scheme.plan(self.threshold);
        let keys: Vec<_> = scheme.keys(own.sketch.as_bytes(), plan.bands).collect();
        let limits = SearchLimits {
            postings_max: self.engine.settings.limits.candidates_max,
            compared_max: usize::MAX,
            found_max,
            members_max: MEMBERS_MAX,
        };
        let (sketch, fingerprint) = (&own.sketch, own.candidate.fingerprint);
        let search =
            Search::new(&keys, sketch, fingerprint, self.threshold, plan.agreeing_min, limits)
                .starting_at(random(document) as u32);
        Ok(self.keeping.linkable(&search).await?)
    }

    /// Takes the best candidate of each cluster that the document is not in yet, with a member in
    /// this cluster, and drops the candidates in the document's own cluster. In a cluster that a
    /// removal has divided, the members of a set may be in several parts, and the own part does
    /// not stand for the other parts. New members are linked by themselves, unless all are new.
    fn apart(
        &self,
        document: Ordinal,
        near: &mut LinkCandidates,
    ) -> (Vec<Candidate>, Vec<Ordinal>) {
        let others = |candidate: &Candidate| -> Vec<Ordinal> {
            let ordinals = candidate.members.iter().map(|member| member.ordinal);
            ordinals.filter(|ordinal| *ordinal != document).collect()
        };
        let all: Vec<Vec<Ordinal>> = near.candidates.iter().map(others).collect();
        let ordinals: Vec<Ordinal> =
            [document].into_iter().chain(all.iter().flatten().copied()).collect();
        let mut clusters = self.clusters.components_of(&ordinals).into_iter();
        let own = clusters.next().flatten();
        let (mut chosen, mut members, mut rest) = (Vec::new(), Vec::new(), Vec::new());
        let mut seen = HashSet::new();
        for (candidate, others) in near.candidates.drain(..).zip(all) {
            let theirs: Vec<Option<u64>> = clusters.by_ref().take(others.len()).collect();
            let elsewhere = theirs.iter().position(|of| of.is_some() && *of != own);
            let are_new = theirs.iter().all(Option::is_none);
            let at = elsewhere.or_else(|| are_new.then_some(0));
            let Some(member) = at.and_then(|at| others.get(at).copied()) else { continue };
            let cluster = elsewhere.and_then(|at| theirs[at]);
            if chosen.len() < COMPARED_AT_ONCE && cluster.is_none_or(|of| seen.insert(of)) {
                members.push(self.random_member(document, &candidate, member, cluster));
                chosen.push(candidate);
            } else {
                rest.push(candidate);
            }
        }
        near.candidates = rest;
        (chosen, members)
    }

    /// A random member of a set with many members, if this member is in the set's cluster: so not
    /// all documents are linked with the first member.
    fn random_member(
        &self,
        document: Ordinal,
        candidate: &Candidate,
        member: Ordinal,
        cluster: Option<u64>,
    ) -> Ordinal {
        let below = Ordinal::try_from(random(document) % document.get().max(1)).ok();
        // Of new members the first may have been linked before the other members were there.
        let has_choice = cluster.is_some() && candidate.members.len() >= MEMBERS_MAX;
        let any = below.filter(|_| has_choice);
        let any = any.and_then(|from| self.keeping.member_from(candidate.fingerprint, from));
        let is_apt =
            |any: &Ordinal| *any != document && self.clusters.components_of(&[*any])[0] == cluster;
        any.filter(is_apt).unwrap_or(member)
    }

    /// Whether each of the candidates is a near-duplicate; `None` for a candidate that was removed.
    /// Returns `None` beyond the limit of comparisons.
    async fn compare(
        &self,
        set: &ShingleSet,
        chosen: &[Candidate],
        neighbours: &mut LinkCandidates,
    ) -> Result<Option<Vec<Option<bool>>>, EngineError> {
        neighbours.compared += chosen.len();
        #[cfg(test)]
        self.clusters.steps.compared.fetch_add(chosen.len() as u64, Ordering::Relaxed);
        let max = self.engine.settings.limits.checked_max.max(COMPARED_AT_ONCE);
        if neighbours.compared > max {
            return Ok(None);
        }
        let sets = self.engine.backend.sets(chosen).await?;
        let are_there: Vec<bool> = sets.iter().map(Option::is_some).collect();
        let overlaps = overlaps(set, sets, self.threshold).await?;
        let near = are_there.into_iter().zip(overlaps);
        Ok(Some(near.map(|(is_there, near)| is_there.then_some(near.is_some())).collect()))
    }
}

impl From<Vec<Candidate>> for LinkCandidates {
    fn from(mut candidates: Vec<Candidate>) -> Self {
        candidates.sort_unstable_by_key(|found| (Reverse(found.agreeing), found.fingerprint));
        Self { candidates, compared: 0, truncated: false }
    }
}

impl From<Candidates> for LinkCandidates {
    /// Members that a candidate does not list are in the cluster of the listed members.
    fn from(Candidates { found, truncated, in_crowd, .. }: Candidates) -> Self {
        let truncated = truncated && (in_crowd || found.len() >= CANDIDATES_MAX);
        Self { truncated, ..found.into() }
    }
}

/// A number that depends on the document alone (the finaliser of SplitMix64: Steele, Lea and Flood
/// 2014).
fn random(document: Ordinal) -> u64 {
    let z = document.get().wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
