//! `--across`: near-duplicates of different sources only.

use std::ops::ControlFlow;

use super::clusters::LEFT_OUT;
use crate::corpus::{Sources, with_progress};
use crate::failure::Failure;
use crate::offline::OfflineCorpus;
use akin_core::join::LeftOut;
use akin_core::scheme::Threshold;
use akin_model::analysis::Mode;

/// The kept documents of a set, as far as they can stand for others: the first, and the first of
/// another source.
type Kept = [u32; 2];

/// The representative of each document, by its number: the first near-duplicate that is kept and
/// has another source. Also says which sets were not compared with all their candidates.
///
/// # Errors
/// A temporary file cannot be read.
pub fn across(
    corpus: &mut OfflineCorpus,
    (mode, threshold): (Mode, Threshold),
    sources: &Sources<'_>,
    quiet: bool,
) -> Result<(Vec<u32>, LeftOut), Failure> {
    let mut pairs: Vec<(u32, u32)> = Vec::new();
    let left_out = with_progress(quiet, |progress| {
        corpus.pairs(mode, threshold, progress, |_, pair| {
            pairs.extend([(pair.a, pair.b), (pair.b, pair.a)]);
            ControlFlow::Continue(())
        })
    })?;
    pairs.sort_unstable();
    let documents = corpus.documents();
    let mut kept: Vec<Kept> = vec![[LEFT_OUT; 2]; corpus.sets() as usize];
    let mut of = vec![LEFT_OUT; documents.numbers() as usize];
    for number in documents.in_order().iter().copied() {
        let set = documents.set_of(number).expect("documents in order have sets");
        let source = sources.of(number);
        let is_other = |other: &u32| *other != LEFT_OUT && sources.of(*other) != source;
        let near = &pairs[pairs.partition_point(|pair| pair.0 < set)..];
        let near = near.iter().take_while(|pair| pair.0 == set).map(|pair| pair.1);
        let mut near = std::iter::once(set).chain(near).flat_map(|set| kept[set as usize]);
        let other = near.find(is_other).filter(|_| number >= corpus.first_new());
        of[number as usize] = other.unwrap_or(number);
        if other.is_none() {
            let [first, second] = &mut kept[set as usize];
            if *first == LEFT_OUT {
                *first = number;
            } else if *second == LEFT_OUT && sources.of(*first) != source {
                *second = number;
            }
        }
    }
    for number in (0..documents.numbers()).filter(|number| corpus.is_empty(*number)) {
        of[number as usize] = number;
    }
    Ok((of, left_out))
}
