//! Groups sets into clusters.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use xxhash_rust::xxh3::xxh3_64;

use super::check::Subject;
use super::grouping::Member;
use super::pairs::Neighbours;
use super::{Join, JoinError, Progress, Sets, Stage};
use crate::document::DocumentId;

/// How documents are clustered. `single`: clusters are connected by chains of pairs.
/// `representative`: the similarity of each member to the representative of its cluster is at least
/// the threshold.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, ValueEnum,
)]
#[serde(rename_all = "snake_case")]
pub enum Linkage {
    /// Documents connected by a chain of pairs
    #[default]
    Single,
    // In the order of numbers, each set without a cluster becomes a representative, and every
    // unclustered set that is a pair with it joins, so clusters cannot chain.
    /// Documents near the representative: nothing is removed that is not near what is kept
    Representative,
}

/// The stable name of a cluster, derived from its smallest id.
pub fn cluster_name(representative: &DocumentId) -> String {
    format!("{:016x}", xxh3_64(representative.as_str().as_bytes()))
}

impl Join<'_> {
    /// The representative of each set, by number: the lowest number in its cluster, its own if it
    /// is alone.
    ///
    /// # Errors
    /// [`JoinError::Stopped`], and errors of reading the sets.
    pub fn clusters<S: Sets>(
        self,
        linkage: Linkage,
        sets: &mut S,
        progress: &Progress,
    ) -> Result<Vec<u32>, JoinError<S::Error>> {
        match linkage {
            Linkage::Single => self.single(sets, progress),
            Linkage::Representative => self.representative(sets, progress),
        }
    }

    /// Skips comparisons of sets that are already connected; of each connected group in a bucket,
    /// members are compared only until the first pair. So a bucket of near-copies costs one
    /// comparison per copy.
    fn single<S: Sets>(
        &self,
        sets: &mut S,
        progress: &Progress,
    ) -> Result<Vec<u32>, JoinError<S::Error>> {
        let buckets = 0..self.buckets.count();
        progress.begin(Stage::Joining, buckets.len() as u64);
        let mut forest = Forest::new(self.check.corpus.count());
        for bucket in buckets {
            self.connect(self.buckets.members(bucket), &mut forest, sets, progress)?;
            progress.advance(1)?;
        }
        Ok((0..self.check.corpus.count()).map(|number| forest.root(number)).collect())
    }

    fn connect<S: Sets>(
        &self,
        members: &[Member],
        forest: &mut Forest,
        sets: &mut S,
        progress: &Progress,
    ) -> Result<(), JoinError<S::Error>> {
        let mut groups: Vec<Vec<Member>> = Vec::new();
        for member in members {
            let number = self.buckets.number(member.rank);
            let mut subject = Subject::new(number);
            let mut own = vec![*member];
            let mut at = 0;
            while at < groups.len() {
                let first = self.buckets.number(groups[at][0].rank);
                let connected = forest.root(first) == forest.root(number)
                    || self.any_pair(&mut subject, *member, &groups[at], sets, progress)?;
                if !connected {
                    at += 1;
                    continue;
                }
                forest.connect(first, number);
                let mut group = groups.swap_remove(at);
                if group.len() > own.len() {
                    std::mem::swap(&mut group, &mut own);
                }
                own.append(&mut group);
            }
            groups.push(own);
        }
        Ok(())
    }

    fn any_pair<S: Sets>(
        &self,
        subject: &mut Subject,
        member: Member,
        group: &[Member],
        sets: &mut S,
        progress: &Progress,
    ) -> Result<bool, JoinError<S::Error>> {
        for other in group.iter().filter(|other| self.buckets.admit(**other, member)) {
            progress.go_on()?;
            if self.check.pair(subject, self.buckets.number(other.rank), sets)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn representative<S: Sets>(
        mut self,
        sets: &mut S,
        progress: &Progress,
    ) -> Result<Vec<u32>, JoinError<S::Error>> {
        const NONE: u32 = u32::MAX;
        let count = self.check.corpus.count();
        progress.begin(Stage::Joining, u64::from(count));
        let mut ranks = vec![0; count as usize];
        for rank in self.buckets.ranks() {
            ranks[self.buckets.number(rank) as usize] = rank;
        }
        let protected = self.protected;
        let mut representatives: Vec<u32> = (0..protected).collect();
        representatives.resize(count as usize, NONE);
        let mut neighbours = Neighbours::new(count);
        for number in 0..count {
            if number < protected || representatives[number as usize] == NONE {
                representatives[number as usize] = number;
                let mut subject = Subject::new(number);
                let is_free = |number: u32| representatives[number as usize] == NONE;
                // A protected set stays in its buckets until it has been compared.
                let stays = |other: u32| is_free(other) || (number < other && other < protected);
                let mut joining = Vec::new();
                let rank = ranks[number as usize];
                for other in self.free_neighbours(rank, is_free, stays, &mut neighbours) {
                    progress.go_on()?;
                    let other = self.buckets.number(*other);
                    if self.check.pair(&mut subject, other, sets)?.is_some() {
                        joining.push(other);
                    }
                }
                for other in joining {
                    representatives[other as usize] = number;
                }
            }
            progress.advance(1)?;
        }
        Ok(representatives)
    }

    /// The sets without a cluster that share a bucket with this one. Clustered sets are removed
    /// from its buckets, so that they are not visited again.
    fn free_neighbours<'m>(
        &mut self,
        rank: u32,
        is_free: impl Fn(u32) -> bool,
        stays: impl Fn(u32) -> bool,
        neighbours: &'m mut Neighbours,
    ) -> &'m [u32] {
        neighbours.begin(rank);
        for membership in self.buckets.of(rank) {
            let bucket = self.buckets.bucket_at(membership);
            let members = self.buckets.members(bucket);
            let at = members.partition_point(|member| member.rank < rank);
            for other in members {
                if is_free(self.buckets.number(other.rank)) {
                    neighbours.add(other.rank, || self.buckets.admit(members[at], *other));
                }
            }
            self.buckets.retain(bucket, &stays);
        }
        neighbours.finish(|_, _| true)
    }
}

/// Connected sets as trees (union–find). The root of a tree is its lowest number.
pub(crate) struct Forest(Vec<u32>);

impl Forest {
    pub fn new(sets: u32) -> Self {
        Self((0..sets).collect())
    }

    /// Finds the root, with path halving.
    pub fn root(&mut self, mut number: u32) -> u32 {
        while self.0[number as usize] != number {
            let above = self.0[number as usize];
            self.0[number as usize] = self.0[above as usize];
            number = above;
        }
        number
    }

    pub fn connect(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b) as usize] = a.min(b);
    }
}
