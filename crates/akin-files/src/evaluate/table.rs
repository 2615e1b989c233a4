//! The table of an evaluation.

use std::io::{self, Write};

use indicatif::HumanCount;

use super::EvaluatedPairs;
use super::score::Row;
use akin_core::scheme::Threshold;

/// Finer than any threshold that users choose: removes the error that binary fractions add to a sum
/// of steps, so that 0.3 and six steps of 0.05 are 0.6.
const FRACTION: f64 = 1e9;

/// The thresholds to be shown.
pub fn thresholds(from: Threshold, step: Threshold, at: Option<Threshold>) -> Vec<f64> {
    if let Some(at) = at {
        return vec![at.get()];
    }
    let steps = ((1.0 - from.get()) / step.get() + 1e-6) as u32;
    let nth = |n: u32| from.get() + f64::from(n) * step.get();
    (0..=steps).map(|n| (nth(n) * FRACTION).round() / FRACTION).collect()
}

pub fn write(out: &mut impl Write, evaluation: &EvaluatedPairs) -> io::Result<()> {
    writeln!(
        out,
        "{} documents, {} distinct sets, {} known pairs\n",
        HumanCount(evaluation.documents as u64),
        HumanCount(evaluation.distinct_sets.into()),
        HumanCount(evaluation.gold)
    )?;
    writeln!(
        out,
        "{:>9} {:>10} {:>9} {:>9} {:>10} {:>9} {:>7} {:>7}",
        "threshold", "pairs", "right", "missing", "extra", "precision", "recall", "f1"
    )?;
    evaluation.thresholds.iter().try_for_each(|row| write_row(out, row))?;
    let Some(best) = &evaluation.best else { return Ok(()) };
    writeln!(out, "\nbest")?;
    write_row(out, best)
}

fn write_row(out: &mut impl Write, row: &Row) -> io::Result<()> {
    writeln!(
        out,
        "{:>9.4} {:>10} {:>9} {:>9} {:>10} {:>9.4} {:>7.4} {:>7.4}",
        row.threshold,
        row.pairs,
        row.right,
        row.missing,
        row.extra,
        row.precision,
        row.recall,
        row.f1
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threshold_steps_are_exact_decimals() {
        let threshold = |value| Threshold::new(value).unwrap();
        let steps = thresholds(threshold(0.3), threshold(0.05), None);
        assert_eq!((steps.len(), steps[6], steps[14]), (15, 0.6, 1.0));
        assert_eq!(thresholds(threshold(0.3), threshold(0.05), Some(threshold(0.7))), [0.7]);
        assert_eq!(thresholds(threshold(0.5), threshold(0.3), None), [0.5, 0.8]);
    }
}
