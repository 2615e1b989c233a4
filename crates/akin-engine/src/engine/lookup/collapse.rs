//! Collapses a ranked list: keeps the first of each group of near-duplicates, as search front ends
//! do with their results.

use std::collections::{HashMap, HashSet};

use serde::Serialize;
use utoipa::ToSchema;

use crate::backend::{Candidate, Sketched};
use crate::budget::{Reservation, cost};
use crate::document::DocumentId;
use crate::engine::lookup::SHINGLES_INLINE_MAX;
use crate::engine::lookup::charging::{charge, reserve};
use crate::engine::lookup::keyed::ATTEMPTS_MAX;
use crate::engine::{Analyser, Engine, EngineError};
use akin_core::measure::Overlap;
use akin_core::scheme::Threshold;
use akin_core::text::ShingleSet;

/// Longer lists are compared off the runtime's thread: comparing every pair of their sketches
/// takes about half a millisecond.
const IDS_INLINE_MAX: usize = 256;

/// A ranked list without the near-duplicates of higher-ranked documents.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Collapsed {
    /// In their order, with ids that are not stored.
    pub kept: Vec<DocumentId>,
    /// The kept documents that have near-duplicates in the list, in their order.
    pub groups: Vec<Group>,
    /// The ids that are not stored, in their order.
    pub unknown: Vec<DocumentId>,
    /// More were kept than `limit`, and are left out.
    pub more: bool,
    #[schema(value_type = f64, example = 0.8)]
    pub threshold: Threshold,
}

/// A kept document and the documents that it stands for.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = CollapsedGroup)]
pub struct Group {
    pub representative: DocumentId,
    /// In their order, at least one. They need not resemble each other.
    pub members: Vec<GroupMember>,
}

#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = CollapsedMember)]
pub struct GroupMember {
    pub id: DocumentId,
    /// The exact Jaccard similarity to the representative.
    #[schema(example = 0.91)]
    pub resemblance: f64,
}

/// The stored documents of the list, and which pairs of them may be near-duplicates.
struct Ranked {
    ids: Vec<DocumentId>,
    documents: Vec<Sketched>,
    /// For each document, the ranks of earlier documents with similar sketches, ascending.
    earlier: Vec<Vec<usize>>,
    /// Ids that are not stored, each with the number of stored ids before it.
    unknown: Vec<(usize, DocumentId)>,
}

impl Engine {
    /// Visits the ids in order: each joins the highest-ranked kept document whose exact similarity
    /// reaches the threshold (the collection's if `None`), or is kept itself. Pairs are pruned by
    /// their sketches, as in a lookup, then verified by their sets. Reports the first `limit` kept.
    ///
    /// # Errors
    /// `NotForRecords`, `NotForSignatures`, `TooMuchToCollapse`, `OverBudget`, `OutOfService`,
    /// `Store`.
    pub async fn collapse(
        &self,
        ids: Vec<DocumentId>,
        threshold: Option<Threshold>,
        limit: Option<usize>,
        memory: Option<&Reservation>,
    ) -> Result<Collapsed, EngineError> {
        self.refuse_records()?;
        self.refuse_signatures()?;
        let threshold = threshold.unwrap_or(self.settings.scheme.threshold);
        charge(memory, 1 + ids.len() * ids.len() / 2 / cost::SKETCHES)?;
        for attempt in 1.. {
            let ranked = self.rank(ids.clone(), threshold).await?;
            let sets = self.candidate_sets(&ranked, memory).await?;
            if sets.values().all(Option::is_some) || attempt == ATTEMPTS_MAX {
                let mut collapsed = decide(ranked, sets, threshold, memory).await?;
                collapsed.cut(limit.unwrap_or(usize::MAX));
                return Ok(collapsed);
            }
        }
        unreachable!("the last attempt returns");
    }

    async fn rank(
        &self,
        ids: Vec<DocumentId>,
        threshold: Threshold,
    ) -> Result<Ranked, EngineError> {
        let sketched = self.backend.sketched(&ids).await?;
        let analyser = self.analyser.clone();
        let many = ids.len() > IDS_INLINE_MAX;
        crate::engine::compute_if(many, move || Ranked::new(&analyser, ids, sketched, threshold))
            .await
    }

    /// The sets of documents that may be near-duplicates, by fingerprint; `None` for documents
    /// removed in the meantime. Pairs of equal fingerprints need no sets.
    async fn candidate_sets(
        &self,
        ranked: &Ranked,
        memory: Option<&Reservation>,
    ) -> Result<HashMap<u64, Option<ShingleSet>>, EngineError> {
        let candidates = ranked.to_read();
        let found: usize = candidates.iter().map(|candidate| candidate.shingles as usize).sum();
        let max = self.settings.limits.collapse_shingles_max;
        if found > max {
            return Err(EngineError::TooMuchToCollapse { found, max });
        }
        // The content from which a set is cut takes about as much.
        reserve(memory, found.saturating_mul(2 * size_of::<u64>()))?;
        charge(memory, candidates.len())?;
        let sets = self.backend.sets(&candidates).await?;
        Ok(candidates.iter().map(|candidate| candidate.fingerprint).zip(sets).collect())
    }
}

