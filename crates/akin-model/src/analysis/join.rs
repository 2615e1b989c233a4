//! Joins with the scheme of a collection's settings.

use super::{Analyser, Mode};
use akin_core::join::{Join, JoinError, JoinProgress, Keys, PairScoring, Sets};
use akin_core::scheme::{Scheme, Threshold};

/// More than the rounding error of a division, so that no pair at the threshold is lost.
const ROUNDING: f64 = 1e-9;

impl Analyser {
    /// Joins sets by the keys of the scheme, or by their elements.
    ///
    /// # Errors
    /// The first error of the sets, or the end of the work by `stop`.
    pub fn join<S: Sets>(
        &self,
        sets: &mut S,
        (mode, threshold): (Mode, Threshold),
        progress: &JoinProgress,
    ) -> Result<Join<'_>, JoinError<S::Error>> {
        if self.joins_by_elements(mode) {
            return Join::exact((self.estimator, threshold), sets, progress);
        }
        let judged = (self.estimator, threshold);
        Join::by_keys(self.join_keys(threshold), judged, scoring(mode), sets, progress)
    }

    /// Whether [`Self::join`] may read each set, by number. Reads sketches only. `memory`: the
    /// most bytes of the keys.
    ///
    /// # Errors
    /// The first error of the sets, or the end of the work by `stop`.
    pub fn sets_to_read<S: Sets>(
        &self,
        (sets, memory): (&mut S, usize),
        (mode, threshold): (Mode, Threshold),
        progress: &JoinProgress,
    ) -> Result<Vec<bool>, JoinError<S::Error>> {
        if self.joins_by_elements(mode) {
            return Ok(vec![true; sets.count() as usize]);
        }
        let (keys, judged) = (self.join_keys(threshold), (self.estimator, threshold));
        Join::sets_to_read(keys, judged, scoring(mode), (sets, memory), progress)
    }

    fn join_keys(&self, threshold: Threshold) -> Keys<impl Fn(&[u8], u32) -> Option<u32> + '_> {
        let plan = self.joining.plan(threshold);
        Keys {
            tables: plan.bands,
            value: |sketch: &[u8], table| self.joining.value(sketch, table),
            agreeing_min: plan.agreeing_min,
            crowds_from: self.resemblance_from(threshold),
        }
    }

    /// The resemblance of sets at the threshold. Of foreign signatures it is not the share of equal
    /// values m / k: their sets have an element for each value, so they share m of 2k − m.
    fn resemblance_from(&self, threshold: Threshold) -> Threshold {
        let share = threshold.get();
        match self.takes_signatures() {
            true => Threshold::new(share / (2.0 - share) * (1.0 - ROUNDING)).unwrap_or(threshold),
            false => threshold,
        }
    }

    /// The chance that a pair at just the threshold is found.
    pub fn expected_recall(&self, mode: Mode, threshold: Threshold) -> f64 {
        let plan = self.joining.plan(threshold);
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

fn scoring(mode: Mode) -> PairScoring {
    match mode {
        Mode::Estimated => PairScoring::Estimated,
        Mode::Exact | Mode::Verified => PairScoring::Verified,
    }
}
