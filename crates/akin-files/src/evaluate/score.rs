//! Counts by resemblance, and the precision and recall at a threshold.

use std::collections::BTreeMap;

use serde::Serialize;

/// A number of pairs, and of the known pairs among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PairCounts {
    pub pairs: u64,
    pub right: u64,
}

/// Pairs by their resemblance: an entry for each distinct value.
#[derive(Debug, Default)]
pub struct Scores {
    /// Resemblances are not negative, so their bits are in their order.
    by_resemblance: BTreeMap<u64, PairCounts>,
}

/// The counts at and over each resemblance, highest first.
#[derive(Debug)]
pub struct ScoredPairs {
    reached: Vec<(f64, PairCounts)>,
    gold: u64,
}

/// Precision and recall at a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Row {
    pub threshold: f64,
    /// Pairs at or over the threshold.
    pub pairs: u64,
    /// The known pairs among them.
    pub right: u64,
    /// The known pairs that are missing.
    pub missing: u64,
    /// The pairs that are not known.
    pub extra: u64,
    pub precision: f64,
    pub recall: f64,
    pub f1: f64,
}

impl Scores {
    pub fn add(&mut self, resemblance: f64, counted: PairCounts) {
        let sum = self.by_resemblance.entry(resemblance.to_bits()).or_default();
        sum.pairs += counted.pairs;
        sum.right += counted.right;
    }

    /// `gold`: the number of known pairs.
    pub fn finish(self, gold: u64) -> ScoredPairs {
        let mut sum = PairCounts::default();
        let reached = |(bits, counted): (u64, PairCounts)| {
            sum.pairs += counted.pairs;
            sum.right += counted.right;
            (f64::from_bits(bits), sum)
        };
        ScoredPairs { reached: self.by_resemblance.into_iter().rev().map(reached).collect(), gold }
    }
}

impl ScoredPairs {
    pub fn at(&self, threshold: f64) -> Row {
        let reach = self.reached.partition_point(|(resemblance, _)| *resemblance >= threshold);
        let counted =
            reach.checked_sub(1).map_or_else(PairCounts::default, |at| self.reached[at].1);
        Row::new(threshold, counted, self.gold)
    }

    /// The highest F1; of equal values, at the highest threshold. `None` without a pair.
    pub fn best(&self) -> Option<Row> {
        let rows = self.reached.iter().map(|(at, counted)| Row::new(*at, *counted, self.gold));
        rows.reduce(|best, row| if row.f1 > best.f1 { row } else { best })
    }
}

impl Row {
    fn new(threshold: f64, PairCounts { pairs, right }: PairCounts, gold: u64) -> Self {
        let share =
            |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
        Self {
            threshold,
            pairs,
            right,
            missing: gold - right,
            extra: pairs - right,
            precision: share(right, pairs),
            recall: share(right, gold),
            f1: share(2 * right, pairs + gold),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scored() -> ScoredPairs {
        let mut scores = Scores::default();
        for (resemblance, pairs, right) in [(0.5, 10, 1), (1.0, 2, 2), (0.8, 2, 1)] {
            scores.add(resemblance, PairCounts { pairs, right });
        }
        scores.finish(5)
    }

    #[test]
    fn scores_at_the_threshold_count() {
        let row = scored().at(0.8);
        assert_eq!((row.pairs, row.right, row.missing, row.extra), (4, 3, 2, 1));
        assert_eq!((row.precision, row.recall), (0.75, 0.6));
        assert!((row.f1 - 6.0 / 9.0).abs() < 1e-12);
        assert_eq!(scored().at(0.81).pairs, 2);
        assert_eq!(scored().at(0.3).right, 4);
    }

    #[test]
    fn the_best_threshold_has_the_highest_f1() {
        assert_eq!(scored().best().unwrap().threshold, 0.8);
        assert_eq!(Scores::default().finish(5).best(), None);
    }
}
