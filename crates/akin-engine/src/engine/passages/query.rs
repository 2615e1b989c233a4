//! The options of a search for passages.

use akin_core::passages::{PassageComparison, WordShare};
use akin_model::passages::ContainedOf;

use crate::engine::Conditions;

/// Which matches a search for passages returns.
#[derive(Clone, Debug)]
pub struct PassageQuery {
    /// The fewest equal words of a passage; by default the guaranteed length.
    pub words_min: Option<usize>,
    /// The least containment of a match.
    pub containment_min: f64,
    pub of: ContainedOf,
    /// Matches reported, at most.
    pub limit: usize,
    /// Matches left out before the first that is reported.
    pub offset: usize,
    pub conditions: Conditions,
    /// Whether matches have their metadata.
    pub metadata: bool,
}

impl Default for PassageQuery {
    fn default() -> Self {
        Self {
            words_min: None,
            containment_min: 0.0,
            of: ContainedOf::Probe,
            limit: 20,
            offset: 0,
            conditions: Conditions::default(),
            metadata: false,
        }
    }
}

/// The words of the text of which the containment is wanted.
pub(super) fn share(of: ContainedOf, comparison: &PassageComparison) -> WordShare {
    match of {
        ContainedOf::Probe => comparison.of_probe,
        ContainedOf::Match => comparison.of_match,
    }
}
