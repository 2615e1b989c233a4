//! Which documents stay.

use indicatif::HumanCount;
use serde::Serialize;

use crate::cli::corpus::Fate;
use crate::document::DocumentId;
use crate::join::Documents;

/// What is to be done with a document.
pub struct Decision {
    pub is_kept: bool,
    /// `None` if the document is left out.
    pub representative: Option<DocumentId>,
}

/// Which document represents which.
pub struct Clusters<'c> {
    documents: &'c Documents,
    /// The number of the set that represents each document, by the number of the document.
    representative: Vec<u32>,
    /// How many clusters have more than one document.
    groups: usize,
}

impl<'c> Clusters<'c> {
    pub fn new(documents: &'c Documents, representatives: &[u32]) -> Self {
        let mut representative = vec![0; documents.count()];
        let mut sizes = vec![0_usize; representatives.len()];
        for (set, &representing) in (0..).zip(representatives) {
            let members = documents.of(set);
            sizes[representing as usize] += members.len();
            for (_, number) in members {
                representative[*number as usize] = representing;
            }
        }
        let groups = sizes.iter().filter(|size| **size > 1).count();
        Self { documents, representative, groups }
    }

    fn representative(&self, number: u32) -> &(DocumentId, u64) {
        &self.documents.of(self.representative[number as usize])[0]
    }

    pub fn decide(&self, fate: &Fate) -> Decision {
        let representative = match fate {
            Fate::LeftOut => None,
            Fate::Document(number) => Some(&self.representative(*number).0),
            Fate::Empty(id) => Some(id),
        };
        Decision { is_kept: self.is_kept(fate), representative: representative.cloned() }
    }

    fn is_kept(&self, fate: &Fate) -> bool {
        match fate {
            Fate::Document(number) => self.representative(*number).1 == u64::from(*number),
            Fate::Empty(_) => true,
            Fate::LeftOut => false,
        }
    }

    /// The counts, without what is not known here.
    pub fn summary(&self, fates: &[Fate]) -> Summary {
        let representatives = fates.iter().filter(|fate| self.is_kept(fate)).count();
        let documents = fates.iter().filter(|fate| **fate != Fate::LeftOut).count();
        let empty = fates.iter().filter(|fate| matches!(fate, Fate::Empty(_))).count();
        Summary {
            documents,
            representatives,
            near_duplicates: documents - representatives,
            clusters: self.groups,
            empty,
            ..Summary::default()
        }
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
