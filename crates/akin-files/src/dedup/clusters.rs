//! Which documents are kept.

use std::io;
use std::ops::Range;

use indicatif::HumanCount;
use serde::Serialize;

use super::alarm::{LostShingles, SourceCounts, print_sources};
use super::holders::LEFT_OUT;
use crate::corpus::{Score, UncomparedCounts, incomplete_line, recall_line};
use crate::offline::{OfflineCorpus, OfflineState};
use akin_model::clusters::Incomplete;
use akin_model::document::DocumentId;

/// The representative of each document.
pub struct Representatives<'c> {
    corpus: &'c mut OfflineCorpus,
    /// By number; [`LEFT_OUT`] of documents that are left out.
    of: Vec<u32>,
    /// The number of documents of each representative, by its number.
    sizes: Vec<u32>,
    /// Whether no document of a cluster is kept.
    drops_all: bool,
    /// Whether a text of fewer words than a shingle is a run of its representative's words.
    holds_short: bool,
}

impl<'c> Representatives<'c> {
    /// `of`: by the number of a document, its representative or [`LEFT_OUT`].
    pub fn new(corpus: &'c mut OfflineCorpus, of: Vec<u32>) -> Self {
        let mut sizes = vec![0; of.len()];
        for representative in of.iter().filter(|of| **of != LEFT_OUT) {
            sizes[*representative as usize] += 1;
        }
        Self { corpus, of, sizes, drops_all: false, holds_short: false }
    }

    /// Keeps no document of a cluster.
    pub fn drop_all(&mut self) {
        self.drops_all = true;
    }

    /// Declares that each text of fewer words than a shingle, which has a set of its own, is a run
    /// of its representative's words.
    pub fn hold_short(&mut self) {
        self.holds_short = true;
    }

    /// The numbers of the documents that are not old.
    pub fn new_documents(&self) -> Range<u32> {
        self.corpus.first_new()..self.corpus.documents().numbers()
    }

    /// The number of the representative of a document; `None` if the document is left out.
    pub fn representative(&self, number: u32) -> Option<u32> {
        Some(self.of[number as usize]).filter(|of| *of != LEFT_OUT)
    }

    /// The number of documents of a representative's cluster.
    pub fn size(&self, representative: u32) -> u32 {
        self.sizes[representative as usize]
    }

    /// Whether the state has the new documents as a batch already.
    pub fn repeats_batch(&self) -> bool {
        self.corpus.repeats().is_some()
    }

    /// Adds the new representatives to a state, and returns the number of their batch. The state
    /// also has a representative that is not kept: with `--keep none` a later document like it is
    /// a copy, too, and is left out as in a single run.
    ///
    /// # Errors
    /// The state cannot be written.
    pub fn add_to(&mut self, state: &mut OfflineState) -> io::Result<usize> {
        let Self { corpus, of, .. } = self;
        state.add(corpus, |number| of[number as usize] == number)
    }

    pub fn is_kept(&self, number: u32) -> bool {
        self.of[number as usize] == number && !(self.drops_all && self.size(number) > 1)
    }

    /// The representative of a document that is not kept, if the representative is kept, and their
    /// similarity.
    ///
    /// # Errors
    /// A temporary file could not be read.
    pub fn removal(&mut self, number: u32) -> io::Result<Option<(Option<u32>, Option<Score>)>> {
        let Some(of) = self.representative(number).filter(|_| !self.is_kept(number)) else {
            return Ok(None);
        };
        let score = if of == number { None } else { self.score(number)? };
        Ok(Some((Some(of).filter(|_| !self.drops_all), score)))
    }

    /// The similarity of a document and its representative.
    ///
    /// # Errors
    /// A temporary file could not be read.
    pub fn score(&mut self, number: u32) -> io::Result<Option<Score>> {
        let Some(of) = self.representative(number) else { return Ok(None) };
        let documents = self.corpus.documents();
        let (Some(set), Some(of)) = (documents.set_of(number), documents.set_of(of)) else {
            return Ok(None);
        };
        Ok(Some(Score::new(self.corpus.resemblance(set, of)?, self.corpus.points_max())))
    }

