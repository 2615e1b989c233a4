//! `--across`: near-duplicates of different sources only.

use std::iter;
use std::ops::ControlFlow;

use super::holders::{Holders, Links, undecided};
use crate::corpus::{Sources, with_progress};
use crate::failure::Failure;
use crate::offline::OfflineCorpus;
use akin_core::join::LeftOut;
use akin_core::scheme::Threshold;
use akin_model::analysis::Mode;

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
    let (documents, links) = (corpus.documents(), Links::Across(sources));
    let mut kept = vec![Holders::NONE; corpus.sets() as usize];
    let mut of = undecided(corpus);
    for number in documents.in_order().iter().copied() {
        let set = documents.set_of(number).expect("documents in order have sets");
        let near = &pairs[pairs.partition_point(|pair| pair.0 < set)..];
        let near = near.iter().take_while(|pair| pair.0 == set).map(|pair| pair.1);
        let is_new = number >= corpus.first_new();
        let mut near = iter::once(set).chain(near).filter(|_| is_new);
        let holder = near.find_map(|set| kept[set as usize].of(number, links));
        of[number as usize] = holder.unwrap_or(number);
        if holder.is_none() {
            kept[set as usize].add(number, links);
        }
    }
    Ok((of, left_out))
}
