//! Discovery: all pairs and clusters of a corpus, without I/O.
//!
//! A [`CorpusBuilder`] builds, from documents pushed one by one, a [`Corpus`] of distinct sets and
//! the [`Documents`] of each. Sets are numbered in the byte order of their smallest ids, so that
//! results do not depend on the order in which documents arrive.
//!
//! A [`Join`] compares sets that share a key: one of a scheme ([`Join::by_keys`], with the scheme's
//! recall) or one of their rarest elements ([`Join::exact`], with full recall). [`Join::pairs`]
//! visits every pair once; its memory grows with the number of sets and keys, never with the number
//! of pairs. [`Join::clusters`] groups the sets, in the memory given by [`Join::within`] and four
//! bytes a set: what does not fit is read again, part by part.

mod buckets;
mod builder;
mod check;
mod clusters;
mod corpus;
mod counts;
mod filing;
mod grouping;
mod pairs;
mod progress;
mod representatives;

pub use builder::{CorpusBuilder, Documents, PushedSet};
pub use check::{Pair, Scoring};
pub(crate) use clusters::Forest;
pub use clusters::{Linkage, cluster_name};
pub use corpus::{Corpus, Sets};
pub use progress::{JoinError, Progress, Stage, Stopped};

use crate::scheme::Threshold;
use crate::sketch::Estimator;
use check::PairCheck;
use counts::Counts;
use filing::Filing;

/// How the sets of a corpus are compared.
pub struct Join<'k> {
    check: PairCheck,
    filing: Filing<'k>,
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
    /// The key of a sketch in a table, if it has one.
    pub value: V,
    /// Sets whose sketches agree in fewer slots are not verified.
    pub agreeing_min: u32,
}

impl<'k> Join<'k> {
    /// Compares sets that share a key.
    pub fn by_keys(
        keys: Keys<impl Fn(&[u8], u32) -> Option<u32> + 'k>,
        (estimator, threshold): (Estimator, Threshold),
        scoring: Scoring,
    ) -> Self {
        let Keys { tables, value, agreeing_min } = keys;
        let check = PairCheck { estimator, threshold: threshold.get(), scoring, agreeing_min };
        let filing = Filing::Keys { tables, value: Box::new(value) };
        Self { check, filing, protected: 0, memory: usize::MAX }
    }

    /// Leaves each of the first sets a representative of its own, so that every further set is
    /// compared with all of them.
    #[must_use]
    pub fn protecting(self, sets: u32) -> Self {
        Self { protected: sets, ..self }
    }

    /// Lets clustering take so many bytes for keys.
    #[must_use]
    pub fn within(self, memory: usize) -> Self {
        Self { memory: memory.max(1), ..self }
    }

    /// Compares sets that share one of their rarest elements, as two sets whose resemblance reaches
    /// the threshold do. Reads all sets.
    ///
    /// # Errors
    /// [`JoinError::Stopped`], and errors of reading the sets.
    pub fn exact<S: Sets>(
        (estimator, threshold): (Estimator, Threshold),
        sets: &mut S,
        progress: &Progress,
    ) -> Result<Self, JoinError<S::Error>> {
        let filing = Filing::Prefixes { threshold, counts: Counts::of(sets, progress)? };
        let (threshold, scoring) = (threshold.get(), Scoring::Verified);
        let check = PairCheck { estimator, threshold, scoring, agreeing_min: 0 };
        Ok(Self { check, filing, protected: 0, memory: usize::MAX })
    }
}

#[cfg(test)]
mod tests;
