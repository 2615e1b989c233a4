//! Connects sets, bucket by bucket.
//!
//! A bucket has a list of its members. In turn, each group of sets that are connected already is
//! taken off the list, and each set of the group is compared with the remaining members. If a
//! remaining member is a pair with it, the member is taken off with its own group, and the sets of
//! that group are compared in the same way. So connected sets are never compared with each other,
//! and a bucket of near-copies costs a comparison for each copy.

use super::check::Subject;
use super::clusters::DisjointSets;
use super::grouping::KeyedMember;
use super::reach::ReachTree;
use super::{Join, JoinError, JoinProgress, Sets};
use crate::scheme::SizeReach;

/// The connected sets so far.
pub(super) struct Connecting<'j> {
    join: &'j Join<'j>,
    forest: DisjointSets,
    /// The cost of each set's unsuccessful comparisons by elements; empty if no set is compared by
    /// elements.
    unsuccessful: Vec<u64>,
    bucket: Bucket,
}

/// The members of a bucket, by their places in it.
#[derive(Default)]
struct Bucket {
    reaches: Vec<SizeReach>,
    /// The remaining members.
    left: ReachTree,
    /// The root of each place before the bucket was connected, and the place; sorted.
    groups: Vec<(u32, u32)>,
    /// The root of each place.
    roots: Vec<u32>,
    is_taken: Vec<bool>,
    /// The places of sets that are still to be compared with the remaining members.
    queue: Vec<u32>,
}

impl Bucket {
    fn fill(
        &mut self,
        members: &[KeyedMember],
        by_key: bool,
        forest: &mut DisjointSets,
        sets: &impl Sets,
    ) {
        let reach = |KeyedMember { member, .. }: &KeyedMember| match by_key {
            true => SizeReach::of_key(member.most),
            false => SizeReach { size: sets.shingles(member.set) as u32, most: member.most },
        };
        self.reaches.clear();
        self.reaches.extend(members.iter().map(reach));
        self.roots.clear();
        self.roots.extend(members.iter().map(|keyed| forest.root(keyed.member.set)));
        self.is_taken.clear();
        self.is_taken.resize(members.len(), false);
    }

    /// Whether all sets are connected already.
    fn is_connected(&self) -> bool {
        self.roots.windows(2).all(|roots| roots[0] == roots[1])
    }

    fn list(&mut self) {
        self.left.fill(self.reaches.iter().copied());
        self.groups.clear();
        self.groups.extend(self.roots.iter().copied().zip(0..));
        self.groups.sort_unstable();
    }

    /// Takes the group of a place off the list and puts it into the queue.
    fn take(&mut self, place: usize) {
        let root = self.roots[place];
        let first = self.groups.partition_point(|group| group.0 < root);
        for (_, place) in self.groups[first..].iter().take_while(|group| group.0 == root) {
            self.left.remove(*place as usize);
            self.is_taken[*place as usize] = true;
            self.queue.push(*place);
        }
    }
}

impl<'j> Connecting<'j> {
    pub fn new(join: &'j Join<'_>, sets: u32) -> Self {
        let by_elements = join.keys.tables() > join.keys.key_tables();
        let unsuccessful = vec![0; if by_elements { sets as usize } else { 0 }];
        Self { join, forest: DisjointSets::new(sets), unsuccessful, bucket: Bucket::default() }
    }

    pub fn forest(self) -> DisjointSets {
        self.forest
    }

    /// Connects the members of a bucket. `by_key`: the bucket is of a key of a scheme.
    pub fn connect<S: Sets>(
        &mut self,
        members: &[KeyedMember],
        by_key: bool,
        sets: &mut S,
        progress: &JoinProgress,
    ) -> Result<(), JoinError<S::Error>> {
        self.bucket.fill(members, by_key, &mut self.forest, sets);
        if self.bucket.is_connected() {
            return Ok(());
        }
        self.bucket.list();
        for place in 0..members.len() {
            if self.bucket.is_taken[place] {
                continue;
            }
            self.bucket.take(place);
            while let Some(place) = self.bucket.queue.pop() {
                self.connect_one(place as usize, members, by_key, sets, progress)?;
            }
        }
        Ok(())
    }

    /// Compares the set at a place with the remaining members, and takes its pairs off the list.
    fn connect_one<S: Sets>(
        &mut self,
        place: usize,
        members: &[KeyedMember],
        by_key: bool,
        sets: &mut S,
        progress: &JoinProgress,
    ) -> Result<(), JoinError<S::Error>> {
        let Self { join, forest, unsuccessful, bucket } = self;
        let (check, set) = (&join.check, members[place].member.set);
        let (mut subject, mut from) = (Subject::new(set), 0);
        while let Some(next) = bucket.left.next(from, bucket.reaches[place]) {
            from = next + 1;
            progress.go_on()?;
            check.effort.add_visited(1);
            let other = members[next].member.set;
            let pair = if by_key {
                check.pair(&mut subject, other, sets)?
            } else {
                let unsuccessful = &mut unsuccessful[set as usize];
                if check.effort.ends(unsuccessful, set, other) {
                    return Ok(());
                }
                check.pair_of_crowd(&mut subject, other, unsuccessful, sets)?
            };
            if pair.is_some() {
                forest.connect(set, other);
                bucket.take(next);
            }
        }
        Ok(())
    }
}
