//! Buckets of sets that share a key or a rare element.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;

use super::grouping::{BucketMember, KeyGroups};
use super::keys::JoinKeys;
use super::reach::ReachTree;
use super::{JoinError, JoinProgress, Sets, Stage};
use crate::measure::Overlap;
use crate::scheme::SizeReach;

/// The most members of a bucket of elements that are visited one by one.
const VISITED_MAX: usize = if cfg!(test) { 4 } else { 64 };

/// All buckets with at least two members.
///
/// Sets are identified by their **rank** by size, then number. So all sets that are too large for a
/// given set are at the end of each of its buckets.
#[derive(Debug)]
pub(super) struct Buckets {
    /// The number of the set with each rank.
    numbers: Vec<u32>,
    /// The size of the set with each rank.
    sizes: Vec<u32>,
    members: Vec<BucketMember>,
    /// The range of `members` of each bucket, sorted by rank.
    ranges: Vec<Range<usize>>,
    /// The number of buckets of keys of a scheme; the buckets of elements follow.
    elements_from: usize,
    /// The reach of the members of each large bucket of elements, by bucket.
    trees: HashMap<usize, ReachTree>,
    /// The set with rank r is in the buckets `memberships[starts[r]..starts[r + 1]]`.
    starts: Vec<usize>,
    memberships: Vec<u32>,
}

impl Buckets {
    /// The sets of a corpus without buckets.
    fn empty(sets: &impl Sets) -> Self {
        let mut numbers: Vec<u32> = (0..sets.count()).collect();
        numbers.sort_by_key(|&number| sets.shingles(number));
        let sizes = numbers.iter().map(|&number| sets.shingles(number) as u32).collect();
        Self {
            numbers,
            sizes,
            members: Vec::new(),
            ranges: Vec::new(),
            elements_from: 0,
            trees: HashMap::new(),
            starts: Vec::new(),
            memberships: Vec::new(),
        }
    }

    /// The rank of each set, by number.
    fn ranks_by_number(&self) -> Vec<u32> {
        let mut ranks = vec![0; self.numbers.len()];
        for (rank, number) in (0..).zip(&self.numbers) {
            ranks[*number as usize] = rank;
        }
        ranks
    }

    /// A bucket for each key of at least two sets.
    ///
    /// # Errors
    /// Errors of reading the sets, and [`JoinError::Stopped`].
    pub fn of<S: Sets>(
        join_keys: &JoinKeys<'_>,
        sets: &mut S,
        progress: &JoinProgress,
    ) -> Result<Self, JoinError<S::Error>> {
        let mut buckets = Self::empty(sets);
        let ranks = buckets.ranks_by_number();
        let mut groups = KeyGroups::default();
        progress.begin(Stage::Filing, u64::from(join_keys.tables()) * u64::from(sets.count()));
        for table in 0..join_keys.tables() {
            for (number, &set) in (0..).zip(&ranks) {
                join_keys.visit(number, table..table + 1, sets, |key| {
                    groups.push(key.key, BucketMember { set, most: key.most });
                })?;
                progress.advance(1)?;
            }
            buckets.take(&mut groups);
            if table < join_keys.key_tables() {
                buckets.elements_from = buckets.ranges.len();
            }
        }
        drop(groups);
        buckets.link();
        Ok(buckets)
    }

    /// Adds a bucket for each key with several members, and empties the groups.
    fn take(&mut self, groups: &mut KeyGroups) {
        groups.drain(|members| {
            let start = self.members.len();
            self.members.extend(members.iter().map(|keyed| keyed.member));
            // Where a set has two elements of the same key, the first admits every set that the
            // second admits.
            let order = |member: &BucketMember| (member.set, Reverse(member.most));
            self.members[start..].sort_unstable_by_key(order);
            self.ranges.push(start..self.members.len());
        });
    }

    /// Builds the map from sets to their buckets. Call it once, after all buckets are added.
    fn link(&mut self) {
        let mut starts = vec![0; self.numbers.len() + 1];
        for member in &self.members {
            starts[member.set as usize + 1] += 1;
        }
        for rank in 1..starts.len() {
            starts[rank] += starts[rank - 1];
        }
        let mut next = starts.clone();
        let mut memberships = vec![0; self.members.len()];
        for (bucket, range) in (0..).zip(&self.ranges) {
            for member in &self.members[range.clone()] {
                let at = &mut next[member.set as usize];
                memberships[*at] = bucket;
                *at += 1;
            }
        }
        self.starts = starts;
        self.memberships = memberships;
        for bucket in self.elements_from..self.ranges.len() {
            if self.ranges[bucket].len() > VISITED_MAX {
                let mut tree = ReachTree::default();
                tree.fill(self.members(bucket).iter().map(|member| self.reach(*member)));
                self.trees.insert(bucket, tree);
            }
        }
    }

    /// All ranks, by ascending size.
    pub fn ranks(&self) -> Range<u32> {
        0..self.numbers.len() as u32
    }

    #[inline]
    pub fn number(&self, rank: u32) -> u32 {
        self.numbers[rank as usize]
    }

    #[inline]
    pub fn size(&self, rank: u32) -> usize {
        self.sizes[rank as usize] as usize
    }

    /// The reach of a member of a bucket.
    #[inline]
    pub fn reach(&self, member: BucketMember) -> SizeReach {
        SizeReach { size: self.sizes[member.set as usize], most: member.most }
    }

    /// Whether two sets that share at most `buckets` buckets of elements may be a pair. Let the
    /// prefix of one of them end first in the order of elements: the shared elements up to that
    /// point are in both prefixes, so each has a bucket, and the other shared elements come after
    /// that prefix.
    #[inline]
    pub fn share_enough(&self, join_keys: &JoinKeys<'_>, a: u32, b: u32, buckets: u32) -> bool {
        let (a, b) = (self.size(a), self.size(b));
        let (Some((behind_a, threshold)), Some((behind_b, _))) =
            (join_keys.behind(a), join_keys.behind(b))
        else {
            return true;
        };
        let shared = (buckets as usize + behind_a.max(behind_b)).min(a).min(b);
        Overlap { shared, a, b }.resemblance() >= threshold.get()
    }

    /// The memberships of the set with this rank.
    #[inline]
    pub fn memberships(&self, rank: u32) -> Range<usize> {
        self.starts[rank as usize]..self.starts[rank as usize + 1]
    }

    /// The bucket of a membership from [`Self::of`].
    #[inline]
    pub fn bucket_at(&self, membership: usize) -> usize {
        self.memberships[membership] as usize
    }

    /// Whether a bucket is of a key of a scheme.
    #[inline]
    pub fn is_of_key(&self, bucket: usize) -> bool {
        bucket < self.elements_from
    }

    /// The reach of the members of a large bucket.
    #[inline]
    pub fn tree(&self, bucket: usize) -> Option<&ReachTree> {
        self.trees.get(&bucket)
    }

    /// The members of a bucket, by ascending rank.
    #[inline]
    pub fn members(&self, bucket: usize) -> &[BucketMember] {
        &self.members[self.ranges[bucket].clone()]
    }
}
