//! Collapses a ranked list: keeps the first of each group of near-duplicates, as search front ends
//! do with their results.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde::Serialize;
use smallvec::SmallVec;
use utoipa::ToSchema;

use crate::backend::{Candidate, Sketched};
use crate::background::request::{another, charge, reserve};
use crate::budget::{Reservation, cost};
use crate::document::{Content, DocumentId};
use crate::engine::lookup::SHINGLES_INLINE_MAX;
use crate::engine::lookup::charging::of_content;
use crate::engine::lookup::keyed::ATTEMPTS_MAX;
use crate::engine::{Analyser, CONTENT_INLINE_BYTES_MAX, Engine, EngineError, compute_if};
use akin_core::measure::Overlap;
use akin_core::scheme::Threshold;
use akin_core::text::ShingleSet;
use akin_model::analysis::{Analysis, ContentError};

/// Longer lists are compared off the runtime's thread: comparing every pair of their sketches
/// takes about half a millisecond.
const HITS_INLINE_MAX: usize = 256;

/// A hit of a ranked list: a stored document, a text, or a text for the case that the document is
/// not stored.
#[derive(Clone, Debug)]
pub struct RankedHit {
    pub name: HitName,
    pub id: Option<DocumentId>,
    pub text: Option<Content>,
}

impl RankedHit {
    /// A stored document of a list of ids.
    pub fn stored(id: DocumentId) -> Self {
        Self { name: HitName::Id(id.clone()), id: Some(id), text: None }
    }
}

/// A hit of the list: its id in a list of `ids`, its position from 0 in a list of `hits`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(untagged)]
pub enum HitName {
    Id(DocumentId),
    Position(usize),
}

/// How a list is collapsed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Collapsing {
    /// The collection's threshold if `None`.
    pub threshold: Option<Threshold>,
    /// The number of hits at the front of the list that were kept before: they are not compared
    /// with each other.
    pub offset: usize,
    /// The most hits behind these that are reported as kept; all if `None`.
    pub limit: Option<usize>,
}

/// A ranked list without the near-duplicates of higher-ranked hits.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Collapsed {
    /// In their order, with those that have nothing to compare; without the hits before `offset`.
    pub kept: Vec<HitName>,
    /// The kept hits that have near-duplicates in the list, in their order, also those before
    /// `offset`.
    pub groups: Vec<Group>,
    /// The hits that have nothing to compare, in their order: their ids are not stored, and they
    /// have no text of which a shingle can be made.
    pub unknown: Vec<HitName>,
    /// More were kept than `limit`, and are left out.
    pub more: bool,
    #[schema(value_type = f64, example = 0.8)]
    pub threshold: Threshold,
}

/// A kept hit and the hits that it stands for.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = CollapsedGroup)]
pub struct Group {
    pub representative: HitName,
    /// In their order, at least one. They need not resemble each other.
    pub members: Vec<GroupMember>,
}

#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = CollapsedMember)]
pub struct GroupMember {
    pub hit: HitName,
    /// The exact Jaccard similarity to the representative.
    #[schema(example = 0.91)]
    pub resemblance: f64,
}

/// The hits of the list, and which pairs of them may be near-duplicates.
struct HitPairs {
    names: Vec<HitName>,
    /// `None` for hits that have nothing to compare.
    sketched: Vec<Option<Sketched>>,
    /// For each hit, the ranks of earlier hits with similar sketches, ascending.
    earlier: Vec<Vec<usize>>,
    /// By fingerprint; `None` for documents that were removed in the meantime.
    sets: HashMap<u64, Option<ShingleSet>>,
    /// Elements of `sets`.
    shingles: usize,
    /// The memory of the sets of texts, if it is counted.
    memory: Option<Reservation>,
}

impl Engine {
    /// Visits the hits in order: each joins the highest-ranked kept hit whose exact similarity
    /// reaches the threshold, or is kept itself. Pairs are pruned by their sketches, as in a
    /// lookup, then verified by their sets: of stored documents the stored sketches and sets, of
    /// texts those that are made here.
    ///
    /// # Errors
    /// `NotForRecords`, `NotForSignatures`, `TooMuchToCollapse`, `TextOfHit`, `OverBudget`,
    /// `OutOfService`, `Store`.
    pub async fn collapse(
        &self,
        hits: Vec<RankedHit>,
        collapsing: Collapsing,
    ) -> Result<Collapsed, EngineError> {
        self.refuse_records()?;
        self.refuse_signatures()?;
        let threshold = collapsing.threshold.unwrap_or(self.settings.scheme.threshold);
        let first = collapsing.offset.min(hits.len());
        let pairs = (hits.len() * hits.len() - first * first) / 2;
        charge(1 + pairs / cost::SKETCHES)?;
        let hits: Arc<[RankedHit]> = hits.into();
        for attempt in 1.. {
            let mut ranked = self.rank(&hits, (threshold, first)).await?;
            self.read_sets(&mut ranked).await?;
            if ranked.sets.values().all(Option::is_some) || attempt == ATTEMPTS_MAX {
                return decide(ranked, (threshold, first), collapsing.limit).await;
            }
        }
        unreachable!("the last attempt returns");
    }

