//! Discovery: all pairs and clusters of a corpus, without I/O.
//!
//! A [`CorpusBuilder`] builds, from documents pushed one by one, a [`Corpus`] of distinct sets and
//! the [`Documents`] of each. Sets are numbered in the byte order of their smallest ids, so that
//! results do not depend on the order in which documents arrive.
//!
//! A [`Join`] puts the sets into **buckets**, so that similar sets share one: by the keys of a
//! scheme ([`Join::by_keys`], with the scheme's recall) or by their rarest elements
//! ([`Join::exact`], with full recall). [`Join::pairs`] then visits every pair once and
//! [`Join::clusters`] groups the sets. Memory grows with the number of sets and keys, never with
//! the number of pairs.

mod buckets;
mod builder;
mod check;
mod clusters;
mod corpus;
mod counts;
mod grouping;
mod pairs;
mod prefix;
mod progress;

pub use builder::{CorpusBuilder, Documents, PushedSet};
pub use check::{Pair, Scoring};
pub(crate) use clusters::Forest;
pub use clusters::{Linkage, cluster_name};
pub use corpus::{Corpus, Sets};
pub use progress::{JoinError, Progress, Stage, Stopped};

use crate::scheme::Threshold;
use crate::sketch::Estimator;
use buckets::Buckets;
use check::PairCheck;

/// A corpus in buckets.
#[derive(Debug)]
pub struct Join<'c> {
    check: PairCheck<'c>,
    buckets: Buckets,
    /// Sets with lower numbers never become members of a cluster by representative.
    protected: u32,
}

/// The keys by which sets are put into buckets.
#[derive(Clone, Copy, Debug)]
pub struct Keys<V> {
    /// Number of keys per set, each in its own table.
    pub tables: u32,
    /// The key of a sketch in a table, if it has one.
    pub value: V,
    /// Sets whose sketches agree in fewer slots are not verified.
    pub agreeing_min: u32,
}

impl<'c> Join<'c> {
    /// Creates a bucket for each key shared by several sets.
    ///
    /// # Errors
    /// [`Stopped`], if the join was cancelled.
    pub fn by_keys<V: Fn(&[u8], u32) -> Option<u32>>(
        corpus: &'c Corpus,
        keys: &Keys<V>,
        (estimator, threshold): (Estimator, Threshold),
        scoring: Scoring,
        progress: &Progress,
    ) -> Result<Self, Stopped> {
        let buckets = Buckets::by_keys(corpus, keys, progress)?;
        let agreeing_min = keys.agreeing_min;
        let check =
            PairCheck { corpus, estimator, threshold: threshold.get(), scoring, agreeing_min };
        Ok(Self { check, buckets, protected: 0 })
    }

    /// Leaves each of the first sets a representative of its own, so that every further set is
    /// compared with all of them.
    #[must_use]
    pub fn protecting(self, sets: u32) -> Self {
        Self { protected: sets, ..self }
    }

    /// Creates buckets by prefix: two sets whose resemblance reaches the threshold share one. Reads
    /// all sets twice.
    ///
    /// # Errors
    /// [`JoinError::Stopped`], and errors of reading the sets.
    pub fn exact<S: Sets>(
        corpus: &'c Corpus,
        (estimator, threshold): (Estimator, Threshold),
        sets: &mut S,
        progress: &Progress,
    ) -> Result<Self, JoinError<S::Error>> {
        let buckets = Buckets::by_prefix(corpus, threshold, sets, progress)?;
        let (threshold, scoring) = (threshold.get(), Scoring::Verified);
        let check = PairCheck { corpus, estimator, threshold, scoring, agreeing_min: 0 };
        Ok(Self { check, buckets, protected: 0 })
    }
}

#[cfg(test)]
mod tests;