    /// # Errors
    /// The temporary file of ids could not be read.
    pub fn id(&self, number: u32) -> io::Result<DocumentId> {
        self.corpus.id(number)
    }

    /// The shingles of a document that is not kept.
    ///
    /// # Errors
    /// A temporary file could not be read.
    pub fn lost(&mut self, number: u32) -> io::Result<LostShingles> {
        let documents = self.corpus.documents();
        let Some(set) = documents.set_of(number) else { return Ok(LostShingles::default()) };
        let kept = self.representative(number).filter(|_| !self.drops_all);
        let kept = kept.and_then(|kept| documents.set_of(kept));
        let all = self.corpus.size(set) as u64;
        let lost = match self.holds_short && all == 1 && kept.is_some() {
            true => 0,
            false => self.corpus.lacking(set, kept)? as u64,
        };
        Ok(LostShingles { all, lost })
    }

    /// The counts, without the counts that only the caller knows.
    pub fn summary(&self, sources: &[SourceCounts]) -> Summary {
        let clusters = self.sizes.iter().filter(|size| **size > 1).count();
        let mut summary = Summary { clusters, ..Summary::default() };
        let mut lost = LostShingles::default();
        for counts in sources {
            summary.documents += counts.documents;
            summary.near_duplicates += counts.removed;
            lost += counts.lost;
        }
        summary.representatives = summary.documents - summary.near_duplicates;
        summary.lost = self.corpus.points_max().is_none().then_some(lost);
        summary
    }
}

/// The counts that the command prints.
#[derive(Default, Serialize)]
pub struct Summary {
    pub documents: u64,
    pub representatives: u64,
    pub near_duplicates: u64,
    /// Clusters of more than one document.
    pub clusters: usize,
    /// `None` of records.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub lost: Option<LostShingles>,
    /// The number of shingles that are ignored as templates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shingles_ignored: Option<usize>,
    /// The name of the shingles.
    #[serde(skip)]
    pub shingles: String,
    #[serde(flatten)]
    pub uncompared: UncomparedCounts,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
    /// The chance to find a pair at the threshold; not known of records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_recall: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<Incomplete>,
    /// If an option is about sources.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sources: Option<Vec<SourceCounts>>,
    /// With a state.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub batch: Option<BatchInState>,
}

/// The batch of a state that a run added.
#[derive(Serialize)]
pub struct BatchInState {
    /// From 1.
    pub batch: usize,
    /// The state had the batch already.
    pub repeated: bool,
    /// Documents in the state.
    pub state_documents: u32,
}

impl Summary {
    pub fn print(&self) {
        let (clusters, shingles) = (HumanCount(self.clusters as u64), &self.shingles);
        let [documents, representatives, near_duplicates] =
            [self.documents, self.representatives, self.near_duplicates].map(HumanCount);
        eprintln!(
            "documents: {documents}; representatives: {representatives}; near-duplicates: \
             {near_duplicates}; clusters: {clusters}"
        );
        if let Some(LostShingles { all: all @ 1.., lost }) = self.lost {
            let [all, lost] = [all, lost].map(HumanCount);
            eprintln!("{shingles} lost: {lost} of {all} in removed documents");
        }
        if let Some(ignored) = self.shingles_ignored {
            let ignored = HumanCount(ignored as u64);
            eprintln!("{shingles} of templates, ignored: {ignored}");
        }
        if let (Some(threshold), Some(recall)) = (self.threshold, self.expected_recall) {
            eprintln!("{}", recall_line(threshold, recall));
        }
        if let Some(incomplete) = &self.incomplete {
            eprintln!("{}", incomplete_line(incomplete));
        }
        if let Some(sources) = &self.sources {
            print_sources(sources);
        }
        if let Some(BatchInState { batch, repeated, state_documents }) = &self.batch {
            let documents = HumanCount(u64::from(*state_documents));
            let already = if *repeated { " already" } else { "" };
            eprintln!(
                "batch {batch} is in the state{already}; documents in the state: {documents}"
            );
        }
    }
}