    async fn rank(
        &self,
        hits: &Arc<[RankedHit]>,
        (threshold, first): (Threshold, usize),
    ) -> Result<HitPairs, EngineError> {
        let ids: Vec<DocumentId> = hits.iter().filter_map(|hit| hit.id.clone()).collect();
        let mut stored = self.backend.sketched(&ids).await?.into_iter();
        let mut sketched = |hit: &RankedHit| hit.id.as_ref().and_then(|_| stored.next().flatten());
        let sketched: Vec<Option<Sketched>> = hits.iter().map(&mut sketched).collect();
        let texts = || {
            let unknown = hits.iter().zip(&sketched).filter(|(_, sketched)| sketched.is_none());
            unknown.filter_map(|(hit, _)| hit.text.as_ref())
        };
        charge(texts().map(of_content).sum())?;
        let bytes: usize = texts().map(Content::weight).sum();
        let mut ranked = HitPairs {
            names: hits.iter().map(|hit| hit.name.clone()).collect(),
            sketched,
            earlier: Vec::with_capacity(hits.len()),
            sets: HashMap::new(),
            shingles: 0,
            memory: another(0)?,
        };
        let is_long = hits.len() > HITS_INLINE_MAX || bytes > CONTENT_INLINE_BYTES_MAX;
        let (analyser, hits) = (self.analyser.clone(), Arc::clone(hits));
        let max = self.settings.limits.collapse_shingles_max;
        compute_if(is_long, move || {
            ranked.analyse_texts(&analyser, &hits, max)?;
            ranked.find_pairs(&analyser, threshold, first);
            Ok(ranked)
        })
        .await?
    }

    /// Reads the sets of stored documents that may be near-duplicates. Pairs of equal fingerprints
    /// need no sets.
    async fn read_sets(&self, ranked: &mut HitPairs) -> Result<(), EngineError> {
        let candidates = ranked.to_read();
        let found: usize = candidates.iter().map(|candidate| candidate.shingles as usize).sum();
        check_shingles(ranked.shingles + found, self.settings.limits.collapse_shingles_max)?;
        // The content from which a set is cut takes about as much.
        reserve(found.saturating_mul(2 * size_of::<u64>()))?;
        charge(candidates.len())?;
        let sets = self.backend.sets(&candidates).await?;
        ranked.sets.extend(candidates.iter().map(|candidate| candidate.fingerprint).zip(sets));
        Ok(())
    }
}

fn check_shingles(found: usize, max: usize) -> Result<(), EngineError> {
    if found <= max { Ok(()) } else { Err(EngineError::TooMuchToCollapse { found, max }) }
}

impl HitPairs {
    /// Makes sketches and sets of the texts of hits that are not stored. A text of which no shingle
    /// can be made has nothing to compare.
    fn analyse_texts(
        &mut self,
        analyser: &Analyser,
        hits: &[RankedHit],
        max: usize,
    ) -> Result<(), EngineError> {
        for (hit, sketched) in hits.iter().zip(&mut self.sketched) {
            let (Some(text), None) = (&hit.text, &sketched) else { continue };
            let Analysis { set, fingerprint, sketch, .. } = match analyser.analyse(text) {
                Ok(analysis) => analysis,
                Err(ContentError::Empty) => continue,
                Err(error) => {
                    return Err(EngineError::TextOfHit { hit: hit.name.clone(), error });
                }
            };
            let shingles = u32::try_from(set.count()).unwrap_or(u32::MAX);
            let members = SmallVec::new();
            let candidate =
                Candidate { fingerprint, shingles, agreeing: 0, keys_shared: 0, members };
            *sketched = Some(Sketched { candidate, sketch });
            if let Entry::Vacant(entry) = self.sets.entry(fingerprint) {
                let bytes = set.count().saturating_mul(size_of::<u64>());
                self.memory.as_ref().map_or(Ok(()), |memory| memory.grow(bytes))?;
                self.shingles += set.count();
                check_shingles(self.shingles, max)?;
                entry.insert(Some(set));
            }
        }
        Ok(())
    }

