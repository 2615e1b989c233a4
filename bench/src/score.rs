//! What was found against what there is.

use std::collections::HashSet;
use std::path::Path;

use crate::THRESHOLD;
use crate::corpus::FlatSets;
use crate::found::Found;
use crate::outcome::Outcome;
use crate::truth::{FLOOR, Pair, Truth};

/// Points of an S-curve, each of pairs whose resemblances differ by less than this.
const STEP: f64 = 0.02;

/// A point of fewer pairs says nothing.
const PAIRS_MIN: usize = 20;

/// Puts recall, precision and the S-curve into an outcome.
pub fn score(outcome: &mut Outcome, truth: &Truth, file: &Path) {
    let found = Found::read(file).sorted();
    let is_found = |pair: &&Pair| found.binary_search(&(pair.a, pair.b)).is_ok();
    let near = || truth.pairs.iter().filter(|pair| pair.resemblance >= THRESHOLD);
    let unequal = || near().filter(|pair| pair.resemblance < 1.0);
    let right = near().filter(is_found).count();
    outcome.set("pairs", near().count() as f64);
    outcome.set("found", found.len() as f64);
    outcome.set("recall", share(right, near().count()));
    outcome.set("recall_unequal", share(unequal().filter(is_found).count(), unequal().count()));
    outcome.set("precision", share(right, found.len()));
    outcome.lines.insert("s_curve".to_owned(), s_curve(truth, is_found));
}

/// Puts into an outcome what the kept documents, u32 each in the file, leave and lose. A pair is
/// found if not both are kept. An orphan is removed although nothing kept is near it. A shingle is
/// lost if only removed documents have it. `by_words` is the truth by the words of the peers in
/// Python.
pub fn score_kept(
    outcome: &mut Outcome,
    (truth, by_words): (&Truth, Option<&Truth>),
    sets: &FlatSets,
    file: &Path,
) {
    let bytes = std::fs::read(file).expect("the participant wrote what it kept");
    let mut is_kept = vec![false; outcome.documents];
    for number in bytes.as_chunks::<4>().0 {
        is_kept[u32::from_le_bytes(*number) as usize] = true;
    }
    outcome.set("lost", lost(sets, &is_kept) as f64);
    for (truth, of) in [(Some(truth), ""), (by_words, "words_")] {
        let Some(truth) = truth else { continue };
        let near = || truth.pairs.iter().filter(|pair| pair.resemblance >= THRESHOLD);
        let unequal = || near().filter(|pair| pair.resemblance < 1.0);
        let both = |pair: &&Pair| is_kept[pair.a as usize] && is_kept[pair.b as usize];
        let missed = unequal().filter(both).count();
        let mut is_explained = is_kept.clone();
        for pair in near() {
            is_explained[pair.a as usize] |= is_kept[pair.b as usize];
            is_explained[pair.b as usize] |= is_kept[pair.a as usize];
        }
        let orphans = is_explained.iter().filter(|is| !**is).count();
        outcome.set(&format!("{of}recall_unequal"), 1.0 - share(missed, unequal().count()));
        outcome.set(&format!("{of}orphans"), orphans as f64);
    }
}

/// The number of distinct shingles that removed documents have and no kept document has.
fn lost(sets: &FlatSets, is_kept: &[bool]) -> usize {
    let of = |kept: bool| {
        let sets = sets.iter().zip(is_kept).filter(move |(_, is_kept)| **is_kept == kept);
        sets.flat_map(|(set, _)| set.iter().copied())
    };
    let mut removed: HashSet<u64> = of(false).collect();
    for shingle in of(true) {
        removed.remove(&shingle);
    }
    removed.len()
}

fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

/// The share of pairs that is found at each resemblance below 1.
fn s_curve(truth: &Truth, is_found: impl Fn(&&Pair) -> bool) -> Vec<[f64; 2]> {
    let steps = ((1.0 - FLOOR) / STEP).round() as usize;
    let mut tallies = vec![(0, 0, 0.0); steps];
    for pair in truth.pairs.iter().filter(|pair| pair.resemblance < 1.0) {
        let step = ((pair.resemblance - FLOOR) / STEP) as usize;
        let (all, hit, sum) = &mut tallies[step.min(steps - 1)];
        *all += 1;
        *hit += usize::from(is_found(&pair));
        *sum += pair.resemblance;
    }
    let told = tallies.into_iter().filter(|(all, ..)| *all >= PAIRS_MIN);
    told.map(|(all, hit, sum)| [sum / all as f64, share(hit, all)]).collect()
}
