//! Pairs of sets as pairs of documents.

use std::ops::ControlFlow;

use super::view::ViewSets;
use super::{Found, FoundPair, Interrupted, Mode, Work};
use crate::document::DocumentId;
use crate::join::{Corpus, Documents, Pair, Stopped};
use crate::measure::Overlap;
use crate::sketch::Estimator;

/// First the pairs of documents with equal sets, then those of different ones.
pub(in crate::engine) fn give(
    work: &mut Work,
    found: &Found<FoundPair>,
) -> Result<(), Interrupted> {
    let (corpus, documents) = work.corpus()?;
    give_equal(work, &corpus, &documents, found)?;
    let join = work.join(&corpus, &documents)?;
    let giving = Giving { documents: &documents, estimator: work.estimator(), found };
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
        let exact = (work.mode != Mode::Estimated).then_some(overlap.into());
        for (at, (a, _)) in members.iter().enumerate() {
            for (b, _) in &members[at + 1..] {
                work.progress().go_on()?;
                let (a, b) = (a.clone(), b.clone());
                found.send(FoundPair { a, b, resemblance: 1.0, estimated: 1.0, exact })?;
                work.progress().add_found(1);
            }
        }
    }
    Ok(())
}

struct Giving<'g> {
    documents: &'g Documents,
    estimator: Estimator,
    found: &'g Found<FoundPair>,
}

impl Giving<'_> {
    /// Every document of the one set with every document of the other; how many that are.
    fn give(&self, pair: &Pair) -> Result<u64, Stopped> {
        let (of_a, of_b) = (self.documents.of(pair.a), self.documents.of(pair.b));
        let estimated = self.estimator.estimate(pair.agreeing).value;
        for (a, _) in of_a {
            for (b, _) in of_b {
                self.found.send(found_pair(a, b, pair.overlap, estimated))?;
            }
        }
        Ok(of_a.len() as u64 * of_b.len() as u64)
    }
}

fn found_pair(
    a: &DocumentId,
    b: &DocumentId,
    overlap: Option<Overlap>,
    estimated: f64,
) -> FoundPair {
    let turned = a > b;
    let (a, b) = if turned { (b, a) } else { (a, b) };
    let overlap = match overlap {
        Some(Overlap { shared, a, b }) if turned => Some(Overlap { shared, a: b, b: a }),
        overlap => overlap,
    };
    FoundPair {
        a: a.clone(),
        b: b.clone(),
        resemblance: overlap.map_or(estimated, |overlap| overlap.resemblance()),
        estimated,
        exact: overlap.map(Into::into),
    }
}
