//! Buckets of sets that share a key or a rare element.

use std::ops::Range;

use super::grouping::{KeyGroups, Member};
use super::{Corpus, Keys, Progress, Stage, Stopped};
use crate::measure::Overlap;
use crate::scheme::{ElementPosition, Threshold, prefix_len};

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
    /// The threshold, if buckets are of elements in prefixes.
    pub prefixes: Option<Threshold>,
}

impl Buckets {
    /// The sets of a corpus without buckets.
    pub fn empty(corpus: &Corpus) -> Self {
        let mut numbers: Vec<u32> = (0..corpus.count()).collect();
        numbers.sort_by_key(|&number| corpus.shingles(number));
        let sizes = numbers.iter().map(|&number| corpus.shingles(number) as u32).collect();
        Self {
            numbers,
            sizes,
            members: Vec::new(),
            ranges: Vec::new(),
            starts: Vec::new(),
            memberships: Vec::new(),
            prefixes: None,
        }
    }

    /// The rank of each set, by number.
    pub fn ranks_by_number(&self) -> Vec<u32> {
        let mut ranks = vec![0; self.numbers.len()];
        for (rank, number) in (0..).zip(&self.numbers) {
            ranks[*number as usize] = rank;
        }
        ranks
    }

    /// A bucket for each key of at least two sets.
    pub fn by_keys<V: Fn(&[u8], u32) -> Option<u32>>(
        corpus: &Corpus,
        keys: &Keys<V>,
        progress: &Progress,
    ) -> Result<Self, Stopped> {
        let mut buckets = Self::empty(corpus);
        let ranks = buckets.ranks_by_number();
        let mut groups = KeyGroups::default();
        progress.begin(Stage::Filing, u64::from(keys.tables) * u64::from(corpus.count()));
        for table in 0..keys.tables {
            for (number, &rank) in (0..).zip(&ranks) {
                if let Some(key) = (keys.value)(corpus.sketch(number), table) {
                    groups.push(key, Member { rank, position: 0 });
                }
            }
            progress.go_on()?;
            buckets.take(&mut groups);
            progress.advance(u64::from(corpus.count()))?;
        }
        buckets.link();
        Ok(buckets)
    }

    /// Adds a bucket for each key with several members, and empties the groups.
    pub fn take(&mut self, groups: &mut KeyGroups) {
        groups.drain(|members| {
            let start = self.members.len();
            self.members.extend(members.iter().map(|keyed| keyed.member));
            self.members[start..].sort_unstable_by_key(|member| member.rank);
            self.ranges.push(start..self.members.len());
        });
    }

    /// Builds the map from sets to their buckets. Call it once, after all buckets are added.
    pub fn link(&mut self) {
        let mut starts = vec![0; self.numbers.len() + 1];
        for member in &self.members {
            starts[member.rank as usize + 1] += 1;
        }
        for rank in 1..starts.len() {
            starts[rank] += starts[rank - 1];
        }
        let mut next = starts.clone();
        let mut memberships = vec![0; self.members.len()];
        for (bucket, range) in (0..).zip(&self.ranges) {
            for member in &self.members[range.clone()] {
                let at = &mut next[member.rank as usize];
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

    /// Whether two members of a bucket may be a pair, by the positions of the shared element. The
    /// first element that a pair shares always admits it.
    #[inline]
    pub fn admit(&self, a: Member, b: Member) -> bool {
        let position =
            |member: Member| ElementPosition::new(member.position as usize, self.size(member.rank));
        self.prefixes.is_none_or(|threshold| position(a).admits(position(b), threshold))
    }

    /// Whether two sets that share `buckets` buckets may be a pair. Let the prefix of one of them
    /// end first in the order of elements: the shared elements up to that point are in both
    /// prefixes, so each has a bucket, and the others come after that prefix.
    pub fn share_enough(&self, a: u32, b: u32, buckets: u32) -> bool {
        let Some(threshold) = self.prefixes else { return true };
        let (a, b) = (self.size(a), self.size(b));
        let behind = |size| size - prefix_len(threshold, size);
        let shared = (buckets as usize + behind(a).max(behind(b))).min(a).min(b);
        Overlap { shared, a, b }.resemblance() >= threshold.get()
    }

    /// The memberships of the set with this rank.
    pub fn of(&self, rank: u32) -> Range<usize> {
        self.starts[rank as usize]..self.starts[rank as usize + 1]
    }

    /// The bucket of a membership from [`Self::of`].
    pub fn bucket_at(&self, membership: usize) -> usize {
        self.memberships[membership] as usize
    }

    pub fn count(&self) -> usize {
        self.ranges.len()
    }

    /// The members of a bucket, by ascending rank.
    pub fn members(&self, bucket: usize) -> &[Member] {
        &self.members[self.ranges[bucket].clone()]
    }

    /// Keeps only the members whose numbers satisfy `keep`.
    pub fn retain(&mut self, bucket: usize, keep: impl Fn(u32) -> bool) {
        let range = &mut self.ranges[bucket];
        let mut kept = range.start;
        for at in range.clone() {
            let member = self.members[at];
            if keep(self.numbers[member.rank as usize]) {
                self.members[kept] = member;
                kept += 1;
            }
        }
        range.end = kept;
    }
}
