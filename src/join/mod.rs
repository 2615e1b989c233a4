//! Discovery: all pairs and clusters of a corpus, without I/O.
//!
//! A [`Gathering`] takes the documents one by one and makes of them a [`Corpus`] of distinct sets
//! and the [`Documents`] behind each. Sets are numbered in the byte order of their smallest ids,
//! so that nothing here depends on the order in which documents arrived.
//!
//! A [`Join`] puts the sets into **buckets**, of which two sets that are near enough share one:
//! by the keys of a scheme ([`Join::by_keys`], as likely as the scheme promises) or by their rarest
//! elements ([`Join::exact`], without fail). [`Join::pairs`] then visits every pair once and
//! [`Join::clusters`] groups the sets. What it holds in memory grows with the sets and their keys,
//! never with the pairs.

mod buckets;
mod clusters;
mod corpus;
mod counts;
mod filing;
mod gathering;
mod judge;
mod pairs;
mod prefix;
mod progress;

pub use clusters::{Linkage, cluster_name};
pub use corpus::{Corpus, Sets};
pub use gathering::{Arrival, Documents, Gathering};
pub use judge::{Pair, Scoring};
pub use progress::{JoinError, Progress, Stage, Stopped};

use crate::scheme::Threshold;
use crate::sketch::Estimator;
use buckets::Buckets;
use judge::Judge;

/// A corpus in buckets, ready to be gone through.
#[derive(Debug)]
pub struct Join<'c> {
    judge: Judge<'c>,
    buckets: Buckets,
}

/// The keys by which sets meet.
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
    /// Sets meet that share a key.
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
        let judge = Judge { corpus, estimator, threshold: threshold.get(), scoring, agreeing_min };
        Ok(Self { judge, buckets })
    }

    /// Sets meet whenever they resemble each other as much as the threshold. Goes through all sets
    /// twice.
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
        let judge = Judge { corpus, estimator, threshold, scoring, agreeing_min: 0 };
        Ok(Self { judge, buckets })
    }
}

#[cfg(test)]
mod tests;
