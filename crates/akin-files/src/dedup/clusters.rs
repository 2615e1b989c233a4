//! Which documents are kept.

use std::io;
use std::ops::Range;

use indicatif::HumanCount;
use serde::Serialize;

use crate::corpus::{Score, UncomparedCounts, incomplete_line, recall_line};
use crate::offline::{OfflineCorpus, OfflineState};
use akin_model::clusters::Incomplete;
use akin_model::document::DocumentId;

/// The representative of each document.
pub struct Representatives<'c> {
    corpus: &'c mut OfflineCorpus,
    /// For each set, the number of its representative.
    representatives: Vec<u32>,
}

impl<'c> Representatives<'c> {
    pub fn new(corpus: &'c mut OfflineCorpus, representatives: Vec<u32>) -> Self {
        Self { corpus, representatives }
    }

    /// The numbers of the documents that are not old.
    pub fn new_documents(&self) -> Range<u32> {
        self.corpus.first_new()..self.corpus.documents().numbers()
    }

    /// The number of the representative of a document; `None` if the document is left out.
    pub fn representative(&self, number: u32) -> Option<u32> {
        representative(self.corpus, &self.representatives, number)
    }

    /// Whether the state has the new documents as a batch already.
    pub fn repeats_batch(&self) -> bool {
        self.corpus.repeats().is_some()
    }

    /// Adds the new documents that are kept to a state, and returns the number of their batch.
    ///
    /// # Errors
    /// The state cannot be written.
    pub fn add_to(&mut self, state: &mut OfflineState) -> io::Result<usize> {
        let Self { corpus, representatives } = self;
        state.add(corpus, |corpus, number| {
            representative(corpus, representatives, number) == Some(number)
        })
    }

    pub fn is_kept(&self, number: u32) -> bool {
        self.representative(number) == Some(number)
    }

    /// The representative of a document that is not kept, and their similarity.
    ///
    /// # Errors
    /// A temporary file could not be read.
    pub fn removal(&mut self, number: u32) -> io::Result<Option<(u32, Option<Score>)>> {
        let documents = self.corpus.documents();
        let Some(set) = documents.set_of(number) else { return Ok(None) };
        let of = self.representatives[set as usize];
        let kept = documents.of(of)[0];
        if kept == number {
            return Ok(None);
        }
        let score = Score::new(self.corpus.resemblance(set, of)?, self.corpus.points_max());
        Ok(Some((kept, Some(score))))
    }

    /// # Errors
    /// The temporary file of ids could not be read.
    pub fn id(&self, number: u32) -> io::Result<DocumentId> {
        self.corpus.id(number)
    }

    /// The id of the representative of a document; `None` if the document is left out.
    ///
    /// # Errors
    /// The temporary file of ids could not be read.
    pub fn representative_id(&self, number: u32) -> io::Result<Option<DocumentId>> {
        self.representative(number).map(|number| self.corpus.id(number)).transpose()
    }

    /// The number of clusters with more than one document.
    fn count(&self) -> usize {
        let mut sizes = vec![0_u32; self.representatives.len()];
        for (set, representative) in (0..).zip(&self.representatives) {
            sizes[*representative as usize] += self.corpus.documents().of(set).len() as u32;
        }
        sizes.iter().filter(|size| **size > 1).count()
    }

    /// The counts, without the counts that only the caller knows.
    pub fn summary(&self) -> Summary {
        let mut summary = Summary { clusters: self.count(), ..Summary::default() };
        for number in self.new_documents() {
            let Some(representative) = self.representative(number) else { continue };
            summary.documents += 1;
            summary.representatives += usize::from(representative == number);
        }
        summary.near_duplicates = summary.documents - summary.representatives;
        summary
    }
}

fn representative(corpus: &OfflineCorpus, of_sets: &[u32], number: u32) -> Option<u32> {
    let documents = corpus.documents();
    match documents.set_of(number) {
        Some(set) => Some(documents.of(of_sets[set as usize])[0]),
        None => corpus.is_empty(number).then_some(number),
    }
}

/// The counts that the command prints.
#[derive(Default, Serialize)]
pub struct Summary {
    pub documents: usize,
    pub representatives: usize,
    pub near_duplicates: usize,
    /// Clusters of more than one document.
    pub clusters: usize,
    #[serde(flatten)]
    pub uncompared: UncomparedCounts,
    pub threshold: f64,
    /// The chance to find a pair at the threshold; not known of records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_recall: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<Incomplete>,
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
        let count = |count: usize| HumanCount(count as u64).to_string();
        eprintln!(
            "documents: {}; representatives: {}; near-duplicates: {}; clusters: {}",
            count(self.documents),
            count(self.representatives),
            count(self.near_duplicates),
            count(self.clusters)
        );
        if let Some(recall) = self.expected_recall {
            eprintln!("{}", recall_line(self.threshold, recall));
        }
        if let Some(incomplete) = &self.incomplete {
            eprintln!("{}", incomplete_line(incomplete));
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