    /// Finds the pairs of similar sketches, except for those of the first hits.
    fn find_pairs(&mut self, analyser: &Analyser, threshold: Threshold, first: usize) {
        let agreeing_min = analyser.scheme.plan(threshold).agreeing_min;
        for (rank, hit) in self.sketched.iter().enumerate() {
            let Some(hit) = hit.as_ref().filter(|_| rank >= first) else {
                self.earlier.push(Vec::new());
                continue;
            };
            let is_near = |other: &Sketched| {
                let (a, b) = (hit.sketch.as_bytes(), other.sketch.as_bytes());
                analyser.estimator.agreeing(a, b) >= agreeing_min
                    && can_reach(&hit.candidate, &other.candidate, threshold)
            };
            let others = self.sketched[..rank].iter().enumerate();
            let near = others.filter(|(_, other)| other.as_ref().is_some_and(is_near));
            self.earlier.push(near.map(|(rank, _)| rank).collect());
        }
    }

    /// The fingerprint of a hit that has something to compare.
    fn fingerprint(&self, rank: usize) -> Option<u64> {
        Some(self.sketched[rank].as_ref()?.candidate.fingerprint)
    }

    fn shingles(&self, rank: usize) -> usize {
        self.sketched[rank].as_ref().map_or(0, |hit| hit.candidate.shingles as usize)
    }

    /// The candidates to read sets of: stored members of pairs of different sets, each set once.
    fn to_read(&self) -> Vec<Candidate> {
        let pairs = self.earlier.iter().enumerate();
        let pairs = pairs.flat_map(|(rank, near)| near.iter().map(move |other| (rank, *other)));
        let unequal = pairs.filter(|(a, b)| self.fingerprint(*a) != self.fingerprint(*b));
        let mut taken: HashSet<u64> = self.sets.keys().copied().collect();
        unequal
            .flat_map(|(a, b)| [a, b])
            .filter_map(|rank| self.sketched[rank].as_ref())
            .filter(|hit| taken.insert(hit.candidate.fingerprint))
            .map(|hit| hit.candidate.clone())
            .collect()
    }

    /// The similarity of two hits, if it reaches the threshold.
    fn resemblance(&self, a: usize, b: usize, threshold: Threshold) -> Option<f64> {
        let (of_a, of_b) = (self.fingerprint(a)?, self.fingerprint(b)?);
        if of_a == of_b {
            return Some(1.0);
        }
        let set = |fingerprint| self.sets.get(&fingerprint)?.as_ref();
        Some(Overlap::reaching(set(of_a)?, set(of_b)?, threshold.get())?.resemblance())
    }
}

fn can_reach(a: &Candidate, b: &Candidate, threshold: Threshold) -> bool {
    Overlap::can_reach(a.shingles as usize, b.shingles as usize, threshold.get())
}

async fn decide(
    ranked: HitPairs,
    (threshold, first): (Threshold, usize),
    limit: Option<usize>,
) -> Result<Collapsed, EngineError> {
    let near = ranked.earlier.iter().flatten();
    // Both sets of a pair have about the same size.
    let steps = 2 * near.map(|rank| ranked.shingles(*rank)).sum::<usize>();
    charge(steps / cost::SHINGLES_COMPARED)?;
    let limit = limit.unwrap_or(usize::MAX);
    compute_if(steps > SHINGLES_INLINE_MAX, move || greedy(&ranked, threshold, first, limit)).await
}

fn greedy(ranked: &HitPairs, threshold: Threshold, first: usize, limit: usize) -> Collapsed {
    // By rank: the members of a kept hit, `None` for a collapsed one.
    let mut members: Vec<Option<Vec<GroupMember>>> = Vec::with_capacity(ranked.names.len());
    for (rank, earlier) in ranked.earlier.iter().enumerate() {
        let kept = earlier.iter().copied().filter(|other| members[*other].is_some());
        let mut joined =
            kept.filter_map(|other| Some((other, ranked.resemblance(rank, other, threshold)?)));
        let joined = joined.next();
        members.push(joined.is_none().then(Vec::new));
        if let Some((other, resemblance)) = joined
            && let Some(group) = &mut members[other]
        {
            group.push(GroupMember { hit: ranked.names[rank].clone(), resemblance });
        }
    }
    let has_nothing = ranked.names.iter().zip(&ranked.sketched).filter(|(_, hit)| hit.is_none());
    let unknown = has_nothing.map(|(name, _)| name.clone()).collect();
    let (kept, groups) = (Vec::new(), Vec::new());
    let mut collapsed = Collapsed { kept, groups, unknown, more: false, threshold };
    for (rank, (name, members)) in ranked.names.iter().zip(members).enumerate() {
        let Some(members) = members else { continue };
        if rank >= first {
            if collapsed.kept.len() == limit {
                collapsed.more = true;
                break;
            }
            collapsed.kept.push(name.clone());
        }
        if !members.is_empty() {
            collapsed.groups.push(Group { representative: name.clone(), members });
        }
    }
    collapsed
}
