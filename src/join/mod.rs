//! Discovery: all pairs and clusters of a corpus, without I/O.
//!
//! A [`CorpusBuilder`] takes the documents one by one and makes a [`Corpus`] of distinct sets and
//! the [`Documents`] of each. Sets are numbered in the byte order of their smallest ids,
//! so that nothing here depends on the order in which documents arrived.
//!
//! A [`Join`] puts the sets into **buckets**, of which two sets that are near enough share one:
//! by the keys of a scheme ([`Join::by_keys`], as likely as the scheme promises) or by their rarest
//! elements ([`Join::exact`], without fail). [`Join::pairs`] then visits every pair once and
//! [`Join::clusters`] groups the sets. What it holds in memory grows with the sets and their keys,
//! never with the pairs.

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
}

/// The keys by which sets come into buckets.
#[derive(Clone, Copy, Debug)]
pub struct Keys<V> {
    /// Keys of a set, each in a table of its own.
    pub tables: u32,
    /// The key of a sketch in a table; `None` if it has none there.
    pub value: V,
    /// Sets whose sketches agree in fewer slots are not checked exactly.
    pub agreeing_min: u32,
}

impl<'c> Join<'c> {
    /// A bucket for each key that sets share.
    ///
    /// # Errors
    /// [`Stopped`], if progress was told to stop.
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
        Ok(Self { check, buckets })
    }

    /// Buckets by prefix: two sets whose resemblance reaches the threshold share one. Reads all
    /// sets twice.
    ///
    /// # Errors
    /// [`JoinError::Stopped`], and what reading the sets fails with.
    pub fn exact<S: Sets>(
        corpus: &'c Corpus,
        (estimator, threshold): (Estimator, Threshold),
        sets: &mut S,
        progress: &Progress,
    ) -> Result<Self, JoinError<S::Error>> {
        let buckets = Buckets::by_prefix(corpus, threshold, sets, progress)?;
        let (threshold, scoring) = (threshold.get(), Scoring::Verified);
        let check = PairCheck { corpus, estimator, threshold, scoring, agreeing_min: 0 };
        Ok(Self { check, buckets })
    }
}

#[cfg(test)]
mod tests;
