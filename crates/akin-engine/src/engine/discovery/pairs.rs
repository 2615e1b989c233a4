//! Pairs of sets as pairs of documents.

use std::ops::ControlFlow;

use super::view::ViewSets;
use super::{FoundSender, Interrupted, Mode, PairPart, Work, incomplete};
use crate::document::DocumentId;
use crate::engine::{Analyser, FoundPair};
use akin_core::join::{Corpus, Documents, Pair, Stopped};
use akin_core::measure::Overlap;

/// Sends pairs of documents with equal sets first, then pairs of documents with different sets.
pub(crate) fn emit(work: &mut Work, found: &FoundSender<PairPart>) -> Result<(), Interrupted> {
    let (corpus, documents) = work.corpus()?;
    emit_equal(work, &corpus, &documents, found)?;
    let analyser = &*work.analyser;
    let emitter = PairEmitter { documents: &documents, analyser, found };
    let progress = work.running.progress();
    let mut sets = ViewSets::new(&mut *work.view, &corpus, &documents);
    let join = analyser.join(&mut sets, (work.mode, work.threshold), progress)?;
    join.pairs(&mut sets, progress, |pair| {
        let sent = emitter.emit(&pair).inspect(|sent| progress.add_found(*sent));
        if sent.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    if let Some(incomplete) = incomplete(&join.left_out(), &mut sets)? {
        found.blocking_send(PairPart::Incomplete(incomplete))?;
    }
    Ok(())
}

fn emit_equal(
    work: &Work,
    corpus: &Corpus,
    documents: &Documents,
    found: &FoundSender<PairPart>,
) -> Result<(), Stopped> {
    for set in 0..corpus.count() {
        let (size, members) = (corpus.shingles(set), documents.of(set));
        let overlap = Overlap { shared: size, a: size, b: size };
        let overlap = (work.mode != Mode::Estimated).then_some(overlap);
        let found_pair = found_pair(&work.analyser, overlap, work.analyser.slots());
        for (at, (a, _)) in members.iter().enumerate() {
            for (b, _) in &members[at + 1..] {
                work.progress().go_on()?;
                found.blocking_send(PairPart::Pair(found_pair(a, b)))?;
                work.progress().add_found(1);
            }
        }
    }
    Ok(())
}

struct PairEmitter<'g> {
    documents: &'g Documents,
    analyser: &'g Analyser,
    found: &'g FoundSender<PairPart>,
}

impl PairEmitter<'_> {
    /// Sends every document of one set with every document of the other; returns their number.
    fn emit(&self, pair: &Pair) -> Result<u64, Stopped> {
        let (of_a, of_b) = (self.documents.of(pair.a), self.documents.of(pair.b));
        let found_pair = found_pair(self.analyser, pair.overlap, pair.agreeing);
        for (a, _) in of_a {
            for (b, _) in of_b {
                self.found.blocking_send(PairPart::Pair(found_pair(a, b)))?;
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
) -> impl Fn(&DocumentId, &DocumentId) -> FoundPair {
    let similarity = |overlap: Option<Overlap>| match overlap {
        Some(overlap) => analyser.verified(overlap, agreeing),
        None => analyser.estimated(agreeing),
    };
    let turned = overlap.map(|Overlap { shared, a, b }| Overlap { shared, a: b, b: a });
    let (similarity, turned) = (similarity(overlap), similarity(turned));
    move |a, b| match a > b {
        true => FoundPair { a: b.clone(), b: a.clone(), similarity: turned.clone() },
        false => FoundPair { a: a.clone(), b: b.clone(), similarity: similarity.clone() },
    }
}
