//! Groups sets into clusters.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use xxhash_rust::xxh3::xxh3_64;

use super::check::Subject;
use super::filing::Filing;
use super::grouping::{KeyGroups, KeyedMember, Member, PARTS};
use super::{Join, JoinError, Progress, Sets, Stage};
use crate::document::DocumentId;
use crate::scheme::prefix_len;

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
            Linkage::Representative => self.representatives(sets, progress),
        }
    }

    /// Skips comparisons of sets that are already connected; of each connected group in a bucket,
    /// members are compared only until the first pair. So a bucket of near-copies costs one
    /// comparison per copy. Only the buckets of some keys of one table are in memory at a time.
    fn single<S: Sets>(
        &self,
        sets: &mut S,
        progress: &Progress,
    ) -> Result<Vec<u32>, JoinError<S::Error>> {
        let count = sets.count();
        let parts = self.parts_at_once(sets);
        let passes = self.filing.tables() as usize * PARTS.div_ceil(parts);
        progress.begin(Stage::Joining, passes as u64 * u64::from(count));
        let (mut forest, mut groups) = (Forest::new(count), KeyGroups::default());
        for table in 0..self.filing.tables() {
            for first in (0..PARTS).step_by(parts) {
                let parts = first..first + parts;
                for set in 0..count {
                    self.filing.visit(set, table..table + 1, sets, |filed| {
                        let member = Member { set, position: filed.position };
                        groups.push_within(&parts, filed.key, member);
                    })?;
                    progress.advance(1)?;
                }
                let mut connected = Ok(());
                groups.drain(|members| {
                    if connected.is_ok() {
                        connected = self.connect(members, &mut forest, sets, progress);
                    }
                });
                connected?;
            }
        }
        Ok((0..count).map(|number| forest.root(number)).collect())
    }

    /// How many partitions of the keys of a table fit into the memory that the join may take.
    fn parts_at_once(&self, sets: &impl Sets) -> usize {
        // They grow by doubling.
        let all = self.keys_of_a_table(sets) * 2 * size_of::<KeyedMember>();
        PARTS.div_ceil(all.div_ceil(self.memory).clamp(1, PARTS))
    }

    /// The most keys that all sets have in one table.
    pub(super) fn keys_of_a_table(&self, sets: &impl Sets) -> usize {
        match self.filing {
            Filing::Keys { .. } => sets.count() as usize,
            Filing::Prefixes { threshold, .. } => {
                let keys = |number| prefix_len(threshold, sets.shingles(number));
                (0..sets.count()).map(keys).sum()
            }
        }
    }

    fn connect<S: Sets>(
        &self,
        members: &[KeyedMember],
        forest: &mut Forest,
        sets: &mut S,
        progress: &Progress,
    ) -> Result<(), JoinError<S::Error>> {
        let mut groups: Vec<Vec<Member>> = Vec::new();
        for KeyedMember { member, .. } in members {
            let mut subject = Subject::new(member.set);
            let mut own = vec![*member];
            let mut at = 0;
            while at < groups.len() {
                let first = groups[at][0].set;
                let connected = forest.root(first) == forest.root(member.set)
                    || self.any_pair(&mut subject, *member, &groups[at], sets, progress)?;
                if !connected {
                    at += 1;
                    continue;
                }
                forest.connect(first, member.set);
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
        let ours = (member.position, sets.shingles(member.set));
        for other in group {
            if !self.filing.admits((other.position, sets.shingles(other.set)), ours) {
                continue;
            }
            progress.go_on()?;
            if self.check.pair(subject, other.set, sets)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
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
