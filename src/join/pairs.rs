//! Enumerates all pairs, each once.

use std::ops::ControlFlow;

use super::check::Subject;
use super::{Join, JoinError, Pair, Progress, Sets, Stage, Stopped};

impl Join<'_> {
    /// Visits every pair of sets at or above the threshold once, in a fixed order, until the
    /// visitor breaks.
    ///
    /// # Errors
    /// [`JoinError::Stopped`], also if the visitor broke; and errors of reading the sets.
    pub fn pairs<S: Sets>(
        &self,
        sets: &mut S,
        progress: &Progress,
        mut visit: impl FnMut(Pair) -> ControlFlow<()>,
    ) -> Result<(), JoinError<S::Error>> {
        progress.begin(Stage::Joining, u64::from(self.check.corpus.count()));
        let mut neighbours = Neighbours::new(self.check.corpus.count());
        let mut end = 0;
        for rank in self.buckets.ranks() {
            end = self.reachable_end(rank, end);
            let mut subject = Subject::new(self.buckets.number(rank));
            for other in self.larger(rank, end, &mut neighbours) {
                progress.go_on()?;
                let other = self.buckets.number(*other);
                if let Some(pair) = self.check.pair(&mut subject, other, sets)?
                    && visit(pair).is_break()
                {
                    return Err(Stopped.into());
                }
            }
            progress.advance(1)?;
        }
        Ok(())
    }

    /// The end of the ranks whose sets are small enough to pair with that of `rank`, given the end
    /// for an earlier rank: it ascends with the size.
    fn reachable_end(&self, rank: u32, before: u32) -> u32 {
        let size = self.buckets.size(rank);
        let reaches = |other: u32| self.check.can_reach(size, self.buckets.size(other));
        (before..self.buckets.ranks().end)
            .find(|&other| !reaches(other))
            .unwrap_or(self.buckets.ranks().end)
    }

    /// The ranks after this one and before `end` that may be a pair with it, each once.
    fn larger<'m>(&self, rank: u32, end: u32, neighbours: &'m mut Neighbours) -> &'m [u32] {
        neighbours.begin(rank);
        for membership in self.buckets.of(rank) {
            let members = self.buckets.members(self.buckets.bucket_at(membership));
            let at = members.partition_point(|member| member.rank < rank);
            for other in members[at + 1..].iter().filter(|other| other.rank > rank) {
                if other.rank >= end {
                    break;
                }
                neighbours.add(other.rank, || self.buckets.admit(members[at], *other));
            }
        }
        neighbours.finish(|other, buckets| self.buckets.share_enough(rank, other, buckets))
    }
}

/// The ranks that share buckets with one rank.
pub(super) struct Neighbours {
    shared: Vec<SharedBuckets>,
    subject: u32,
    ranks: Vec<u32>,
}

/// What a rank shares with the current subject.
#[derive(Clone, Copy)]
struct SharedBuckets {
    /// The subject for which the other fields are valid.
    subject: u32,
    /// Number of shared buckets.
    buckets: u32,
    /// Whether the two may be a pair according to one of them.
    admitted: bool,
}

impl Neighbours {
    pub fn new(ranks: u32) -> Self {
        let none = SharedBuckets { subject: u32::MAX, buckets: 0, admitted: false };
        Self { shared: vec![none; ranks as usize], subject: u32::MAX, ranks: Vec::new() }
    }

    pub fn begin(&mut self, rank: u32) {
        self.subject = rank;
        self.ranks.clear();
    }

    /// Counts a shared bucket.
    #[inline]
    pub fn add(&mut self, rank: u32, is_admitted: impl FnOnce() -> bool) {
        let shared = &mut self.shared[rank as usize];
        if shared.subject != self.subject {
            *shared = SharedBuckets { subject: self.subject, buckets: 0, admitted: false };
            self.ranks.push(rank);
        }
        shared.buckets += 1;
        shared.admitted = shared.admitted || is_admitted();
    }

    /// The ranks that were admitted and share enough buckets, ascending.
    pub fn finish(&mut self, share_enough: impl Fn(u32, u32) -> bool) -> &[u32] {
        let shared = &self.shared;
        self.ranks.retain(|&rank| {
            let neighbours = shared[rank as usize];
            neighbours.admitted && share_enough(rank, neighbours.buckets)
        });
        self.ranks.sort_unstable();
        &self.ranks
    }
}