impl Ranked {
    fn new(
        analyser: &Analyser,
        ids: Vec<DocumentId>,
        sketched: Vec<Option<Sketched>>,
        threshold: Threshold,
    ) -> Self {
        let mut ranked = Self { ids: vec![], documents: vec![], earlier: vec![], unknown: vec![] };
        let agreeing_min = analyser.scheme.plan(threshold).agreeing_min;
        for (id, document) in ids.into_iter().zip(sketched) {
            let Some(document) = document else {
                ranked.unknown.push((ranked.ids.len(), id));
                continue;
            };
            let near = |other: &Sketched| {
                let (a, b) = (document.sketch.as_bytes(), other.sketch.as_bytes());
                analyser.estimator.agreeing(a, b) >= agreeing_min
                    && can_reach(&document.candidate, &other.candidate, threshold)
            };
            let others = ranked.documents.iter().enumerate();
            let near = others.filter(|(_, other)| near(other)).map(|(rank, _)| rank).collect();
            ranked.earlier.push(near);
            ranked.ids.push(id);
            ranked.documents.push(document);
        }
        ranked
    }

    fn fingerprint(&self, rank: usize) -> u64 {
        self.documents[rank].candidate.fingerprint
    }

    /// The candidates to read sets of: members of pairs of different sets, each set once.
    fn to_read(&self) -> Vec<Candidate> {
        let pairs = self.earlier.iter().enumerate();
        let pairs = pairs.flat_map(|(rank, near)| near.iter().map(move |other| (rank, *other)));
        let unequal = pairs.filter(|(a, b)| self.fingerprint(*a) != self.fingerprint(*b));
        let mut taken = HashSet::new();
        unequal
            .flat_map(|(a, b)| [a, b])
            .filter(|rank| taken.insert(self.fingerprint(*rank)))
            .map(|rank| self.documents[rank].candidate.clone())
            .collect()
    }
}

fn can_reach(a: &Candidate, b: &Candidate, threshold: Threshold) -> bool {
    Overlap::can_reach(a.shingles as usize, b.shingles as usize, threshold.get())
}

async fn decide(
    ranked: Ranked,
    sets: HashMap<u64, Option<ShingleSet>>,
    threshold: Threshold,
    memory: Option<&Reservation>,
) -> Result<Collapsed, EngineError> {
    let shingles = |near: &Vec<usize>| -> usize {
        near.iter().map(|rank| ranked.documents[*rank].candidate.shingles as usize).sum()
    };
    // Both sets of a pair have about the same size.
    let steps = 2 * ranked.earlier.iter().map(shingles).sum::<usize>();
    charge(memory, steps / cost::SHINGLES_COMPARED)?;
    crate::engine::compute_if(steps > SHINGLES_INLINE_MAX, move || greedy(ranked, &sets, threshold))
        .await
}

fn greedy(
    ranked: Ranked,
    sets: &HashMap<u64, Option<ShingleSet>>,
    threshold: Threshold,
) -> Collapsed {
    let set = |rank: usize| sets.get(&ranked.fingerprint(rank))?.as_ref();
    let resemblance = |a: usize, b: usize| match ranked.fingerprint(a) == ranked.fingerprint(b) {
        true => Some(1.0),
        false => Some(Overlap::reaching(set(a)?, set(b)?, threshold.get())?.resemblance()),
    };
    // By rank: the members of a kept document, `None` for a collapsed one.
    let mut members: Vec<Option<Vec<GroupMember>>> = Vec::with_capacity(ranked.ids.len());
    for (rank, earlier) in ranked.earlier.iter().enumerate() {
        let kept = earlier.iter().filter(|other| members[**other].is_some());
        let joined = kept.copied().find_map(|other| Some((other, resemblance(rank, other)?)));
        members.push(joined.is_none().then(Vec::new));
        if let Some((other, resemblance)) = joined
            && let Some(group) = &mut members[other]
        {
            group.push(GroupMember { id: ranked.ids[rank].clone(), resemblance });
        }
    }
    let mut unknown = ranked.unknown.into_iter().peekable();
    let mut collapsed = Collapsed {
        kept: Vec::new(),
        groups: Vec::new(),
        unknown: unknown.clone().map(|(_, id)| id).collect(),
        more: false,
        threshold,
    };
    for (rank, (id, members)) in ranked.ids.into_iter().zip(members).enumerate() {
        while let Some((_, unknown)) = unknown.next_if(|(before, _)| *before <= rank) {
            collapsed.kept.push(unknown);
        }
        let Some(members) = members else { continue };
        if !members.is_empty() {
            collapsed.groups.push(Group { representative: id.clone(), members });
        }
        collapsed.kept.push(id);
    }
    collapsed.kept.extend(unknown.map(|(_, id)| id));
    collapsed
}

impl Collapsed {
    /// Cuts the kept ids to `limit`, and the groups to the kept ids.
    fn cut(&mut self, limit: usize) {
        self.more = self.kept.len() > limit;
        self.kept.truncate(limit);
        if self.more {
            let kept: HashSet<&DocumentId> = self.kept.iter().collect();
            self.groups.retain(|group| kept.contains(&group.representative));
        }
    }
}
