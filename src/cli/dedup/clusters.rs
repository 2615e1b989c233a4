//! Which documents stay.

use std::io;

use indicatif::HumanCount;
use serde::Serialize;

use crate::document::DocumentId;
use crate::engine::OfflineCorpus;

/// Which document represents which.
pub struct Clusters<'c> {
    corpus: &'c OfflineCorpus,
    /// The number of the set that represents each set.
    representatives: Vec<u32>,
}

impl<'c> Clusters<'c> {
    pub fn new(corpus: &'c OfflineCorpus, representatives: Vec<u32>) -> Self {
        Self { corpus, representatives }
    }

    /// The number of the document that represents this one; `None` if it is left out.
    fn representative(&self, number: u32) -> Option<u32> {
        let documents = self.corpus.documents();
        match documents.set_of(number) {
            Some(set) => Some(documents.of(self.representatives[set as usize])[0]),
            None => self.corpus.is_empty(number).then_some(number),
        }
    }

    pub fn is_kept(&self, number: u32) -> bool {
        self.representative(number) == Some(number)
    }

    /// The id of the document that represents this one; `None` if it is left out.
    ///
    /// # Errors
    /// It could not be read back.
    pub fn representative_id(&self, number: u32) -> io::Result<Option<DocumentId>> {
        self.representative(number).map(|number| self.corpus.id(number)).transpose()
    }

    /// How many clusters have more than one document.
    fn count(&self) -> usize {
        let mut sizes = vec![0_u32; self.representatives.len()];
        for (set, representative) in (0..).zip(&self.representatives) {
            sizes[*representative as usize] += self.corpus.documents().of(set).len() as u32;
        }
        sizes.iter().filter(|size| **size > 1).count()
    }

    /// The counts, without what is not known here.
    pub fn summary(&self) -> Summary {
        let mut summary = Summary { clusters: self.count(), ..Summary::default() };
        for number in self.corpus.first_new()..self.corpus.documents().numbers() {
            let Some(representative) = self.representative(number) else { continue };
            summary.documents += 1;
            summary.representatives += usize::from(representative == number);
            summary.empty += usize::from(self.corpus.is_empty(number));
        }
        summary.near_duplicates = summary.documents - summary.representatives;
        summary
    }
}

/// What was done.
#[derive(Default, Serialize)]
pub struct Summary {
    pub documents: usize,
    pub representatives: usize,
    pub near_duplicates: usize,
    /// Of more than one document.
    pub clusters: usize,
    /// Representatives with nothing to compare.
    pub empty: usize,
    /// Lines and files that could not be read as documents.
    pub failed: u64,
    pub threshold: f64,
    /// The chance to find a pair at the threshold; not known of records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_recall: Option<f64>,
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
        if self.empty > 0 {
            eprintln!("representatives with nothing to compare: {}", count(self.empty));
        }
        if let Some(recall) = self.expected_recall {
            eprintln!(
                "a pair with a Jaccard similarity of {} is found with a chance of {:.1} %",
                self.threshold,
                recall * 100.0
            );
        }
    }
}
