//! Pairs of sets that a join finds.

use akin_core::join::Pair;
use akin_model::analysis::Analyser;

/// Two sets at or over the threshold, by their numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SetPair {
    pub a: u32,
    pub b: u32,
    /// Exact if known, else the estimate; for records, the score divided by the maximum.
    pub resemblance: f64,
}

impl SetPair {
    pub(super) fn of(pair: &Pair, analyser: &Analyser) -> Self {
        let estimate = || analyser.estimator.estimate(pair.agreeing).value;
        let resemblance = pair.overlap.map_or_else(estimate, |overlap| overlap.resemblance());
        Self { a: pair.a, b: pair.b, resemblance }
    }
}
