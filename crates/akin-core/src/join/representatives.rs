//! Clusters by representative, in blocks that fit into memory.
//!
//! In the order of their numbers, each set joins the first representative that it is a pair with,
//! or becomes a representative. So each set need only be compared with representatives. If not all
//! representatives fit into memory, the sets are read again for each block of representatives: a
//! set after the last representative of the block, near no representative of the block, is
//! undecided until a later block.

use super::block::{ListSearch, NearRepresentative, RepresentativeBlock};
use super::check::{Pair, Subject};
use super::keys::JoinKey;
use super::{Join, JoinError, JoinProgress, Sets, Stage};

const UNDECIDED: u32 = u32::MAX;

/// The representatives so far.
struct Deciding {
    representatives: Vec<u32>,
    /// The cost of each set's unsuccessful comparisons by elements.
    unsuccessful: Vec<u64>,
}

/// The representatives that share keys with a set, in the order of their numbers.
#[derive(Default)]
struct RepresentativeCandidates<'b> {
    near: Vec<NearRepresentative>,
    searches: Vec<ListSearch<'b>>,
}

/// The pair with the lowest candidate, and the allocation of the candidates.
type FirstPair = (Option<Pair>, Vec<NearRepresentative>);

impl Join<'_> {
    /// The representative of each set, as [`Self::clusters`] finds them by
    /// [`Linkage::Representative`](super::Linkage::Representative). Visits, for each set that
    /// joins a representative, the pair of the two: `b` is the set, `a` the representative.
    ///
    /// # Errors
    /// [`JoinError::Stopped`], and errors of reading the sets.
    pub fn representatives<S: Sets>(
        &self,
        sets: &mut S,
        progress: &JoinProgress,
        mut joins: impl FnMut(&Pair),
    ) -> Result<Vec<u32>, JoinError<S::Error>> {
        let count = sets.count() as usize;
        progress.begin(Stage::Joining, count as u64);
        let by_elements = self.keys.tables() > self.keys.key_tables();
        let mut deciding = Deciding {
            representatives: vec![UNDECIDED; count],
            unsuccessful: vec![0; if by_elements { count } else { 0 }],
        };
        let mut first = 0;
        let is_undecided = |representative: &u32| *representative == UNDECIDED;
        while let Some(behind) = deciding.representatives[first..].iter().position(is_undecided) {
            first += behind;
            self.decide(first as u32, &mut deciding, sets, progress, &mut joins)?;
        }
        Ok(deciding.representatives)
    }

    /// Fills a block with representatives from `first` on, and decides the sets near a
    /// representative.
    fn decide<S: Sets>(
        &self,
        first: u32,
        deciding: &mut Deciding,
        sets: &mut S,
        progress: &JoinProgress,
        joins: &mut impl FnMut(&Pair),
    ) -> Result<(), JoinError<S::Error>> {
        let tables = self.keys.tables();
        let mut block = RepresentativeBlock::new(&self.keys, self.memory, sets);
        let (mut keys, mut near) = (Vec::new(), Vec::new());
        for number in first..sets.count() {
            progress.go_on()?;
            if deciding.representatives[number as usize] != UNDECIDED {
                continue;
            }
            keys.clear();
            self.keys.visit(number, 0..tables, sets, |key| keys.push(key))?;
            let mut found = None;
            if number >= self.protected {
                let candidates = RepresentativeCandidates::of(near, &block, number, &keys, sets);
                let pair;
                (pair, near) = self.first_pair(
                    number,
                    candidates,
                    &mut deciding.unsuccessful,
                    sets,
                    progress,
                )?;
                pair.iter().for_each(&mut *joins);
                found = pair.map(|pair| pair.a);
            }
            if found.is_none() && block.takes(number, &keys, sets) {
                found = Some(number);
            }
            if let Some(representative) = found {
                deciding.representatives[number as usize] = representative;
                progress.advance(1)?;
            }
        }
        Ok(())
    }

    /// The lowest of the candidates that is a pair with this set; and the allocation of the
    /// candidates.
    fn first_pair<S: Sets>(
        &self,
        number: u32,
        mut candidates: RepresentativeCandidates<'_>,
        unsuccessful: &mut [u64],
        sets: &mut S,
        progress: &JoinProgress,
    ) -> Result<FirstPair, JoinError<S::Error>> {
        let mut subject = Subject::new(number);
        let mut found = None;
        while let Some(NearRepresentative { number: other, by_elements }) = candidates.next() {
            progress.go_on()?;
            self.check.effort.add_visited(1);
            let pair = if by_elements {
                let unsuccessful = &mut unsuccessful[number as usize];
                if self.check.effort.ends(unsuccessful, number, other) {
                    candidates.leave_elements();
                    continue;
                }
                self.check.pair_of_crowd(&mut subject, other, unsuccessful, sets)?
            } else {
                self.check.pair(&mut subject, other, sets)?
            };
            if pair.is_some() {
                found = pair;
                break;
            }
        }
        Ok((found, candidates.near))
    }
}

impl<'b> RepresentativeCandidates<'b> {
    /// `near`: an allocation to reuse for the candidates.
    fn of(
        mut near: Vec<NearRepresentative>,
        block: &'b RepresentativeBlock,
        number: u32,
        keys: &[JoinKey],
        sets: &impl Sets,
    ) -> Self {
        near.clear();
        let mut searches = Vec::new();
        block.visit(keys, (number, sets), &mut near, &mut searches);
        // Of equal numbers, the entry that shares a key of a scheme comes first and stays.
        near.sort_unstable();
        near.dedup_by_key(|near| near.number);
        near.reverse();
        Self { near, searches }
    }

    /// The next candidate in the order of numbers.
    fn next(&mut self) -> Option<NearRepresentative> {
        let listed = self.searches.iter().map(ListSearch::number).min();
        let listed = listed.map(|number| NearRepresentative { number, by_elements: true });
        let next = self.near.last().copied().into_iter().chain(listed).min()?;
        self.near.pop_if(|near| near.number == next.number);
        self.searches.retain_mut(|search| search.number() != next.number || search.advance());
        Some(next)
    }

    /// Drops the candidates that share no key of a scheme.
    fn leave_elements(&mut self) {
        self.searches.clear();
        self.near.retain(|near| !near.by_elements);
    }
}
