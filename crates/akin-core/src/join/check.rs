//! Checks whether two sets are a pair.

use super::effort::Effort;
use super::{JoinError, Sets};
use crate::measure::Overlap;
use crate::sketch::Estimator;
use crate::text::ShingleSet;

/// How pairs are scored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairScoring {
    /// By the exact resemblance.
    Verified,
    /// By the estimate from the sketches.
    Estimated,
}

/// Two sets at or above the threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// The lower number of the two.
    pub a: u32,
    /// The higher number of the two.
    pub b: u32,
    /// Number of slots in which the sketches agree.
    pub agreeing: u32,
    /// Only with [`PairScoring::Verified`].
    pub overlap: Option<Overlap>,
}

#[derive(Debug)]
pub(super) struct PairCheck {
    pub estimator: Estimator,
    pub threshold: f64,
    pub scoring: PairScoring,
    pub agreeing_min: u32,
    /// The resemblance from which sets of crowds are compared.
    pub crowds_from: f64,
    pub effort: Effort,
}

/// The set for which neighbours are searched; it is read once, when it is first needed.
pub(super) struct Subject {
    number: u32,
    sketch: Vec<u8>,
    set: Option<ShingleSet>,
}

impl Subject {
    pub fn new(number: u32) -> Self {
        Self { number, sketch: Vec::new(), set: None }
    }

    fn sketch<S: Sets>(&mut self, sets: &mut S) -> Result<&[u8], JoinError<S::Error>> {
        if self.sketch.is_empty() {
            let sketch = sets.sketch(self.number).map_err(JoinError::Sets)?;
            self.sketch.extend_from_slice(sketch);
        }
        Ok(&self.sketch)
    }

    fn read<S: Sets>(&mut self, sets: &mut S) -> Result<&ShingleSet, JoinError<S::Error>> {
        let set = match self.set.take() {
            Some(set) => set,
            None => sets.set(self.number).map_err(JoinError::Sets)?,
        };
        Ok(self.set.insert(set))
    }
}

impl PairCheck {
    /// As [`Self::pair`], for sets that share elements. Their exact resemblance must reach the
    /// threshold of crowds even where pairs are scored by estimates. Adds the cost of an
    /// unsuccessful comparison to `unsuccessful`.
    ///
    /// # Errors
    /// Errors of reading the sets.
    pub fn pair_of_crowd<S: Sets>(
        &self,
        subject: &mut Subject,
        other: u32,
        unsuccessful: &mut u64,
        sets: &mut S,
    ) -> Result<Option<Pair>, JoinError<S::Error>> {
        let before = self.effort.units();
        let mut pair = self.pair(subject, other, sets)?;
        if pair.is_some() && self.scoring == PairScoring::Estimated {
            self.effort.add_verified();
            let theirs = sets.set(other).map_err(JoinError::Sets)?;
            let ours = subject.read(sets)?;
            pair = pair.filter(|_| Overlap::reaching(ours, &theirs, self.crowds_from).is_some());
        }
        if pair.is_none() {
            *unsuccessful += self.effort.units() - before;
        }
        Ok(pair)
    }

    /// Whether sets of these sizes can be a pair.
    #[inline]
    pub fn can_reach(&self, a: usize, b: usize) -> bool {
        self.scoring == PairScoring::Estimated || Overlap::can_reach(a, b, self.threshold)
    }

    /// The number of slots in which the sketches agree, if the sets are near-duplicates by their
    /// sketches. With [`PairScoring::Verified`] the sets are to be compared then.
    ///
    /// # Errors
    /// Errors of reading the sketches.
    pub fn agreeing<S: Sets>(
        &self,
        subject: &mut Subject,
        other: u32,
        sets: &mut S,
    ) -> Result<Option<u32>, JoinError<S::Error>> {
        if !self.can_reach(sets.shingles(subject.number), sets.shingles(other)) {
            return Ok(None);
        }
        self.effort.add_compared();
        let ours = subject.sketch(sets)?;
        let theirs = sets.sketch(other).map_err(JoinError::Sets)?;
        let agreeing = self.estimator.agreeing(ours, theirs);
        let is_near = match self.scoring {
            PairScoring::Estimated => self.estimator.estimate(agreeing).value >= self.threshold,
            PairScoring::Verified => agreeing >= self.agreeing_min,
        };
        Ok(is_near.then_some(agreeing))
    }

    /// The pair, if the two sets are near-duplicates.
    ///
    /// # Errors
    /// Errors of reading the sets.
    pub fn pair<S: Sets>(
        &self,
        subject: &mut Subject,
        other: u32,
        sets: &mut S,
    ) -> Result<Option<Pair>, JoinError<S::Error>> {
        let (a, b) = (subject.number.min(other), subject.number.max(other));
        let Some(agreeing) = self.agreeing(subject, other, sets)? else { return Ok(None) };
        if self.scoring == PairScoring::Estimated {
            return Ok(Some(Pair { a, b, agreeing, overlap: None }));
        }
        self.effort.add_verified();
        let theirs = sets.set(other).map_err(JoinError::Sets)?;
        let ours = subject.read(sets)?;
        let (a_set, b_set) = if other == b { (ours, &theirs) } else { (&theirs, ours) };
        let overlap = Overlap::reaching(a_set, b_set, self.threshold);
        Ok(overlap.map(|overlap| Pair { a, b, agreeing, overlap: Some(overlap) }))
    }
}
