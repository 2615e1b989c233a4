//! Bands of sketches, for programs that join them themselves.

use crate::engine::{Analyser, Analysis};
use crate::scheme::{Key, ProbePlan, Threshold};

impl Analyser {
    /// How a lookup at the threshold probes and prunes; `None` if keys are not made of slots.
    pub fn band_plan(&self, threshold: Threshold) -> Option<ProbePlan> {
        self.scheme.bands().map(|bands| bands.plan(threshold))
    }

    /// The keys that such a lookup probes, one for each band.
    pub fn band_keys<'a>(
        &'a self,
        analysis: &'a Analysis,
        plan: &ProbePlan,
    ) -> impl Iterator<Item = Key> + 'a {
        self.scheme.keys(analysis.sketch.as_bytes(), plan.bands)
    }
}
