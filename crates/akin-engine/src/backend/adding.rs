//! Adding documents: the findings of a backend for each document, and the decision of the engine.

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use tokio::sync::watch;

use super::in_flight::{Arrival, Outcome, was_stored};
use super::{ArrivingText, BackendError, Candidates, PreparedDocument, Stored};
use crate::document::{DocumentId, Ordinal};
use crate::stored::Times;
use akin_core::index::{Search, SearchLimits};
use akin_core::scheme::{Key, Threshold};
use akin_model::analysis::Analysis;

/// A document that is added.
pub struct Addition {
    pub document: Arc<PreparedDocument>,
    /// `None` if its near-duplicates are not looked for.
    pub search: Option<RivalSearch>,
    /// The document may be withdrawn because of another document.
    pub tentative: bool,
    /// Its check waits for documents in flight that share passages with it.
    pub waits_for_texts: bool,
    /// Of a document that is copied from another collection; `None`: it is stored now.
    pub times: Option<Times>,
    /// Where later searches for passages find it.
    pub(crate) text: Option<ArrivingText>,
}

/// Selects the documents in flight that are rivals of a document, and the stored documents that are
/// candidates.
#[derive(Clone, Debug)]
pub struct RivalSearch {
    /// Rivals and candidates share at least one of these keys.
    pub keys: Vec<Key>,
    /// The least number of slots in which the sketch agrees with the document's.
    pub agreeing_min: u32,
    /// The resemblance from which documents count as near-duplicates.
    pub threshold: Threshold,
    /// The maximum number of rivals: the earliest rivals of a tentative document, otherwise the
    /// rivals with the best-agreeing sketches.
    pub rivals_max: usize,
    /// The limits of the lookup of candidates, and of the next lookup if too few of them are
    /// near-duplicates; `None` if the engine looks them up by other means.
    pub candidates: Option<[SearchLimits; 2]>,
}

/// Decides about the documents of a call; the engine's.
#[async_trait]
pub trait Check: Send + Sync {
    /// Decides about the document with this number in the call.
    async fn check(&self, number: usize, found: Findings<'_>) -> Verdict;
}

/// Stores every document, for tests and benches of a backend.
pub struct Unchecked;

#[async_trait]
impl Check for Unchecked {
    async fn check(&self, _number: usize, _found: Findings<'_>) -> Verdict {
        Verdict::Store
    }
}

/// What a backend found of a document, once the document had its number in the order of arrival: so
/// every earlier document is among the stored documents, or is a rival.
pub struct Findings<'a> {
    /// `None` if they are to be looked up by the check.
    pub candidates: Option<Candidates>,
    /// None in a store whose transactions order documents: there every earlier document is stored.
    pub rivals: Rivals,
    /// `None` without an order of arrival in this process.
    pub(crate) arrival: Option<&'a Arrival>,
    pub(crate) has_text: bool,
}

/// The outcome of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Store,
    /// Store it if its id has a stored document.
    Replace,
    Withdraw,
    /// Check it again, with the rivals of then.
    Again,
}

/// For each document of a call whether and how it was stored, in the order of the call.
pub type Adding = BoxFuture<'static, Vec<Result<Option<Stored>, BackendError>>>;

/// Earlier documents in flight, with other ids.
#[derive(Default)]
pub struct Rivals {
    pub found: Vec<Rival>,
    /// A limit was reached, so some rivals may be missing.
    pub truncated: bool,
}

/// A document that arrived earlier and is not in the index yet.
pub struct Rival {
    pub document: Arc<PreparedDocument>,
    /// `None` if the rival is certain to be stored, so that waiting is unnecessary.
    pub(crate) outcome: Option<watch::Receiver<Outcome>>,
}

/// A write in flight that arrived earlier.
pub struct EarlierWrite(watch::Receiver<Outcome>);

impl EarlierWrite {
    /// Waits until the write is done or withdrawn.
    pub async fn ended(self) {
        was_stored(self.0).await;
    }
}

impl Addition {
    /// The lookup of its candidates within limits; `None` without a search.
    pub fn search_within(&self, limits: SearchLimits) -> Option<Search<'_>> {
        let RivalSearch { keys, agreeing_min, threshold, .. } = self.search.as_ref()?;
        let Analysis { sketch, fingerprint, .. } = &self.document.analysis;
        Some(Search::new(keys, sketch, *fingerprint, *threshold, *agreeing_min, limits))
    }

    /// By which [`Arrival::earlier_texts`] knows the document.
    pub(crate) fn ticket(&self) -> Option<Ordinal> {
        self.text.as_ref().map(|text| text.ticket)
    }

    pub fn new(
        mut document: PreparedDocument,
        search: Option<RivalSearch>,
        tentative: bool,
        waits_for_texts: bool,
    ) -> Self {
        let text = document.arriving.take();
        let document = Arc::new(document);
        Self { document, search, tentative, waits_for_texts, times: None, text }
    }
}

impl Findings<'_> {
    /// Of a store whose transactions order documents.
    pub fn new(candidates: Option<Candidates>) -> Self {
        Self { candidates, rivals: Rivals::default(), arrival: None, has_text: false }
    }

    /// Waits until the earlier versions of the document are stored or withdrawn.
    pub async fn wait_for_earlier_versions(&self) {
        if let Some(arrival) = self.arrival {
            arrival.wait_for_predecessor().await;
        }
    }

    /// The writes of these ids that arrived before the document, are in flight, and so may replace
    /// or remove what lookups find; `None` where transactions order documents.
    pub fn earlier_writes(&self, ids: &[DocumentId]) -> Option<Vec<Option<EarlierWrite>>> {
        let outcomes = self.arrival?.earlier_writes(ids).into_iter();
        Some(outcomes.map(|outcome| outcome.map(EarlierWrite)).collect())
    }

    /// The new documents that arrived after the document and report it.
    pub fn reporters(&self) -> HashSet<DocumentId> {
        self.arrival.map(Arrival::reporters).unwrap_or_default()
    }
}

impl Rival {
    /// A rival that is stored if the document is, which comes after it.
    pub fn certain(document: Arc<PreparedDocument>) -> Self {
        Self { document, outcome: None }
    }

    /// Whether [`Rival::was_stored`] may have to wait.
    pub fn is_waited_for(&self) -> bool {
        self.outcome.is_some()
    }

    /// Waits until the rival is stored (`true`) or withdrawn.
    pub async fn was_stored(self) -> bool {
        match self.outcome {
            Some(outcome) => was_stored(outcome).await,
            None => true,
        }
    }
}
