//! Joins with the scheme of a collection's settings.

use crate::engine::{Analyser, Mode};
use crate::join::{Join, JoinError, Keys, Progress, Scoring, Sets};
use crate::scheme::{Scheme, Threshold};

impl Analyser {
    /// Joins sets by the keys of the scheme, or by their elements.
    pub(crate) fn join<S: Sets>(
        &self,
        sets: &mut S,
        (mode, threshold): (Mode, Threshold),
        progress: &Progress,
    ) -> Result<Join<'_>, JoinError<S::Error>> {
        let judged = (self.estimator, threshold);
        let scoring = match mode {
            _ if self.joins_by_elements(mode) => {
                return Join::exact(judged, sets, progress);
            }
            Mode::Estimated => Scoring::Estimated,
            Mode::Exact | Mode::Verified => Scoring::Verified,
        };
        let plan = self.scheme.plan(threshold);
        let value = |sketch: &[u8], table| self.scheme.value(sketch, table);
        let keys = Keys { tables: plan.bands, value, agreeing_min: plan.agreeing_min };
        Ok(Join::by_keys(keys, judged, scoring))
    }

    /// The chance that a pair at just the threshold is found.
    pub(crate) fn expected_recall(&self, mode: Mode, threshold: Threshold) -> f64 {
        let plan = self.scheme.plan(threshold);
        match mode {
            _ if self.joins_by_elements(mode) => 1.0,
            Mode::Estimated => plan.expected_recall_estimated,
            Mode::Exact | Mode::Verified => plan.expected_recall,
        }
    }

    /// Prefix schemes have no keys of sketches, so every mode joins by elements.
    fn joins_by_elements(&self, mode: Mode) -> bool {
        mode == Mode::Exact || matches!(self.scheme, Scheme::Prefix(_))
    }
}
