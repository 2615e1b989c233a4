//! Searches for passages.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use crate::backend::{BackendError, Findings, Member};
use crate::budget::Exhausted;
use crate::document::{DocumentId, Ordinal};
use crate::stored::DocumentDetails;
use akin_core::passages::{PassageComparison, PassageLimits, Span, TextBlocks};
use akin_core::text::ReaderWords;

/// A search for passages.
#[derive(Clone)]
pub struct PassageRequest {
    /// The words of the probe.
    pub words: Arc<[u64]>,
    /// How a reader of the probe counts its words, if otherwise than `words`.
    pub readers: Option<ReaderWords>,
    pub limits: PassageLimits,
    /// A document that is not returned: the probe itself.
    pub own_id: Option<DocumentId>,
    /// Compare the documents first of whose words the probe has the largest part, instead of the
    /// documents that share the most words.
    pub by_share_of_match: bool,
    /// Selects the documents that are compared.
    pub filter: Option<PassageFilter>,
}

/// Documents that share passages with a probe: the documents that share the most words first, then
/// by their longest run and by their age.
#[derive(Clone, Debug, Default)]
pub struct FoundPassages {
    pub matches: Vec<SharedPassages>,
    /// Documents or passages may be missing.
    pub truncated: bool,
}

/// A document that shares passages with the probe.
#[derive(Clone, Debug)]
pub struct SharedPassages {
    pub member: Member,
    pub comparison: Arc<PassageComparison>,
}

/// The places of a document's passages in its text, in the order of its comparison; `None` if the
/// document was replaced or removed since.
pub type LocatedPassages = Option<Vec<Span>>;

/// Whether a document is selected, or that the request has no work left.
type Selects = dyn Fn(&DocumentDetails) -> Result<bool, Exhausted> + Send + Sync;

/// Selects documents by their details.
#[derive(Clone)]
pub struct PassageFilter {
    /// Documents that are examined, at most.
    pub documents_max: usize,
    /// Whether documents without metadata are examined: otherwise none of them is selected.
    pub takes_no_metadata: bool,
    /// Whether a document is selected. Charges the work to the request.
    pub selects: Arc<Selects>,
}

/// A text in flight, for later searches. Dropping it ends that.
pub struct ArrivingText {
    /// By which the order of arrival knows its document.
    pub ticket: Ordinal,
    _held: Box<dyn Send + Sync>,
}

impl ArrivingText {
    /// `held` ends the arrival when it is dropped.
    pub fn new(ticket: Ordinal, held: impl Send + Sync + 'static) -> Self {
        Self { ticket, _held: Box::new(held) }
    }
}

impl fmt::Debug for ArrivingText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ArrivingText({})", self.ticket.get())
    }
}

/// Searches for passages.
#[async_trait]
pub trait PassageSearch: Send + Sync {
    /// The documents that share passages with the words of a probe. A document that is replaced at
    /// the same time is found in one of the two versions.
    ///
    /// # Errors
    /// [`BackendError::PassagesOff`] without an index, [`BackendError::OverBudget`],
    /// [`BackendError::Store`].
    async fn passages(&self, request: PassageRequest) -> Result<FoundPassages, BackendError>;

    /// The places of passages in the texts of documents, in the order of `found`.
    ///
    /// # Errors
    /// [`BackendError::OverBudget`], [`BackendError::Store`]
    async fn locate_passages(
        &self,
        found: Vec<SharedPassages>,
    ) -> Result<Vec<LocatedPassages>, BackendError>;

    /// Notes a text that is about to be added, so that later searches wait for it. Takes as long as
    /// making an index of the text.
    fn note_arriving(&self, blocks: &Arc<TextBlocks>) -> Option<ArrivingText>;

    /// Waits until the documents that arrived before a document, and share a gram with it, are
    /// stored or withdrawn. Returns false if a limit left some of them out.
    ///
    /// # Errors
    /// [`BackendError::OverBudget`]
    async fn wait_for_earlier_texts(
        &self,
        found: &Findings<'_>,
        request: &PassageRequest,
    ) -> Result<bool, BackendError>;
}
