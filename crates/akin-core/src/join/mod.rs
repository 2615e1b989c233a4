//! Discovery: all near-duplicate pairs and clusters of a corpus, without I/O.
//!
//! A [`CorpusBuilder`] builds, from documents pushed one by one, a [`Corpus`] of distinct sets and
//! the [`Documents`] of each. Sets are numbered in the byte order of their smallest ids, so that
//! results do not depend on the order in which documents arrive.
//!
//! A [`Join`] compares sets that share a key of a scheme ([`Join::by_keys`], with the scheme's
//! recall) or a rare element ([`Join::exact`], with full recall). [`Join::pairs`] visits every pair
//! once; its memory grows with the number of sets and keys, never with the number of pairs.
//! [`Join::clusters`] groups the sets, in the memory given by [`Join::within`] and some bytes a
//! set: if the keys do not fit, it reads the sets again for each part of the keys.
//!
//! The cost of a template's documents does not grow with the square of their number. Where more
//! than 32 sets share a key of a scheme, they are compared by their rarest elements instead
//! (`crowds`). The position of a shared element in both sets bounds the sets that are visited
//! (`reach`). Connected sets are skipped together. A set with too many unsuccessful comparisons is
//! compared no further, unless the join is exact ([`Join::left_out`]).

mod block;
mod buckets;
mod builder;
mod check;
mod clusters;
mod corpus;
mod counts;
mod crowds;
mod effort;
mod grouping;
mod keys;
mod pairs;
mod progress;
mod reach;
mod representatives;
mod single;

pub use builder::{CorpusBuilder, Documents, PushedSet};
pub use check::{Pair, PairScoring};
pub use clusters::{DisjointSets, Linkage, cluster_name};
pub use corpus::{Corpus, Sets};
pub use effort::{LeftOut, Steps};
pub use progress::{JoinError, JoinProgress, Stage, Stopped};

use crate::scheme::Threshold;
use crate::sketch::Estimator;
use check::{PairCheck, Subject};
use crowds::Crowds;
use effort::Effort;
use grouping::KeyedMember;
use keys::{ByKeys, JoinKeys};

/// How the sets of a corpus are compared.
pub struct Join<'k> {
    check: PairCheck,
    keys: JoinKeys<'k>,
    /// Sets with lower numbers never become members of a cluster by representative.
    protected: u32,
    /// Bytes that keys may take while sets are clustered.
    memory: usize,
}

/// The keys by which sets are compared.
#[derive(Clone, Copy, Debug)]
pub struct Keys<V> {
    /// Number of keys per set, each in its own table.
    pub tables: u32,
    /// The value of a sketch's key in a table; `None` for a sketch without a key there.
    pub value: V,
    /// Sets with sketches that agree in fewer slots are not verified.
    pub agreeing_min: u32,
    /// Two sets of crowds are compared if their resemblance may reach this threshold.
    pub crowds_from: Threshold,
}

impl<'k> Join<'k> {
    /// Compares sets that share a key, and the sets of crowds by their elements. Reads all
    /// sketches, and the sets of crowds.
    ///
    /// # Errors
    /// [`JoinError::Stopped`], and errors of reading sets and sketches.
    pub fn by_keys<S: Sets>(
        keys: Keys<impl Fn(&[u8], u32) -> Option<u32> + 'k>,
        judged: (Estimator, Threshold),
        scoring: PairScoring,
        sets: &mut S,
        progress: &JoinProgress,
    ) -> Result<Self, JoinError<S::Error>> {
        let crowds_from = keys.crowds_from;
        let mut join = Self::by_sketches(keys, judged, scoring, sets, progress)?;
        join.keys.add_elements_of_crowds(crowds_from, sets, progress)?;
        Ok(join)
    }

    /// Whether a join by these keys may read each set, by number: the set is in a crowd, or shares
    /// a key with a set that has a similar sketch. Reads sketches only; `memory` is as in
    /// [`Self::within`].
    ///
    /// # Errors
    /// [`JoinError::Stopped`], and errors of reading the sketches.
    pub fn sets_to_read<S: Sets>(
        keys: Keys<impl Fn(&[u8], u32) -> Option<u32> + 'k>,
        judged: (Estimator, Threshold),
        scoring: PairScoring,
        (sets, memory): (&mut S, usize),
        progress: &JoinProgress,
    ) -> Result<Vec<bool>, JoinError<S::Error>> {
        let join = Self::by_sketches(keys, judged, scoring, sets, progress)?.within(memory);
        let mut is_read = join.keys.are_crowded(sets.count());
        join.each_bucket(sets, progress, |members, _, sets| {
            for (at, KeyedMember { member, .. }) in members.iter().enumerate() {
                let mut subject = Subject::new(member.set);
                for KeyedMember { member: other, .. } in &members[at + 1..] {
                    let [a, b] = [member.set, other.set].map(|set| set as usize);
                    if !(is_read[a] && is_read[b])
                        && join.check.agreeing(&mut subject, other.set, sets)?.is_some()
                    {
                        (is_read[a], is_read[b]) = (true, true);
                    }
                }
            }
            Ok(())
        })?;
        Ok(is_read)
    }

    /// A join in which the sets of crowds have no keys yet.
    fn by_sketches<S: Sets>(
        keys: Keys<impl Fn(&[u8], u32) -> Option<u32> + 'k>,
        (estimator, threshold): (Estimator, Threshold),
        scoring: PairScoring,
        sets: &mut S,
        progress: &JoinProgress,
    ) -> Result<Self, JoinError<S::Error>> {
        let Keys { tables, value, agreeing_min, crowds_from } = keys;
        let check = PairCheck {
            estimator,
            threshold: threshold.get(),
            scoring,
            agreeing_min,
            crowds_from: crowds_from.get(),
            effort: Effort::bounded(),
        };
        let crowds = Crowds::of(tables, &value, sets, progress)?;
        let keys = JoinKeys::by_keys(ByKeys { tables, value: Box::new(value), crowds });
        Ok(Self { check, keys, protected: 0, memory: usize::MAX })
    }

    /// Leaves each of the first sets a representative of its own, so that every further set is
    /// compared with all of them.
    #[must_use]
    pub fn protecting(self, sets: u32) -> Self {
        Self { protected: sets, ..self }
    }

    /// Limits the bytes that clustering takes for keys.
    #[must_use]
    pub fn within(self, memory: usize) -> Self {
        Self { memory: memory.max(1), ..self }
    }

    /// Compares sets that share one of their rarest elements. Any two sets at the threshold share a
    /// rare element. Reads all sets.
    ///
    /// # Errors
    /// [`JoinError::Stopped`], and errors of reading the sets.
    pub fn exact<S: Sets>(
        (estimator, threshold): (Estimator, Threshold),
        sets: &mut S,
        progress: &JoinProgress,
    ) -> Result<Self, JoinError<S::Error>> {
        let keys = JoinKeys::by_elements(threshold, sets, progress)?;
        let check = PairCheck {
            estimator,
            threshold: threshold.get(),
            scoring: PairScoring::Verified,
            agreeing_min: 0,
            crowds_from: threshold.get(),
            effort: Effort::unbounded(),
        };
        Ok(Self { check, keys, protected: 0, memory: usize::MAX })
    }

    /// The steps so far.
    pub fn steps(&self) -> Steps {
        self.check.effort.steps()
    }

    /// The sets that were not compared with all their candidates; none in an exact join.
    pub fn left_out(&self) -> LeftOut {
        self.check.effort.left_out()
    }
}

#[cfg(test)]
mod tests;
