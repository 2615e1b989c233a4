//! Decisions about documents that are added together.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use akin_engine::backend::{BackendError, Candidates, Findings, Rival, Rivals, Stored, Verdict};
use futures_util::future::join_all;

use super::{Decision, InsertBatch, PlannedInsert};
use crate::adding::Queued;
use crate::backend::PostgresCollection;
use crate::coalescing::TOGETHER_MAX;

/// Rounds in which the documents of a batch are judged at the same time; further documents are
/// judged one after the other, so that their number bounds the work.
const ROUNDS_AT_ONCE: usize = 3;

/// Places of documents in their batch, a bit each.
pub(super) type Places = u64;

const _: () = assert!(TOGETHER_MAX <= Places::BITS as usize);

impl InsertBatch<'_> {
    /// Decides about the documents of which something was learned. Earlier documents of the batch
    /// that stay are rivals of later ones. Documents are judged at the same time, so that their
    /// lookups share calls, and each as if all earlier ones stayed of which nothing else is known;
    /// it is judged again if that was wrong.
    pub async fn judge(&mut self) {
        for round in 0.. {
            let stay = |bits: Places, (n, of): (usize, &PlannedInsert<'_>)| {
                bits | Places::from(of.stays()) << n
            };
            let staying = self.planned.iter().enumerate().fold(0, stay);
            let is_due = |n: &usize| {
                let of = &self.planned[*n];
                of.is_stale || of.decisive & staying != of.stayed
            };
            let mut due: Vec<usize> = (0..self.planned.len()).filter(is_due).collect();
            if due.is_empty() {
                return;
            }
            if round >= ROUNDS_AT_ONCE {
                due.truncate(1);
            }
            let judged = due.iter().map(|n| self.decide(*n, staying));
            for (n, (decision, decisive)) in due.iter().zip(join_all(judged).await) {
                let planned = &mut self.planned[*n];
                (planned.decision, planned.is_stale) = (decision, false);
                (planned.decisive, planned.stayed) = (decisive, decisive & staying);
            }
        }
    }

    /// Also returns the documents that decide about it if they stay.
    async fn decide(&self, n: usize, staying: Places) -> (Decision, Places) {
        let PlannedInsert { queued, hash, times, near, old, .. } = &self.planned[n];
        let (candidates, replacing) = self.candidates(n, staying);
        let mut found = Findings::new(candidates);
        found.rivals = self.rivals(n, staying);
        let decisive = near.iter().fold(replacing, |bits, (_, m)| bits | 1 << m);
        let verdict = queued.check.check(queued.number, found).await;
        if verdict == Verdict::Withdraw {
            return (Decision::Leave(Ok(None)), decisive);
        }
        let now_ms = self.collection.now_ms();
        let old = old.as_ref().filter(|old| old.expires_at_ms.is_none_or(|at| at > now_ms));
        let over = queued.addition.document.only_over.map(|over| over.get().cast_signed());
        if over.is_some_and(|over| old.is_none_or(|old| old.ordinal != over)) {
            return (Decision::Leave(Err(BackendError::Changed)), decisive);
        }
        let decision = match old {
            None if verdict == Verdict::Replace => Decision::Leave(Ok(None)),
            Some(old)
                if old.hash == *hash
                    && old.expires_at_ms == times.expires_at_ms
                    && queued.addition.times.is_none() =>
            {
                Decision::Leave(Ok(Some(Stored::Unchanged)))
            }
            _ => Decision::Write,
        };
        (decision, decisive)
    }

    /// The earlier documents of the batch that stay and are near a document.
    fn rivals(&self, n: usize, staying: Places) -> Rivals {
        let PlannedInsert { queued, near, .. } = &self.planned[n];
        let rivals_max = queued.addition.search.as_ref().map_or(0, |search| search.rivals_max);
        let mut staying = near.iter().filter(|(_, m)| staying >> m & 1 == 1);
        let rival = |(_, m): &(u32, usize)| {
            Rival::certain(Arc::clone(&self.planned[*m].queued.addition.document))
        };
        let found = staying.by_ref().take(rivals_max).map(rival).collect();
        Rivals { found, truncated: staying.next().is_some() }
    }

    /// The stored candidates of a document; `None` if the engine looks them up by other means.
    /// Earlier documents of the batch that stay are rivals in place of their old versions; also
    /// returns the earlier documents whose old versions are candidates.
    fn candidates(&self, n: usize, staying: Places) -> (Option<Candidates>, Places) {
        let planned = &self.planned[n];
        let Some(limits) = planned.limits else {
            return (None, 0);
        };
        let (selected, members_max) = (&planned.selected, limits.members_max);
        let mut candidates = self.collection.candidates_of(selected, &self.read, members_max);
        let mut replacing = 0;
        for candidate in &mut candidates.found {
            candidate.members.retain(|member| {
                let earlier = self.places.get(&member.id).filter(|m| **m < n);
                replacing |= earlier.map_or(0, |m| 1 << m);
                earlier.is_none_or(|m| staying >> m & 1 == 0)
            });
        }
        candidates.found.retain(|candidate| !candidate.members.is_empty());
        (Some(candidates), replacing)
    }
}

impl PlannedInsert<'_> {
    /// Whether the document is stored, as far as is known.
    fn stays(&self) -> bool {
        !matches!(self.decision, Decision::Leave(Err(_) | Ok(None)))
    }
}

/// Finds for each document the earlier documents of the batch that are near it.
pub(super) fn find_near(collection: &PostgresCollection, planned: &mut [PlannedInsert<'_>]) {
    let mut earlier = HashMap::<i64, Places>::new();
    for n in 0..planned.len() {
        let PlannedInsert { queued: Queued { addition, .. }, probe, .. } = &planned[n];
        if let (Some(probe), Some(search)) = (probe, &addition.search) {
            let sharing = probe.keys.iter().filter_map(|key| earlier.get(key));
            let sharing = sharing.fold(0, |bits, of| bits | of);
            let near = |m: usize| {
                let rival = &planned[m].queued.addition.document;
                let (ours, its) = (&addition.document.analysis.sketch, &rival.analysis.sketch);
                let agreeing = collection.estimator.agreeing(ours.as_bytes(), its.as_bytes());
                (agreeing >= search.agreeing_min).then_some((agreeing, m))
            };
            let mut near: Vec<(u32, usize)> =
                (0..n).filter(|m| sharing >> m & 1 == 1).filter_map(near).collect();
            near.sort_unstable_by_key(|(agreeing, m)| (Reverse(*agreeing), *m));
            planned[n].near = near;
        }
        for key in collection.keys_of(&planned[n].queued.addition.document) {
            *earlier.entry(key).or_default() |= 1 << n;
        }
    }
}
