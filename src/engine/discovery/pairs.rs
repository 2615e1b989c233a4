//! Pairs of sets as pairs of documents.

use std::ops::ControlFlow;

use super::view::ViewSets;
use super::{FoundPair, FoundSender, Interrupted, Mode, Work};
use crate::document::DocumentId;
use crate::engine::analysis::Similarity;
use crate::engine::{Analyser, PairContainment};
use crate::join::{Corpus, Documents, Pair, Stopped};
use crate::measure::Overlap;

/// Sends the pairs of documents with equal sets first, then those with different sets.
pub(crate) fn emit(work: &mut Work, found: &FoundSender<FoundPair>) -> Result<(), Interrupted> {
    let (corpus, documents) = work.corpus()?;
    emit_equal(work, &corpus, &documents, found)?;
    let analyser = &*work.analyser;
    let emitter = PairEmitter { corpus: &corpus, documents: &documents, analyser, found };
    let progress = work.running.progress();
    let mut sets = ViewSets { view: &mut work.view, corpus: &corpus, documents: &documents };
    let join = analyser.join(&mut sets, (work.mode, work.threshold), progress)?;
    join.pairs(&mut sets, progress, |pair| {
        let sent = emitter.emit(&pair).inspect(|sent| progress.add_found(*sent));
        if sent.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })
}

fn emit_equal(
    work: &Work,
    corpus: &Corpus,
    documents: &Documents,
    found: &FoundSender<FoundPair>,
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

struct PairEmitter<'g> {
    corpus: &'g Corpus,
    documents: &'g Documents,
    analyser: &'g Analyser,
    found: &'g FoundSender<FoundPair>,
}

impl PairEmitter<'_> {
    /// Sends every document of one set with every document of the other; returns their number.
    fn emit(&self, pair: &Pair) -> Result<u64, Stopped> {
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
    // With sampling on, any set may be a sample; the sets are not read again to find out.
    let are_whole = !analyser.shingler.sampling().is_on();
    let Similarity { resemblance, estimated, interval, exact } = match overlap {
        Some(overlap) => analyser.verified(overlap, agreeing, are_whole),
        None => analyser.estimated(agreeing, (sizes[0] as u32, sizes[1] as u32)),
    };
    let estimated = estimated.unwrap_or(resemblance);
    move |a, b| {
        let (a, b, overlap) = match a > b {
            true => (b, a, exact.map(|Overlap { shared, a, b }| Overlap { shared, a: b, b: a })),
            false => (a, b, exact),
        };
        FoundPair {
            a: a.clone(),
            b: b.clone(),
            resemblance,
            estimated,
            interval,
            exact: overlap.map(|overlap| overlap.resemblance()),
            containment: overlap.map(PairContainment::from),
            shared: overlap.map(|overlap| overlap.shared),
            union: overlap.map(|overlap| overlap.union()),
        }
    }
}
