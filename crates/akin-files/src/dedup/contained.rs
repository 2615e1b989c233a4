//! `--rule contained`: a document is removed only if its survivor holds all of it.
//!
//! The survivor is not shorter, and has every shingle of the document. A text of fewer words than a
//! shingle, or of which most shingles are repetitions, has to be a run of the survivor's words:
//! its set says too little. Documents are decided in the order of their lengths, the longest first:
//! the documents that can hold a document are decided before it.

use std::cmp::Reverse;
use std::io;

use super::holders::{Holders, Links, undecided};
use super::runs::{RunSearch, TextRuns};
use crate::corpus::{check_memory, disk_failed};
use crate::failure::Failure;
use crate::offline::OfflineCorpus;

/// The representative of each document, by its number. `size`: the words of a shingle.
///
/// # Errors
/// A temporary file cannot be read, or texts do not fit into memory.
pub fn contained(
    corpus: &mut OfflineCorpus,
    size: usize,
    links: Links<'_>,
) -> Result<Vec<u32>, Failure> {
    let memory = corpus.room().memory;
    let runs = TextRuns::read(corpus, size, memory / 2).map_err(|error| disk_failed(&error))?;
    let less = "without short texts (--min-words) the corpus takes less";
    check_memory("finding runs of words", runs.bytes, memory, less)?;
    let order = order(corpus, &runs);
    let search = runs.search();
    let mut survivors = Survivors {
        of: undecided(corpus),
        links,
        by_set: vec![Holders::NONE; corpus.sets() as usize],
        by_run: vec![Holders::NONE; search.count],
    };
    survivors.decide(corpus, search, &order).map_err(|error| disk_failed(&error))?;
    Ok(survivors.of)
}

/// The documents, the longest first. Equal documents are in the order of their ranks, old documents
/// first.
fn order(corpus: &OfflineCorpus, runs: &TextRuns) -> Vec<u32> {
    let documents = corpus.documents();
    let of_sets = (0..corpus.sets()).flat_map(|set| documents.of(set).iter().copied());
    let mut order: Vec<u32> = of_sets.collect();
    order.sort_by_key(|number| {
        let size = documents.set_of(*number).map_or(0, |set| corpus.size(set));
        (Reverse(runs.words(*number)), Reverse(size))
    });
    order
}

struct Survivors<'l> {
    /// By the number of a document; as in [`undecided`] while it is not decided.
    of: Vec<u32>,
    links: Links<'l>,
    /// The kept documents that have every element of a set.
    by_set: Vec<Holders>,
    /// The kept documents that have a run in their words.
    by_run: Vec<Holders>,
}

impl Survivors<'_> {
    fn decide(
        &mut self,
        corpus: &mut OfflineCorpus,
        mut search: RunSearch,
        order: &[u32],
    ) -> io::Result<()> {
        let rarest = corpus.rarest()?;
        for number in order.iter().copied() {
            let set = corpus.documents().set_of(number).expect("documents in order have sets");
            let holders = match search.of.get(&number) {
                None => self.by_set[set as usize],
                Some(run) => self.by_run[*run as usize],
            };
            let is_new = number >= corpus.first_new();
            let holder = holders.of(number, self.links).filter(|_| is_new);
            self.of[number as usize] = holder.unwrap_or(number);
            if holder.is_some() {
                continue;
            }
            self.add_to_runs(corpus, &mut search, number)?;
            if self.by_set[set as usize].add(number, self.links) {
                let (by_set, links) = (&mut self.by_set, self.links);
                let wanted = |inner: u32| by_set[inner as usize].want(number, links);
                for inner in corpus.sets_within(&rarest, set, wanted)? {
                    by_set[inner as usize].add(number, links);
                }
            }
        }
        Ok(())
    }

    /// Adds a kept document to the holders of the runs in its words. A run within a longer run
    /// was offered each holder of the longer run: the document is offered to the longer run alone.
    fn add_to_runs(
        &mut self,
        corpus: &OfflineCorpus,
        search: &mut RunSearch,
        number: u32,
    ) -> io::Result<()> {
        let (by_run, links) = (&mut self.by_run, self.links);
        search.each_in(corpus, number, |run| by_run[run as usize].add(number, links))
    }
}
