//! Enumerates all pairs, each once.

use std::ops::ControlFlow;

use super::buckets::Buckets;
use super::check::Subject;
use super::{Join, JoinError, JoinProgress, Pair, Sets, Stage, Stopped};
use crate::scheme::SizeReach;

impl Join<'_> {
    /// Visits every pair of sets at or above the threshold once, in a fixed order, until the
    /// visitor breaks.
    ///
    /// # Errors
    /// [`JoinError::Stopped`], also if the visitor broke; and errors of reading the sets.
    pub fn pairs<S: Sets>(
        &self,
        sets: &mut S,
        progress: &JoinProgress,
        mut visit: impl FnMut(Pair) -> ControlFlow<()>,
    ) -> Result<(), JoinError<S::Error>> {
        let buckets = Buckets::of(&self.keys, sets, progress)?;
        progress.begin(Stage::Joining, u64::from(sets.count()));
        let mut neighbours = Neighbours::new(sets.count());
        let mut end = 0;
        for rank in buckets.ranks() {
            end = self.reachable_end(&buckets, rank, end);
            let mut subject = Subject::new(buckets.number(rank));
            let mut unsuccessful = 0;
            for candidate in self.larger(&buckets, rank, end, &mut neighbours) {
                progress.go_on()?;
                let (a, b) = (buckets.number(rank), buckets.number(candidate.rank));
                let pair = if candidate.by_key {
                    self.check.pair(&mut subject, b, sets)?
                } else if self.check.effort.ends(&mut unsuccessful, a, b) {
                    None
                } else {
                    self.check.pair_of_crowd(&mut subject, b, &mut unsuccessful, sets)?
                };
                if let Some(pair) = pair
                    && visit(pair).is_break()
                {
                    return Err(Stopped.into());
                }
            }
            progress.advance(1)?;
        }
        Ok(())
    }

    /// The end of the ranks with sets that are small enough to pair with the set of `rank`, given
    /// the end for an earlier rank: it ascends with the size.
    fn reachable_end(&self, buckets: &Buckets, rank: u32, before: u32) -> u32 {
        let size = buckets.size(rank);
        let reaches = |other: u32| self.check.can_reach(size, buckets.size(other));
        (before..buckets.ranks().end).find(|&other| !reaches(other)).unwrap_or(buckets.ranks().end)
    }

    /// The ranks after `rank` and before `end` that may be a pair with it, each once.
    fn larger<'m>(
        &self,
        buckets: &Buckets,
        rank: u32,
        end: u32,
        neighbours: &'m mut Neighbours,
    ) -> &'m [PairCandidate] {
        neighbours.begin(rank);
        for membership in buckets.memberships(rank) {
            let bucket = buckets.bucket_at(membership);
            let members = buckets.members(bucket);
            let at = members.partition_point(|member| member.set < rank);
            let own = buckets.reach(members[at]);
            if let Some(tree) = buckets.tree(bucket) {
                neighbours.buckets_not_counted += 1;
                let mut from = at + 1;
                while let Some(next) = tree.next(from, own) {
                    neighbours.add(members[next].set, 0, || true);
                    from = next + 1;
                }
                continue;
            }
            let (larger, by_key) = (&members[at + 1..], buckets.is_of_key(bucket));
            for other in larger.iter().take_while(|other| other.set < end) {
                match by_key {
                    true if SizeReach::of_key(own.most).admits(SizeReach::of_key(other.most)) => {
                        neighbours.add_by_key(other.set);
                    }
                    true => {}
                    false => {
                        neighbours.add(other.set, 1, || own.admits(buckets.reach(*other)));
                    }
                }
            }
        }
        self.check.effort.add_visited(std::mem::take(&mut neighbours.visited));
        let not_counted = neighbours.buckets_not_counted;
        neighbours.finish(|other, counted| {
            buckets.share_enough(&self.keys, rank, other, counted + not_counted)
        })
    }
}

/// A set that may be a pair with the subject.
#[derive(Clone, Copy)]
struct PairCandidate {
    rank: u32,
    /// The two share a key of a scheme.
    by_key: bool,
}

/// The ranks that share buckets with the subject.
struct Neighbours {
    shared: Vec<SharedBuckets>,
    subject: u32,
    /// The subject's buckets in which only candidates were visited.
    buckets_not_counted: u32,
    candidates: Vec<PairCandidate>,
    visited: u64,
}

/// The buckets that a rank shares with the current subject.
#[derive(Clone, Copy)]
struct SharedBuckets {
    /// The subject for which the other fields are valid.
    subject: u32,
    /// Number of shared buckets of elements that were counted.
    counted: u32,
    /// Whether the two may be a pair according to one of these buckets.
    admitted: bool,
    by_key: bool,
}

impl Neighbours {
    fn new(ranks: u32) -> Self {
        let none = SharedBuckets { subject: u32::MAX, counted: 0, admitted: false, by_key: false };
        Self {
            shared: vec![none; ranks as usize],
            subject: u32::MAX,
            buckets_not_counted: 0,
            candidates: Vec::new(),
            visited: 0,
        }
    }

    fn begin(&mut self, rank: u32) {
        self.subject = rank;
        self.buckets_not_counted = 0;
        self.candidates.clear();
    }

    /// The buckets that a rank shares with the subject. A set can be in a bucket twice.
    #[inline]
    fn shared(&mut self, rank: u32) -> &mut SharedBuckets {
        self.visited += 1;
        let shared = &mut self.shared[rank as usize];
        if shared.subject != self.subject {
            let (subject, by_key) = (self.subject, false);
            *shared = SharedBuckets { subject, counted: 0, admitted: false, by_key };
            if rank != subject {
                self.candidates.push(PairCandidate { rank, by_key });
            }
        }
        shared
    }

    /// Adds to the counted buckets of elements.
    #[inline]
    fn add(&mut self, rank: u32, counted: u32, is_admitted: impl FnOnce() -> bool) {
        let shared = self.shared(rank);
        shared.counted += counted;
        shared.admitted = shared.admitted || is_admitted();
    }

    #[inline]
    fn add_by_key(&mut self, rank: u32) {
        self.shared(rank).by_key = true;
    }

    /// The ranks that share a key, or were admitted and share enough buckets, ascending.
    fn finish(&mut self, share_enough: impl Fn(u32, u32) -> bool) -> &[PairCandidate] {
        let shared = &self.shared;
        self.candidates.retain_mut(|PairCandidate { rank, by_key }| {
            let SharedBuckets { counted, admitted, by_key: is_by_key, .. } = shared[*rank as usize];
            *by_key = is_by_key;
            is_by_key || admitted && share_enough(*rank, counted)
        });
        self.candidates.sort_unstable_by_key(|candidate| candidate.rank);
        &self.candidates
    }
}
