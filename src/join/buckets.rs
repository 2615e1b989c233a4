//! Buckets of sets that share a key or a rare element.

use std::ops::Range;

use super::filing::Filing;
use super::grouping::{KeyGroups, Member};
use super::{JoinError, Progress, Sets, Stage};
use crate::measure::Overlap;
use crate::scheme::prefix_len;

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
    members: Vec<Member>,
    /// The range of `members` of each bucket, sorted by rank.
    ranges: Vec<Range<usize>>,
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
        filing: &Filing<'_>,
        sets: &mut S,
        progress: &Progress,
    ) -> Result<Self, JoinError<S::Error>> {
        let mut buckets = Self::empty(sets);
        let ranks = buckets.ranks_by_number();
        let mut groups = KeyGroups::default();
        progress.begin(Stage::Filing, u64::from(filing.tables()) * u64::from(sets.count()));
        for table in 0..filing.tables() {
            for (number, &set) in (0..).zip(&ranks) {
                filing.visit(number, table..table + 1, sets, |filed| {
                    groups.push(filed.key, Member { set, position: filed.position });
                })?;
                progress.advance(1)?;
            }
            buckets.take(&mut groups);
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
            self.members[start..].sort_unstable_by_key(|member| member.set);
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
    }

    /// All ranks, by ascending size.
    pub fn ranks(&self) -> Range<u32> {
        0..self.numbers.len() as u32
    }

    pub fn number(&self, rank: u32) -> u32 {
        self.numbers[rank as usize]
    }

    pub fn size(&self, rank: u32) -> usize {
        self.sizes[rank as usize] as usize
    }

    /// Whether two sets that share `buckets` buckets may be a pair. Let the prefix of one of them
    /// end first in the order of elements: the shared elements up to that point are in both
    /// prefixes, so each has a bucket, and the others come after that prefix.
    pub fn share_enough(&self, filing: &Filing<'_>, a: u32, b: u32, buckets: u32) -> bool {
        let Filing::Prefixes { threshold, .. } = *filing else { return true };
        let (a, b) = (self.size(a), self.size(b));
        let behind = |size| size - prefix_len(threshold, size);
        let shared = (buckets as usize + behind(a).max(behind(b))).min(a).min(b);
        Overlap { shared, a, b }.resemblance() >= threshold.get()
    }

    /// The memberships of the set with this rank.
    pub fn memberships(&self, rank: u32) -> Range<usize> {
        self.starts[rank as usize]..self.starts[rank as usize + 1]
    }

    /// The bucket of a membership from [`Self::of`].
    pub fn bucket_at(&self, membership: usize) -> usize {
        self.memberships[membership] as usize
    }

    /// The members of a bucket, by ascending rank.
    pub fn members(&self, bucket: usize) -> &[Member] {
        &self.members[self.ranges[bucket].clone()]
    }
}
