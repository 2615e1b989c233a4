//! Bands of sketches, for programs that compute the join.

use crate::engine::{Analyser, Analysis};
use akin_core::scheme::{Key, ProbePlan, Threshold};

impl Analyser {
    /// The probe plan of a lookup at the threshold; `None` if keys are not made of slots.
    pub fn band_plan(&self, threshold: Threshold) -> Option<ProbePlan> {
        self.joining.bands().map(|bands| bands.plan(threshold))
    }

    /// The keys that a lookup with this plan probes, one key for each band.
    pub fn band_keys<'a>(
        &'a self,
        analysis: &'a Analysis,
        plan: &ProbePlan,
    ) -> impl Iterator<Item = Key> + 'a {
        self.joining.keys(analysis.sketch.as_bytes(), plan.bands)
    }
}
