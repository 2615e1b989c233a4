//! Decisions about documents that are added together.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use akin_engine::backend::{
    Addition, BackendError, CHECKED_AT_ONCE, Candidates, Findings, Rival, Rivals,
    SHINGLES_AT_ONCE_MAX, Stored, Verdict,
};
use futures_util::future::join_all;
use tokio::sync::Semaphore;

use super::{Decision, InsertBatch, PlannedInsert};
use crate::adding::Queued;
use crate::backend::PostgresCollection;
use crate::coalescing::TOGETHER_MAX;

/// Rounds in which the documents of a batch are judged at the same time; further documents are
/// judged one after the other, so that their number bounds the work.
const ROUNDS_AT_ONCE: usize = 3;

/// Shingles of candidates that the checks of a batch compare at the same time: as many as one check
/// may take. So documents of usual length are judged at the same time, and long ones take turns.
const SHINGLES_OF_BATCH: u32 = SHINGLES_AT_ONCE_MAX as u32;

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
            let judged = due.iter().map(|n| {
                let addition = &self.planned[*n].queued.addition;
                (shingles_compared(addition), self.decide(*n, staying))
            });
            for (n, (decision, decisive)) in due.iter().zip(join_limited(judged).await) {
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
        let decisive = near.iter().fold(replacing, |bits, m| bits | 1 << m);
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
        let mut staying = near.iter().filter(|m| staying >> **m & 1 == 1);
        let rival =
            |m: &usize| Rival::certain(Arc::clone(&self.planned[*m].queued.addition.document));
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
        let selected = planned.selected.clone();
        let mut candidates = self.collection.with_members(selected, &self.read, limits.members_max);
        let mut replacing = 0;
        candidates.found.retain_mut(|candidate| {
            let is_unlike = candidate.members.is_empty();
            candidate.members.retain(|member| {
                let earlier = self.places.get(&member.id).filter(|m| **m < n);
                replacing |= earlier.map_or(0, |m| 1 << m);
                earlier.is_none_or(|m| staying >> m & 1 == 0)
            });
            is_unlike || !candidate.members.is_empty()
        });
        (Some(candidates), replacing)
    }
}

/// Shingles of the candidates that the check of a document compares at the same time, at most:
/// larger or smaller sets cannot reach the threshold, and are not read.
fn shingles_compared(addition: &Addition) -> u32 {
    let Some(search) = &addition.search else { return 0 };
    let largest = addition.document.analysis.set.count() as f64 / search.threshold.get();
    (CHECKED_AT_ONCE as f64 * largest).min(f64::from(SHINGLES_OF_BATCH)) as u32
}

/// Runs checks at the same time, each with its number of shingles, in their order as soon as the
/// shingles of those that run leave room.
async fn join_limited<F: Future>(checks: impl Iterator<Item = (u32, F)>) -> Vec<F::Output> {
    let room = Semaphore::new(SHINGLES_OF_BATCH as usize);
    let limited = checks.map(async |(shingles, check)| {
        let _held = room.acquire_many(shingles).await;
        check.await
    });
    join_all(limited).await
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
            planned[n].near = near.into_iter().map(|(_, m)| m).collect();
        }
        for key in collection.keys_of(&planned[n].queued.addition.document) {
            *earlier.entry(key).or_default() |= 1 << n;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::task::yield_now;

    use super::*;

    /// The most checks of so many shingles that run at the same time.
    async fn most_at_once(shingles: u32) -> usize {
        let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let check = async |n: usize| {
            most.fetch_max(running.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
            yield_now().await;
            running.fetch_sub(1, Ordering::Relaxed);
            n
        };
        let done = join_limited((0..TOGETHER_MAX).map(|n| (shingles, check(n)))).await;
        assert!(done.into_iter().eq(0..TOGETHER_MAX));
        most.into_inner()
    }

    /// Each check may take as much memory as was meant for all.
    #[tokio::test]
    async fn checks_of_long_documents_take_turns() {
        assert_eq!(most_at_once(6_000).await, TOGETHER_MAX);
        assert_eq!(most_at_once(SHINGLES_OF_BATCH / 4).await, 4);
        assert_eq!(most_at_once(SHINGLES_OF_BATCH).await, 1);
    }
}
