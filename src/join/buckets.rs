//! Buckets of sets that share a key or a rare element.

use std::ops::Range;

use super::grouping::{KeyGroups, Member};
use super::{Corpus, Keys, Progress, Stage, Stopped};
use crate::measure::Overlap;
use crate::scheme::{ElementPosition, Threshold, prefix_len};

/// All buckets of at least two members.
///
/// Sets go by their **place** in the order of size, then number: so whatever is too large for a set
/// is at the end of each of its buckets.
#[derive(Debug)]
pub(super) struct Buckets {
    /// The number of the set at each place.
    numbers: Vec<u32>,
    /// The size of the set at each place.
    sizes: Vec<u32>,
    members: Vec<Member>,
    /// Where in `members` each bucket is, by place ascending.
    ranges: Vec<Range<usize>>,
    /// The buckets of place p are at `starts[p]..starts[p + 1]` of `memberships`.
    starts: Vec<usize>,
    memberships: Vec<u32>,
    /// Buckets are of the elements in the prefixes for this threshold.
    pub prefixes: Option<Threshold>,
}

impl Buckets {
    /// None yet, of the sets of a corpus.
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

    /// The place of each set, by number.
    pub fn places_of(&self) -> Vec<u32> {
        let mut places = vec![0; self.numbers.len()];
        for (place, number) in (0..).zip(&self.numbers) {
            places[*number as usize] = place;
        }
        places
    }

    /// A bucket for each key that two sets have.
    pub fn by_keys<V: Fn(&[u8], u32) -> Option<u32>>(
        corpus: &Corpus,
        keys: &Keys<V>,
        progress: &Progress,
    ) -> Result<Self, Stopped> {
        let mut buckets = Self::empty(corpus);
        let places = buckets.places_of();
        let mut groups = KeyGroups::default();
        progress.begin(Stage::Filing, u64::from(keys.tables) * u64::from(corpus.count()));
        for table in 0..keys.tables {
            for (number, &place) in (0..).zip(&places) {
                if let Some(key) = (keys.value)(corpus.sketch(number), table) {
                    groups.push(key, Member { place, position: 0 });
                }
            }
            progress.go_on()?;
            buckets.take(&mut groups);
            progress.advance(u64::from(corpus.count()))?;
        }
        buckets.link();
        Ok(buckets)
    }

    /// Adds a bucket for each key of several members, and empties the groups.
    pub fn take(&mut self, groups: &mut KeyGroups) {
        groups.drain(|members| {
            let start = self.members.len();
            self.members.extend(members.iter().map(|keyed| keyed.member));
            self.members[start..].sort_unstable_by_key(|member| member.place);
            self.ranges.push(start..self.members.len());
        });
    }

    /// Makes the table from sets to their buckets. Call it once, after all buckets are added.
    pub fn link(&mut self) {
        let mut starts = vec![0; self.numbers.len() + 1];
        for member in &self.members {
            starts[member.place as usize + 1] += 1;
        }
        for place in 1..starts.len() {
            starts[place] += starts[place - 1];
        }
        let mut next = starts.clone();
        let mut memberships = vec![0; self.members.len()];
        for (bucket, range) in (0..).zip(&self.ranges) {
            for member in &self.members[range.clone()] {
                let at = &mut next[member.place as usize];
                memberships[*at] = bucket;
                *at += 1;
            }
        }
        self.starts = starts;
        self.memberships = memberships;
    }

    /// Every place, by size ascending.
    pub fn places(&self) -> Range<u32> {
        0..self.numbers.len() as u32
    }

    pub fn number(&self, place: u32) -> u32 {
        self.numbers[place as usize]
    }

    pub fn size(&self, place: u32) -> usize {
        self.sizes[place as usize] as usize
    }

    /// Whether two members of a bucket may be a pair, by the positions of the element that they
    /// share. No pair is rejected at the first element that it shares.
    #[inline]
    pub fn admit(&self, a: Member, b: Member) -> bool {
        let place = |member: Member| {
            ElementPosition::new(member.position as usize, self.size(member.place))
        };
        self.prefixes.is_none_or(|threshold| place(a).admits(place(b), threshold))
    }

    /// Whether two sets that share `buckets` buckets may be a pair. Take the one whose prefix ends
    /// first in the order of the elements: what they share up to there is in both prefixes, so in
    /// a bucket, and the rest is behind its prefix.
    pub fn share_enough(&self, a: u32, b: u32, buckets: u32) -> bool {
        let Some(threshold) = self.prefixes else { return true };
        let (a, b) = (self.size(a), self.size(b));
        let behind = |size| size - prefix_len(threshold, size);
        let shared = (buckets as usize + behind(a).max(behind(b))).min(a).min(b);
        Overlap { shared, a, b }.resemblance() >= threshold.get()
    }

    /// The buckets that hold a place.
    pub fn of(&self, place: u32) -> Range<usize> {
        self.starts[place as usize]..self.starts[place as usize + 1]
    }

    /// A bucket of [`Self::of`].
    pub fn bucket_at(&self, membership: usize) -> usize {
        self.memberships[membership] as usize
    }

    pub fn count(&self) -> usize {
        self.ranges.len()
    }

    /// By place ascending.
    pub fn members(&self, bucket: usize) -> &[Member] {
        &self.members[self.ranges[bucket].clone()]
    }

    /// Removes the members whose numbers are not to be kept.
    pub fn retain(&mut self, bucket: usize, keep: impl Fn(u32) -> bool) {
        let range = &mut self.ranges[bucket];
        let mut kept = range.start;
        for at in range.clone() {
            let member = self.members[at];
            if keep(self.numbers[member.place as usize]) {
                self.members[kept] = member;
                kept += 1;
            }
        }
        range.end = kept;
    }
}
