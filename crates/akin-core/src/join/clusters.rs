//! Groups sets into clusters.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::grouping::{BucketMember, KeyGroups, KeyedMember, PARTS};
use super::single::Connecting;
use super::{Join, JoinError, JoinProgress, Sets, Stage};
use crate::document::DocumentId;

/// How documents are clustered. `single`: clusters are connected by chains of pairs.
/// `representative`: the similarity of each member to the representative of its cluster is at least
/// the threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[cfg_attr(
    feature = "schema",
    schema(
        description = "How documents are clustered. `single`: clusters are connected by chains of \
            pairs. `representative`: the similarity of each member to the representative of its \
            cluster is at least the threshold."
    )
)]
#[serde(rename_all = "snake_case")]
pub enum Linkage {
    /// Documents connected by a chain of pairs
    #[default]
    Single,
    // In the order of numbers, each set without a cluster becomes a representative, and every
    // unclustered set that is a pair with it joins, so clusters cannot chain.
    /// Documents near the representative: every removed document is near the kept document
    Representative,
}

/// The stable name of a cluster, derived from its smallest id.
pub fn cluster_name(representative: &DocumentId) -> String {
    format!("{:016x}", xxh3_64(representative.as_str().as_bytes()))
}

impl Join<'_> {
    /// The representative of each set, by number: the lowest number in its cluster, and for a set
    /// without a cluster its own.
    ///
    /// # Errors
    /// [`JoinError::Stopped`], and errors of reading the sets.
    pub fn clusters<S: Sets>(
        &self,
        linkage: Linkage,
        sets: &mut S,
        progress: &JoinProgress,
    ) -> Result<Vec<u32>, JoinError<S::Error>> {
        match linkage {
            Linkage::Single => self.single(sets, progress),
            Linkage::Representative => self.representatives(sets, progress, |_| {}),
        }
    }

    /// Connects the sets of each bucket.
    fn single<S: Sets>(
        &self,
        sets: &mut S,
        progress: &JoinProgress,
    ) -> Result<Vec<u32>, JoinError<S::Error>> {
        let count = sets.count();
        let mut connecting = Connecting::new(self, count);
        self.each_bucket(sets, progress, |members, by_key, sets| {
            connecting.connect(members, by_key, sets, progress)
        })?;
        let mut forest = connecting.forest();
        Ok((0..count).map(|number| forest.root(number)).collect())
    }

    /// Visits the sets of each key that several sets have, and whether the key is of the scheme.
    /// Only the buckets of some keys of a table are in memory at a time.
    pub(super) fn each_bucket<S: Sets>(
        &self,
        sets: &mut S,
        progress: &JoinProgress,
        mut visit: impl FnMut(&[KeyedMember], bool, &mut S) -> Result<(), JoinError<S::Error>>,
    ) -> Result<(), JoinError<S::Error>> {
        let count = sets.count();
        let tables = 0..self.keys.tables();
        let parts = |table| self.parts_at_once(table, sets);
        let parts: Vec<usize> = tables.clone().map(parts).collect();
        let passes: usize = parts.iter().map(|parts| PARTS.div_ceil(*parts)).sum();
        progress.begin(Stage::Joining, passes as u64 * u64::from(count));
        let mut groups = KeyGroups::default();
        for (table, at_once) in tables.zip(parts) {
            let by_key = table < self.keys.key_tables();
            for first in (0..PARTS).step_by(at_once) {
                let parts = first..first + at_once;
                for set in 0..count {
                    self.keys.visit(set, table..table + 1, sets, |key| {
                        let member = BucketMember { set, most: key.most };
                        groups.push_within(&parts, key.key, member);
                    })?;
                    progress.advance(1)?;
                }
                let mut visited = Ok(());
                groups.drain(|members| {
                    if visited.is_ok() {
                        visited = visit(members, by_key, sets);
                    }
                });
                visited?;
            }
        }
        Ok(())
    }

    /// How many partitions of the keys of a table fit into the memory that the join may take.
    fn parts_at_once(&self, table: u32, sets: &impl Sets) -> usize {
        // They grow by doubling.
        let all = self.keys.keys_of_a_table(table, sets) * 2 * size_of::<KeyedMember>();
        PARTS.div_ceil(all.div_ceil(self.memory).clamp(1, PARTS))
    }
}

/// Connected sets as trees (union–find). The root of a tree is its lowest number.
pub struct DisjointSets(Vec<u32>);

impl DisjointSets {
    /// Sets that are not connected, with numbers from 0.
    pub fn new(sets: u32) -> Self {
        Self((0..sets).collect())
    }

    /// Finds the root, with path halving.
    #[inline]
    pub fn root(&mut self, mut number: u32) -> u32 {
        while self.0[number as usize] != number {
            let above = self.0[number as usize];
            self.0[number as usize] = self.0[above as usize];
            number = above;
        }
        number
    }

    /// Connects the trees of two sets.
    #[inline]
    pub fn connect(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b) as usize] = a.min(b);
    }
}
