//! Enumerates all pairs, each once.

use std::ops::ControlFlow;

use super::buckets::Buckets;
use super::check::Subject;
use super::grouping::Member;
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
        let buckets = Buckets::of(&self.filing, sets, progress)?;
        progress.begin(Stage::Joining, u64::from(sets.count()));
        let mut neighbours = Neighbours::new(sets.count());
        let mut end = 0;
        for rank in buckets.ranks() {
            end = self.reachable_end(&buckets, rank, end);
            let mut subject = Subject::new(buckets.number(rank));
            for other in self.larger(&buckets, rank, end, &mut neighbours) {
                progress.go_on()?;
                let other = buckets.number(*other);
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
    fn reachable_end(&self, buckets: &Buckets, rank: u32, before: u32) -> u32 {
        let size = buckets.size(rank);
        let reaches = |other: u32| self.check.can_reach(size, buckets.size(other));
        (before..buckets.ranks().end).find(|&other| !reaches(other)).unwrap_or(buckets.ranks().end)
    }

    /// The ranks after this one and before `end` that may be a pair with it, each once.
    fn larger<'m>(
        &self,
        buckets: &Buckets,
        rank: u32,
        end: u32,
        neighbours: &'m mut Neighbours,
    ) -> &'m [u32] {
        let placed = |member: &Member| (member.position, buckets.size(member.set));
        neighbours.begin(rank);
        for membership in buckets.memberships(rank) {
            let members = buckets.members(buckets.bucket_at(membership));
            let at = members.partition_point(|member| member.set < rank);
            for other in members[at + 1..].iter().filter(|other| other.set > rank) {
                if other.set >= end {
                    break;
                }
                neighbours
                    .add(other.set, || self.filing.admits(placed(&members[at]), placed(other)));
            }
        }
        neighbours.finish(|other, shared| buckets.share_enough(&self.filing, rank, other, shared))
    }
}

/// The ranks that share buckets with one rank.
struct Neighbours {
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
    fn new(ranks: u32) -> Self {
        let none = SharedBuckets { subject: u32::MAX, buckets: 0, admitted: false };
        Self { shared: vec![none; ranks as usize], subject: u32::MAX, ranks: Vec::new() }
    }

    fn begin(&mut self, rank: u32) {
        self.subject = rank;
        self.ranks.clear();
    }

    /// Counts a shared bucket.
    #[inline]
    fn add(&mut self, rank: u32, is_admitted: impl FnOnce() -> bool) {
        let shared = &mut self.shared[rank as usize];
        if shared.subject != self.subject {
            *shared = SharedBuckets { subject: self.subject, buckets: 0, admitted: false };
            self.ranks.push(rank);
        }
        shared.buckets += 1;
        shared.admitted = shared.admitted || is_admitted();
    }

    /// The ranks that were admitted and share enough buckets, ascending.
    fn finish(&mut self, share_enough: impl Fn(u32, u32) -> bool) -> &[u32] {
        let shared = &self.shared;
        self.ranks.retain(|&rank| {
            let neighbours = shared[rank as usize];
            neighbours.admitted && share_enough(rank, neighbours.buckets)
        });
        self.ranks.sort_unstable();
        &self.ranks
    }
}
