//! Passages: which stored documents contain a run of a text's words, where, and how much of it.
//!
//! [`akin_core::passages`] has the index, the comparison, and the promise of both.
//! The backend reads and compares (`backend/local/passages`); this module makes the probe, selects
//! a page of the matches, and finds the places of their passages in the texts.

mod arrival;
mod page;
mod query;

pub use arrival::ContainmentCheck;
pub use query::PassageQuery;

use std::sync::Arc;

use akin_core::passages::{PassageLimits, PassageSettings};
use akin_core::text::{ReaderWords, ShingleError, WordSequence};
use akin_model::analysis::ContentError;
use akin_model::passages::{ContainedOf, PassageAnswer};

use crate::backend::{BackendError, PassageFilter, PassageRequest, PassageSearch};
use crate::background::request::{self, charge};
use crate::document::{Content, DocumentId};
use crate::engine::CONTENT_INLINE_BYTES_MAX;
use crate::engine::lookup::charging::of_content;
use crate::engine::{Engine, EngineError, Probe, compute_if};
use crate::stored::Detail;
use page::PassagePage;

/// How often a search is repeated because documents of its page were replaced or removed before
/// their texts were read.
const ATTEMPTS_MAX: usize = 4;

/// The most documents that are returned of equal texts.
const DOCUMENTS_MAX: usize = 1_000;

/// The text of a probe, with its words.
pub(super) struct ProbeText {
    pub text: Arc<str>,
    pub words: Arc<WordSequence>,
    /// How a reader counts the words of the text, if otherwise than `words`.
    pub readers: Option<ReaderWords>,
    pub own_id: Option<DocumentId>,
}

impl Engine {
    /// The stored documents that share passages with a text or with a stored document, which is
    /// itself left out.
    ///
    /// # Errors
    /// `Unsupported`, `PassagesOff`, `DocumentNotFound`, `WrongContent` for a content that
    /// is not a text, `EmptyDocument` for a text without words, `DocumentTooLong`, `OverBudget`,
    /// `OutOfService`, `Store`.
    pub async fn passages(
        &self,
        probe: Probe,
        query: &PassageQuery,
    ) -> Result<PassageAnswer, EngineError> {
        let settings = self.settings.passages.settings().ok_or(BackendError::PassagesOff)?;
        let search = self.passage_search()?;
        let probe = self.probe_text(probe).await?;
        let request = self.passage_request(&probe, query);
        let page = self.search_passages(search, &probe, query, request).await?;
        Ok(page.answer(settings, query.words_min(settings), probe.words.len()))
    }

    async fn search_passages(
        &self,
        search: &dyn PassageSearch,
        probe: &ProbeText,
        query: &PassageQuery,
        request: PassageRequest,
    ) -> Result<PassagePage, EngineError> {
        for attempt in 1.. {
            let found = request::apart(search.passages(request.clone())).await?;
            let is_last = attempt == ATTEMPTS_MAX;
            if let Some(page) = self.passage_page(search, probe, found, query, is_last).await? {
                return Ok(page);
            }
        }
        unreachable!("the last attempt returns");
    }

    pub(super) fn passage_request(
        &self,
        probe: &ProbeText,
        query: &PassageQuery,
    ) -> PassageRequest {
        let limits = &self.settings.limits;
        PassageRequest {
            words: probe.words.hashes().into(),
            readers: probe.readers.clone(),
            limits: PassageLimits {
                words_min: query.words_min,
                compared_max: limits.passage_texts_max,
                words_max: limits.passage_words_max,
                documents_max: DOCUMENTS_MAX,
                ..PassageLimits::default()
            },
            own_id: probe.own_id.clone(),
            by_share_of_match: query.of == ContainedOf::Match && query.containment_min > 0.0,
            filter: self.passage_filter(query),
        }
    }

    fn passage_filter(&self, query: &PassageQuery) -> Option<PassageFilter> {
        if query.conditions.is_empty() {
            return None;
        }
        let conditions = query.conditions.clone();
        Some(PassageFilter {
            documents_max: self.settings.limits.filtered_max,
            takes_no_metadata: conditions.hold_without_metadata(),
            selects: Arc::new(move |details| conditions.hold_within(details)),
        })
    }

    pub(super) async fn probe_text(&self, probe: Probe) -> Result<ProbeText, EngineError> {
        let (content, own_id) = match probe {
            Probe::Content(content) => (content, None),
            Probe::Stored(id) => {
                let record = self.backend.record(&id, Detail::Content).await?;
                let record = record.ok_or_else(|| EngineError::not_found(&id))?;
                let not_kept = || EngineError::TextNotKept { id: id.clone() };
                (record.content.ok_or_else(not_kept)?, Some(id))
            }
        };
        charge(of_content(&content))?;
        let Content::Text(text) = content else { return Err(no_text()) };
        let probe = self.cut_words(text, own_id).await?;
        if probe.words.is_empty() {
            return Err(ContentError::Empty.into());
        }
        Ok(probe)
    }

    async fn cut_words(
        &self,
        text: String,
        own_id: Option<DocumentId>,
    ) -> Result<ProbeText, EngineError> {
        let (analyser, text) = (Arc::clone(&self.analyser), Arc::<str>::from(text));
        compute_if(text.len() > CONTENT_INLINE_BYTES_MAX, move || {
            let words = analyser.shingler.words(&text)?;
            let readers = words.readers(&text);
            Ok::<_, ShingleError>(ProbeText { text, words: Arc::new(words), readers, own_id })
        })
        .await?
        .map_err(EngineError::from)
    }
}

fn no_text() -> EngineError {
    let wanted = "only texts have passages: these are tokens".to_owned();
    ContentError::Wrong { wanted }.into()
}

impl PassageQuery {
    /// The fewest equal words of a passage.
    fn words_min(&self, settings: PassageSettings) -> usize {
        self.words_min.unwrap_or(settings.run_words())
    }
}
