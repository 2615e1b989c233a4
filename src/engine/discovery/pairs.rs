//! Pairs of sets as pairs of documents.

use std::ops::ControlFlow;

use super::view::ViewSets;
use super::{Found, FoundPair, Interrupted, Mode, Work};
use crate::document::DocumentId;
use crate::engine::analysis::Similarity;
use crate::engine::{Analyser, Exact};
use crate::join::{Corpus, Documents, Pair, Stopped};
use crate::measure::Overlap;

/// First the pairs of documents with equal sets, then those of different ones.
pub(in crate::engine) fn give(
    work: &mut Work,
    found: &Found<FoundPair>,
) -> Result<(), Interrupted> {
    let (corpus, documents) = work.corpus()?;
    give_equal(work, &corpus, &documents, found)?;
    let join = work.join(&corpus, &documents)?;
    let analyser = &*work.analyser;
    let giving = Giving { corpus: &corpus, documents: &documents, analyser, found };
    let progress = work.running.progress();
    let mut sets = ViewSets { view: &mut *work.view, documents: &documents };
    join.pairs(&mut sets, progress, |pair| {
        let given = giving.give(&pair).inspect(|given| progress.add_found(*given));
        if given.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })
}

fn give_equal(
    work: &Work,
    corpus: &Corpus,
    documents: &Documents,
    found: &Found<FoundPair>,
) -> Result<(), Stopped> {
    for set in 0..corpus.count() {
        let (size, members) = (corpus.shingles(set), documents.of(set));
        let overlap = Overlap { shared: size, a: size, b: size };
        let overlap = (work.mode != Mode::Estimated).then_some(overlap);
        let found_pair = found_pair(&work.analyser, overlap, work.analyser.slots(), [size; 2]);
        for (at, (a, _)) in members.iter().enumerate() {
            for (b, _) in &members[at + 1..] {
                work.progress().go_on()?;
                found.send(found_pair(a, b))?;
                work.progress().add_found(1);
            }
        }
    }
    Ok(())
}

struct Giving<'g> {
    corpus: &'g Corpus,
    documents: &'g Documents,
    analyser: &'g Analyser,
    found: &'g Found<FoundPair>,
}

impl Giving<'_> {
    /// Every document of the one set with every document of the other; how many that are.
    fn give(&self, pair: &Pair) -> Result<u64, Stopped> {
        let (of_a, of_b) = (self.documents.of(pair.a), self.documents.of(pair.b));
        let sizes = [pair.a, pair.b].map(|set| self.corpus.shingles(set));
        let found_pair = found_pair(self.analyser, pair.overlap, pair.agreeing, sizes);
        for (a, _) in of_a {
            for (b, _) in of_b {
                self.found.send(found_pair(a, b))?;
            }
        }
        Ok(of_a.len() as u64 * of_b.len() as u64)
    }
}

/// Makes pairs of the documents of two sets. `overlap`: `None` where sketches alone decide.
fn found_pair(
    analyser: &Analyser,
    overlap: Option<Overlap>,
    agreeing: u32,
    sizes: [usize; 2],
) -> impl Fn(&DocumentId, &DocumentId) -> FoundPair {
    // Sets are not looked at again here, so none is taken for whole that may be a sample.
    let are_whole = !analyser.shingler.sampling().is_on();
    let Similarity { resemblance, estimated, interval, exact } = match overlap {
        Some(overlap) => analyser.verified(overlap, agreeing, are_whole),
        None => analyser.estimated(agreeing, (sizes[0] as u32, sizes[1] as u32)),
    };
    let estimated = estimated.unwrap_or(resemblance);
    move |a, b| {
        let (a, b, exact) = match a > b {
            true => (b.clone(), a.clone(), exact.map(Exact::turned)),
            false => (a.clone(), b.clone(), exact),
        };
        FoundPair { a, b, resemblance, estimated, interval, exact }
    }
}
